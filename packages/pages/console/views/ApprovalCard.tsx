/**
 * One open approval: the description of the sign view, the reason, the remaining budget, the caller's claims, and the
 * decision.
 */

import { agentOperations, approvalOperations, describeOperations } from '@latchkey/kmd-api/operations'
import { useEffect, useRef, useState } from 'preact/hooks'
import { BudgetBars } from '../components/BudgetBars.js'
import { Claim } from '../components/Claim.js'
import { CopyButton } from '../components/CopyButton.js'
import { Description } from '../components/Description.js'
import { ErrorText } from '../components/ErrorText.js'
import { hasCode } from '../errors.js'
import { errorMessage } from '../messages.js'
import { safeName } from '../model/safeName.js'
import { isMainnet } from '../model/signedTransaction.js'
import { formatDuration, formatTime } from '../model/time.js'
import { useEverySecond } from '../polling.js'
import type { Agent, AgentLimitUse, Approval } from '../responseTypes.js'
import { hrefOf } from '../route.js'
import { useStore } from '../store.js'

export type ApprovalContext = { agent: Agent; budget: readonly AgentLimitUse[] }

type Props = {
  approval: Approval
  /** Undefined until it is loaded, or if the agent no longer exists. */
  context: ApprovalContext | undefined
  /** Whether the card has not moved for a moment. */
  isSettled: boolean
  onDecided: () => Promise<void>
}

/** The daemon's description of a transaction, with the names of assets if there is a node. */
type Words = { words: readonly string[]; warnings: readonly string[]; finalWarnings: readonly string[] }

type Decision = typeof approvalOperations.ApprovePayment | typeof approvalOperations.DenyPayment

/** Below this the remaining time is shown in another colour. */
const soonSeconds = 60

export function ApprovalCard({ approval, context, isSettled, onDecided }: Props) {
  const store = useStore()
  const isDeciding = useRef(false)
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<string>()
  const { words, warnings, finalWarnings } = useWords(approval)
  const decide = async (operation: Decision, isPausing = false): Promise<void> => {
    if (isDeciding.current || !isSettled) return
    isDeciding.current = true
    setBusy(true)
    setError(undefined)
    try {
      await store.daemon.call(operation, { approval_id: approval.id })
      if (isPausing) await store.daemon.call(agentOperations.PauseAgent, { agent: approval.agentId })
    } catch (caught) {
      // The approval was decided elsewhere, or too late. The list shows which.
      if (!hasCode(caught, 'approval_decided', 'approval_not_found')) setError(errorMessage(caught))
      else store.notify(errorMessage(caught) ?? '', { isError: true })
    }
    await onDecided()
    isDeciding.current = false
    setBusy(false)
  }
  const name = safeName(approval.agentName)
  return (
    <article class="transaction approval" aria-label={`${name} asks`}>
      <header>
        <h2>
          <a href={hrefOf({ view: 'agents', agentId: approval.agentId })}>
            <bdi>{name}</bdi>
          </a>{' '}
          needs approval, since {formatTime(approval.createdAtMs)}
        </h2>
        <Countdown expiresAtMs={approval.expiresAtMs} />
      </header>
      <WarningList kind="warnings" texts={finalWarnings} />
      <WarningList kind="cautions" texts={warnings.filter((warning) => !finalWarnings.includes(warning))} />
      <div>
        <p class="lead">{approval.summary}</p>
        <ul class="effects">
          {words.map((line) => (
            <li key={line}>
              <Description text={line} />
            </li>
          ))}
        </ul>
      </div>
      <Claim texts={[safeName(approval.claimedUrl), safeName(approval.claimedDescription)]} />
      <p>
        <b>Why you are asked:</b> <Description text={approval.reason} />
      </p>
      {context !== undefined && <BudgetBars agent={context.agent} budget={context.budget} isCompact />}
      {isMainnet(approval.transaction) && (
        <p class="cautions">
          <b>This is MainNet: the money is real.</b>
        </p>
      )}
      <ErrorText text={error} />
      <p class="actions">
        <button
          type="button"
          class={finalWarnings.length > 0 ? 'main danger' : 'main'}
          disabled={isBusy}
          aria-disabled={!isSettled}
          onClick={() => void decide(approvalOperations.ApprovePayment)}
        >
          Approve<span class="visually-hidden"> the payment of {name}</span>
        </button>
        <button
          type="button"
          disabled={isBusy}
          aria-disabled={!isSettled}
          onClick={() => void decide(approvalOperations.DenyPayment)}
        >
          Deny<span class="visually-hidden"> the payment of {name}</span>
        </button>
        <button
          type="button"
          disabled={isBusy}
          aria-disabled={!isSettled}
          onClick={() => void decide(approvalOperations.DenyPayment, true)}
        >
          Deny and pause<span class="visually-hidden"> {name}</span>
        </button>
      </p>
      <p class="soft small">
        ID <code class="break">{approval.transactionId}</code>{' '}
        <CopyButton text={approval.transactionId} what="transaction ID" />
      </p>
    </article>
  )
}

/** The description of the sign view, or the one that came with the approval. Always for this exact transaction. */
function useWords(approval: Approval): Words {
  const { daemon } = useStore()
  const { id, transaction, transactionId, description, warnings } = approval
  const [described, setDescribed] = useState<Words>()
  useEffect(() => {
    let isShown = true
    daemon
      .call(describeOperations.DescribeTransaction, { transaction })
      .then(({ transactions, groupWarnings }) => {
        const [one] = transactions
        if (!isShown || one?.transactionId !== transactionId) return
        setDescribed({ ...one, warnings: [...groupWarnings, ...one.warnings] })
      })
      .catch(() => {})
    return () => {
      isShown = false
    }
  }, [daemon, id])
  return described ?? { words: description, warnings, finalWarnings: [] }
}

function WarningList({ kind, texts }: { kind: 'warnings' | 'cautions'; texts: readonly string[] }) {
  if (texts.length === 0) return null
  return (
    <ul class={kind}>
      {texts.map((text) => (
        <li key={text}>
          <Description text={text} />
        </li>
      ))}
    </ul>
  )
}

function Countdown({ expiresAtMs }: { expiresAtMs: number }) {
  const [, draw] = useState(0)
  useEverySecond(draw)
  const seconds = Math.max(0, (expiresAtMs - Date.now()) / 1000)
  return (
    <span class={seconds < soonSeconds ? 'soon' : 'soft'}>
      {seconds === 0 ? 'expired' : `expires in ${formatDuration(seconds)}`}
    </span>
  )
}
