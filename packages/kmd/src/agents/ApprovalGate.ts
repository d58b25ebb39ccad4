/** The seam to approvals: what decides where the rules ask the owner. */
import type { Agent, AgentRefusal } from './Agent.js'
import type { Claim } from './AgentsApi.js'
import type { Facts } from './PaymentFacts.js'

/** A transaction that the rules ask the owner about. */
export type ApprovalRequest = {
  readonly agent: Agent
  /** Of the row of the agent. */
  readonly agentNumber: number
  readonly transactionId: string
  /** Canonical. */
  readonly bytes: Uint8Array
  readonly facts: Facts
  /** Every rule that asks, at least one. */
  readonly refusals: readonly AgentRefusal[]
  readonly claim: Claim
  readonly nowMs: number
}

export type ApprovalAnswer =
  /** This very transaction was approved: it is signed and counted now. `rule` is for the log. */
  | { readonly type: 'approved'; readonly rule: string }
  | { readonly type: 'denied' }
  /** The owner has been asked. */
  | { readonly type: 'open'; readonly approvalId: string }

/** All but `denies` and `noteRound` are called within `StateDatabase.change`, so that an answer and what follows from it are one transaction. */
export type ApprovalGate = {
  /**
   * Asks the owner, or says what was decided. An approval is used up by this call. One that does not cover every rule that
   * asks now is replaced by another one, which shows them all.
   *
   * @throws KmdError `too_many_approvals`
   */
  answer(request: ApprovalRequest): ApprovalAnswer
  /** Whether the owner denied this very transaction of the agent. Takes the 32 bytes of the id, as each signature asks. */
  denies(agentId: string, transactionId: Uint8Array): boolean
  /** The rules let the transaction be signed without an approval: one that was asked for is not needed any more. */
  signedWithout(agentId: string, transactionId: Uint8Array): void
  /** Takes note of the last round of a network, as a node has it now. Not within a change. */
  noteRound(network: string, round: bigint): Promise<void>
  /** Ends what an agent asked for: it has ended, or has another token. */
  endAgent(agentId: string): void
}
