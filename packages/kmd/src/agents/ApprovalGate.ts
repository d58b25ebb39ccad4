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
  readonly refusal: AgentRefusal
  readonly claim: Claim
  readonly nowMs: number
}

export type ApprovalAnswer =
  /** This very transaction was approved: it is signed and counted now. `rule` is for the log. */
  | { readonly type: 'approved'; readonly rule: string }
  | { readonly type: 'denied' }
  /** The owner has been asked. */
  | { readonly type: 'open'; readonly approvalId: string }

/** Both are called within `StateDatabase.change`, so that an answer and what follows from it are one transaction. */
export type ApprovalGate = {
  /** Asks the owner, or says what was decided. An approval is used up by this call. @throws KmdError `too_many_approvals` */
  answer(request: ApprovalRequest): ApprovalAnswer
  /** Ends what an agent asked for: it has ended, or has another token. */
  endAgent(agentId: string): void
}
