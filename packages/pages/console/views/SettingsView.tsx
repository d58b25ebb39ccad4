/** The status of the daemon and its node, with the remedy for each fault, and what concerns the page itself. */
import { extraOperations } from '@latchkey/kmd-api/operations'
import { useState } from 'preact/hooks'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { NotificationButton } from '../components/NotificationButton.js'
import { errorMessage, toSentence } from '../messages.js'
import { documentationUrl } from '../model/documentation.js'
import { chooseNetwork, networkTitle } from '../model/network.js'
import { formatDuration } from '../model/time.js'
import { usePolling } from '../polling.js'
import type { Health } from '../responseTypes.js'
import { useStore } from '../store.js'

export function SettingsView() {
  const store = useStore()
  const [health, setHealth] = useState<Health>()
  const [error, setError] = useState<string>()
  usePolling(
    async () => {
      try {
        const [health] = await Promise.all([store.daemon.call(extraOperations.GetHealth), store.loadNode()])
        setHealth(health)
        setError(undefined)
      } catch (caught) {
        setError(errorMessage(caught))
      }
    },
    3_000,
    [store],
  )
  return (
    <section aria-labelledby="settings-title">
      <Heading id="settings-title">Settings</Heading>
      <ErrorText text={error} />
      <h2>Daemon</h2>
      <dl class="facts">
        <Fact name="Status">
          {error !== undefined ? (
            <StatusText isGood={false} text="no response" />
          ) : (
            health !== undefined && (
              <StatusText isGood={health.status === 'ok'} text={health.status === 'ok' ? 'OK' : health.status} />
            )
          )}
        </Fact>
        <Fact name="Version">{health?.version}</Fact>
        <Fact name="Uptime">{health === undefined ? '' : formatDuration(health.uptimeSeconds)}</Fact>
        <Fact name="Wallets">{health?.wallets}</Fact>
        <Fact name="Open handles">
          {health?.openHandles}
          <span class="soft"> across all programs that have unlocked a wallet</span>
        </Fact>
        {health !== undefined && health.lostLogLines > 0 && (
          <Fact name="Log">
            <StatusText isGood={false} text={`${health.lostLogLines} lines lost`} />
            <span class="soft"> since the start: the disk is or was full</span>
          </Fact>
        )}
        <Fact name="Address">
          <code>{location.origin}</code>
        </Fact>
      </dl>
      <h2>Node</h2>
      <NodeFacts />
      <h2>This console</h2>
      <dl class="facts">
        <Fact name="Notifications">
          <NotificationButton />
        </Fact>
        <Fact name="Session">Ends 30 minutes after you last used it, after 12 hours, or with “End session”</Fact>
        <Fact name="Documentation">
          <a href={documentationUrl} target="_blank" rel="noopener noreferrer">
            Documentation site
          </a>
          <span class="soft">
            {' '}
            (while <code>npm run docs:serve</code> runs in a clone of Latchkey)
          </span>
        </Fact>
        <Fact name="Commands">
          <code>latchkey help all</code>
          <span class="soft"> lists every command</span>
        </Fact>
      </dl>
    </section>
  )
}

function NodeFacts() {
  const { node } = useStore()
  if (node === undefined) return null
  const state = !node.isSet ? 'not configured' : node.isReachable ? 'OK' : 'not reachable'
  return (
    <>
      {node.message !== '' && (
        <p class="aside" role="status">
          {toSentence(node.message)}
        </p>
      )}
      <dl class="facts">
        <Fact name="Status">
          <StatusText isGood={node.isSet && node.isReachable} text={state} />
        </Fact>
        {node.isReachable && (
          <>
            <Fact name="Network">
              <b>{networkTitle(node.network)}</b>
              <p class="soft small">{chooseNetwork}</p>
            </Fact>
            <Fact name="Last round">{node.lastRound.toLocaleString('en')}</Fact>
            <Fact name="Genesis ID">
              <code>{node.genesisId}</code>
            </Fact>
            <Fact name="Genesis hash">
              <code class="break">{node.genesisHash}</code>
            </Fact>
          </>
        )}
      </dl>
      {!node.isSet && (
        <p class="soft">
          Without a node the daemon manages keys and signs. Balances and payment status are not available.
        </p>
      )}
    </>
  )
}

function Fact({ name, children }: { name: string; children?: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function StatusText({ isGood, text }: { isGood: boolean; text: string }) {
  return <span class={isGood ? 'status-good' : 'status-bad'}>{text}</span>
}
