/** An approval: the owner's decision about one transaction of one agent. */
import type { AgentRefusal } from '../Agent.js'

/** `open` waits for the owner. The last two are final, `approved` until it is used. */
export type ApprovalState = 'open' | 'approved' | 'denied' | 'expired' | 'used'

export type Approval = {
  /** 16 characters that can be typed. */
  readonly id: string
  readonly agentId: string
  readonly agentName: string
  readonly state: ApprovalState
  readonly transactionId: string
  /** The canonical bytes: what is approved is this, and nothing else. */
  readonly transaction: Uint8Array
  /** The rules that need the owner, as they were when the agent asked; at least one. The approval lifts these and no other. */
  readonly refusals: readonly StoredRefusal[]
  /** What the caller says the payment is for. Never trusted. */
  readonly claimedUrl: string
  readonly claimedDescription: string
  readonly createdAtMs: number
  readonly expiresAtMs: number
  /** @default not decided */
  readonly decidedAtMs: number | undefined
}

/** A refusal as it is stored: integers as decimal text. */
export type StoredRefusal = {
  readonly [member in Exclude<keyof AgentRefusal, 'message' | 'resetsAtMs'>]?: string
} & { readonly message: string }

/** Why the owner is asked: a sentence for each rule. */
export function reasonOf({ refusals }: Pick<Approval, 'refusals'>): string {
  return refusals.map(({ message }) => message).join(' ')
}

/** The rules that the approval lifts, in the words of the command line. */
export function rulesOf({ refusals }: Pick<Approval, 'refusals'>): string[] {
  return refusals.map(({ rule = '' }) => rule)
}

/** Whether the owner was shown every one of the rules that ask now: those that were not, no decision is known of. */
export function covers(approval: Pick<Approval, 'refusals'>, refusals: readonly { readonly rule: string }[]): boolean {
  const shown = new Set(rulesOf(approval))
  return refusals.every(({ rule }) => shown.has(rule))
}
