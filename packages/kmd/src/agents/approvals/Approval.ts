/** An approval: the owner's decision about one transaction of one agent. */
import { VisibleText } from '@latchkey/algorand'
import type { AgentRefusal } from '../Agent.js'

/** `open` waits for the owner. `denied`, `expired` and `used` are final; `approved` lasts until it is used. */
export type ApprovalState = 'open' | 'approved' | 'denied' | 'expired' | 'used'

export type Approval = {
  /** 16 characters that can be typed. */
  readonly id: string
  readonly agentId: string
  readonly agentName: string
  readonly state: ApprovalState
  /** For an authorization for a price by usage, its lease, in the same form. */
  readonly transactionId: string
  /** The canonical bytes, or the program of the authorization. The approval covers exactly these. */
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

/** Formats untrusted text of the caller for the owner's decision: one bounded line that cannot imitate anything else. */
export function claimText(text: string | undefined, maxLength: number): string {
  if (text === undefined) return ''
  const line = VisibleText.replaceHidden(text.slice(0, 4 * maxLength), ' ')
    .replace(/\s+/gu, ' ')
    .trim()
  const characters = [...line]
  return characters.length <= maxLength ? line : `${characters.slice(0, maxLength - 1).join('')}…`
}

/** The approximate time of a round on Algorand networks, at least since 2024. */
const roundMs = 2_800
const longestMs = 24 * 3_600_000

/**
 * How long an approval can be decided and used: as long as its transaction can enter the ledger. An upper bound in
 * time. A transaction is valid from its first to its last round, and is signed at the first round or
 * later. The ledger itself rejects it after the last round, so an approval that outlives the transaction spends
 * nothing.
 */
export function expiryOf(
  { fv = 0n, lv = 0n }: { fv?: bigint | undefined; lv?: bigint | undefined },
  createdAtMs: number,
): number {
  const rounds = lv > fv ? lv - fv + 1n : 1n
  const validMs = rounds > BigInt(Math.floor(longestMs / roundMs)) ? longestMs : Number(rounds) * roundMs
  return createdAtMs + Math.min(longestMs, validMs)
}
