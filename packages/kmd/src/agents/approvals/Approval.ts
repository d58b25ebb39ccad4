/** An approval: the owner's decision about one transaction of one agent. */
import type { AgentRefusal } from '../Agent.js'

/** `open` waits for the owner. `denied`, `expired` and `used` are final; `approved` lasts until it is used. */
export type ApprovalState = 'open' | 'approved' | 'denied' | 'expired' | 'used'

export type Approval = {
  /** 16 characters that can be typed. */
  readonly id: string
  readonly agentId: string
  readonly agentName: string
  readonly state: ApprovalState
  readonly transactionId: string
  /** The canonical bytes. The approval covers exactly these. */
  readonly transaction: Uint8Array
  /** The rules that needed the owner when the agent asked, at least one. The approval lifts only these rules. */
  readonly refusals: readonly StoredRefusal[]
  /** The caller's claim about the payment. Never trusted. */
  readonly claimedUrl: string
  readonly claimedDescription: string
  readonly createdAtMs: number
  readonly expiresAtMs: number
  /** @default undecided */
  readonly decidedAtMs: number | undefined
}

/** A refusal as stored: integers as decimal text. */
export type StoredRefusal = {
  readonly [member in Exclude<keyof AgentRefusal, 'message' | 'resetsAtMs'>]?: string
} & { readonly message: string }

/** Why the owner is asked: one sentence per rule. */
export function reasonOf({ refusals }: Pick<Approval, 'refusals'>): string {
  return refusals.map(({ message }) => message).join(' ')
}

/** The rules that the approval lifts, in command-line notation. */
export function rulesOf({ refusals }: Pick<Approval, 'refusals'>): string[] {
  return refusals.map(({ rule = '' }) => rule)
}

/** Whether the owner was shown every rule that asks now. There is no decision about rules that were not shown. */
export function covers(approval: Pick<Approval, 'refusals'>, refusals: readonly { readonly rule: string }[]): boolean {
  const shown = new Set(rulesOf(approval))
  return refusals.every(({ rule }) => shown.has(rule))
}
