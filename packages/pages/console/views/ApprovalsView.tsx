/**
 * The payments that wait for the owner's approval, each with the remaining budget. They are decided here and update
 * live.
 */

import { agentOperations, approvalOperations } from '@latchkey/kmd-api/operations'
import { useEffect, useState } from 'preact/hooks'
import { ErrorText } from '../components/ErrorText.js'
import { Heading } from '../components/Heading.js'
import { NotificationButton } from '../components/NotificationButton.js'
import type { Daemon } from '../daemon.js'
import { errorMessage } from '../messages.js'
import { formatTime } from '../model/time.js'
import { type IsCurrent, usePolling } from '../polling.js'
import type { Approval } from '../responseTypes.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'
import { ApprovalCard, type ApprovalContext } from './ApprovalCard.js'
import '../styles/agents.css'
import '../styles/money.css'
import '../styles/sign.css'

/** The daemon reports changes immediately. Polling covers the rest, such as a budget that grows again. */
const pollMs = 10_000
const decidedShown = 20

const outcomes: { readonly [state in Approval['state']]: string } = {
  open: 'waiting',
  approved: 'approved, not signed yet',
  denied: 'denied',
  expired: 'expired',
  used: 'approved and signed',
}

export function ApprovalsView() {
  const store = useStore()
  const { approvalsRevision: revision } = store
  const [approvals, setApprovals] = useState<readonly Approval[]>()
  const [leftOut, setLeftOut] = useState(0)
  const [contexts, setContexts] = useState<ReadonlyMap<string, ApprovalContext>>(new Map())
  const [shownCount, setShownCount] = useState(decidedShown)
  const [error, setError] = useState<string>()
  const load = async (isCurrent: IsCurrent = () => true): Promise<void> => {
    try {
      const listed = await store.daemon.call(approvalOperations.ListApprovals, { all: true })
      if (!isCurrent()) return
      setApprovals(listed.approvals)
      setLeftOut(listed.leftOut)
      const agentIds = new Set(listed.approvals.filter(isOpen).map(({ agentId }) => agentId))
      const loaded = await loadContexts(store.daemon, [...agentIds])
      if (!isCurrent()) return
      setContexts(loaded)
      setError(undefined)
    } catch (caught) {
      if (isCurrent()) setError(errorMessage(caught))
    }
  }
  usePolling(load, pollMs, [store, revision])

  // Oldest first, so that a new approval does not move a button that the person is about to press.
  const open = approvals?.filter(isOpen).toReversed() ?? []
  const decided = approvals?.filter((one) => !isOpen(one)) ?? []
  const isSettled = useSettled(open.map(({ id }) => id).join())
  return (
    <section aria-labelledby="approvals-title">
      <Heading id="approvals-title">Approvals</Heading>
      <p class="soft lede">
        Payments that an agent may make only with your approval. You approve exactly this transaction, once, until it
        expires.
      </p>
      <p class="small">
        <NotificationButton />
      </p>
      <ErrorText text={error} />
      {approvals !== undefined && open.length === 0 && (
        <p class="empty">
          No approvals are waiting. Agents ask here if their rules require it, for example above an amount:{' '}
          <a href={hrefOf({ view: 'agents' })}>see the agents</a>.
        </p>
      )}
      {open.map((approval) => (
        <ApprovalCard
          key={approval.id}
          approval={approval}
          context={contexts.get(approval.agentId)}
          isSettled={isSettled}
          onDecided={async () => {
            await load()
            // The focused element is gone, so keyboard navigation continues from the top.
            requestAnimationFrame(() => {
              if (document.activeElement === document.body) document.getElementById('approvals-title')?.focus()
            })
          }}
        />
      ))}
      {decided.length > 0 && (
        <>
          <h2>Decided</h2>
          <ol class="rows payments" aria-label="Decided, newest first">
            {decided.slice(0, shownCount).map((approval) => (
              <DecidedRow key={approval.id} approval={approval} />
            ))}
          </ol>
          {decided.length > shownCount && (
            <button type="button" onClick={() => setShownCount(shownCount + decidedShown)}>
              Show older
            </button>
          )}
          {leftOut > 0 && decided.length <= shownCount && (
            <p class="soft small">
              {leftOut} older {leftOut === 1 ? 'one is' : 'ones are'} not listed:{' '}
              <a href={hrefOf({ view: 'activity' })}>the audit log has all of them</a>.
            </p>
          )}
        </>
      )}
    </section>
  )
}

function isOpen({ state }: Approval): boolean {
  return state === 'open'
}

async function loadContexts(
  daemon: Daemon,
  agentIds: readonly string[],
): Promise<ReadonlyMap<string, ApprovalContext>> {
  const shown = await Promise.all(
    agentIds.map((id) => daemon.call(agentOperations.ShowAgent, { agent: id }).catch(() => undefined)),
  )
  return new Map(shown.flatMap((one) => (one === undefined ? [] : [[one.agent.id, one] as const])))
}

/**
 * Whether the list has been stable for a moment. A click must not hit a button that has just moved under the pointer.
 */
function useSettled(ids: string): boolean {
  const [settled, setSettled] = useState<string>()
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(ids), settleMs)
    return () => clearTimeout(timer)
  }, [ids])
  return settled === ids
}

const settleMs = 600

function DecidedRow({ approval }: { approval: Approval }) {
  const { state, decidedAtMs, expiresAtMs, createdAtMs } = approval
  const isGood = state === 'used' || state === 'approved'
  const atMs = decidedAtMs || (state === 'expired' ? expiresAtMs : createdAtMs)
  return (
    <li>
      <time dateTime={new Date(atMs).toISOString()}>{formatTime(atMs)}</time>
      <div class="what">
        <p class="break">{approval.summary}</p>
      </div>
      <div class="status">
        <span class={isGood ? 'status-good' : state === 'denied' ? 'status-bad' : 'status-open'}>
          {outcomes[state]}
        </span>
      </div>
    </li>
  )
}
