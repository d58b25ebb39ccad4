/** Whether the daemon and its node are well, and what to do if not. */
import { useState } from 'preact/hooks'
import { Heading } from '../components/Heading.js'
import { Problem } from '../components/Problem.js'
import { formatDuration } from '../model/time.js'
import { usePolling } from '../polling.js'
import type { Health } from '../responses.js'
import { messageOf, useStore } from '../store.js'

export function HealthView() {
  const store = useStore()
  const [health, setHealth] = useState<Health>()
  const [problem, setProblem] = useState<string>()
  usePolling(
    async () => {
      try {
        const [health] = await Promise.all([store.api.health(), store.loadNode()])
        setHealth(health)
        setProblem(undefined)
      } catch (error) {
        setProblem(messageOf(error))
      }
    },
    3_000,
    [store],
  )
  return (
    <section aria-labelledby="health-title">
      <Heading id="health-title">Health</Heading>
      <Problem text={problem} />
      <h2>Daemon</h2>
      <dl class="facts">
        <Fact name="State">
          {problem !== undefined ? (
            <Mark isGood={false} text="no answer" />
          ) : (
            health !== undefined && (
              <Mark isGood={health.status === 'ok'} text={health.status === 'ok' ? 'well' : health.status} />
            )
          )}
        </Fact>
        <Fact name="Version">{health?.version}</Fact>
        <Fact name="Running for">{health === undefined ? '' : formatDuration(health.uptimeSeconds)}</Fact>
        <Fact name="Wallets">{health?.wallets}</Fact>
        <Fact name="Open handles">
          {health?.openHandles}
          <span class="soft"> unlocked wallets, of all programs together</span>
        </Fact>
        <Fact name="Address">
          <code>{location.origin}</code>
        </Fact>
      </dl>
      <h2>Node</h2>
      <NodeFacts />
    </section>
  )
}

function NodeFacts() {
  const { node } = useStore()
  if (node === undefined) return null
  const state = !node.isSet ? 'not set' : node.isReachable ? 'well' : 'not reachable'
  return (
    <>
      {node.message !== '' && (
        <p class="aside" role="status">
          {node.message.charAt(0).toUpperCase() + node.message.slice(1)}.
        </p>
      )}
      <dl class="facts">
        <Fact name="State">
          <Mark isGood={node.isSet && node.isReachable} text={state} />
        </Fact>
        {node.isReachable && (
          <>
            <Fact name="Network">{node.network}</Fact>
            <Fact name="Last round">{node.lastRound.toLocaleString('en')}</Fact>
            <Fact name="Genesis id">
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
          Without a node the daemon keeps keys and signs as ever; balances and the state of payments are not shown.
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

function Mark({ isGood, text }: { isGood: boolean; text: string }) {
  return <span class={isGood ? 'mark-good' : 'mark-bad'}>{text}</span>
}
