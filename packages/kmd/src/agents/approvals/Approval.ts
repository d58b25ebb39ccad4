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
  /** The rule that needs the owner, as it was when the agent asked. */
  readonly refusal: StoredRefusal
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
