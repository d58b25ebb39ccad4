/** The interface to approvals, which decide where the rules ask the owner. */
import type { Agent, AgentRefusal } from './Agent.js'
import type { Claim } from './AgentsApi.js'
import type { Facts } from './Decision.js'

/** A transaction that needs the owner's approval. */
export type ApprovalRequest = {
  readonly agent: Agent
  /** The number of the agent's row. */
  readonly agentNumber: number
  readonly transactionId: string
  /** The canonical bytes; for an authorization, its program. */
  readonly bytes: Uint8Array
  readonly facts: Facts
  /** Every rule that asks, at least one. */
  readonly refusals: readonly AgentRefusal[]
  readonly claim: Claim
  readonly nowMs: number
}

export type ApprovalAnswer =
  /** Exactly this transaction was approved: it is signed and counted now. `rule` is for the log. */
  | { readonly type: 'approved'; readonly rule: string }
  /**
   * The owner denied this transaction, or, if `untilMs` is set, one for the same payee and URL: new transactions for
   * them are refused until then.
   */
  | { readonly type: 'denied'; readonly untilMs?: number | undefined }
  /** The owner has been asked. */
  | { readonly type: 'open'; readonly approvalId: string }

/**
 * All methods except `denies` and `noteRound` are called within `StateDatabase.change`, so that an answer and its
 * consequences are one transaction.
 */
export type ApprovalGate = {
  /**
   * Asks the owner, or returns the decision. This call uses up an approval. An approval that does not cover every rule
   * that asks now is replaced by a new one that shows them all.
   *
   * @throws KmdError `too_many_approvals`
   */
  answer(request: ApprovalRequest): ApprovalAnswer
  /**
   * Whether the owner denied exactly this transaction of the agent. Takes the 32 bytes of the id, because every
   * signature calls this.
   */
  denies(agentId: string, transactionId: Uint8Array): boolean
  /** The rules allow the transaction without an approval, so a requested approval is no longer needed. */
  signedWithout(agentId: string, transactionId: Uint8Array): void
  /** Records a network's last round, as reported by a node. Not called within a change. */
  noteRound(network: string, round: bigint): Promise<void>
  /** Ends the agent's approval requests, because it has ended or got a new token. */
  endAgent(agentId: string): void
}
