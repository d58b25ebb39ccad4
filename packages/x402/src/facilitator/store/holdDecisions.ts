/**
 * Who may hold and settle a payment. Stores make these decisions atomic; a database that decides in its own language
 * agrees with them case by case.
 */
import type { SettlementLimits } from './Settlement.js'

/** The facts about a payment that decide who may hold or settle it. */
export type HoldFacts = {
  /** Whether the payment has a settlement. */
  readonly isRecorded: boolean
  /** The claimant that the payment is held for; undefined if it is not held. */
  readonly heldFor: string | undefined
  /** The claimant that presents the payment; undefined in records that name none, which belong to every claimant. */
  readonly claimant: string | undefined
  /** The limit that the payment would exceed; undefined if there is none. */
  readonly limit: keyof SettlementLimits | undefined
}

/** Whether a payment that belongs to one claimant is presented by another. */
export function isForeign(heldFor: string | undefined, claimant: string | undefined): boolean {
  return heldFor !== undefined && claimant !== undefined && heldFor !== claimant
}

/** Whether a payment may be held, with the same results as `HoldStore.hold`. */
export function decideHold({ isRecorded, heldFor, claimant, limit }: HoldFacts): HoldDecision {
  if (isRecorded) return { type: 'known' }
  if (isForeign(heldFor, claimant)) return { type: 'claimed' }
  // Meets no limit, because the seller may already have done the work.
  if (heldFor !== undefined) return { type: 'held', wasHeld: true }
  return limit === undefined ? { type: 'held', wasHeld: false } : { type: 'limited', limit }
}

/** Whether a settlement may be recorded, with the same results as `SettlementStore.claim`. */
export function decideSettlement({ isRecorded, heldFor, claimant, limit }: HoldFacts): SettlementDecision {
  if (isRecorded) return { type: 'known' }
  if (isForeign(heldFor, claimant)) return { type: 'claimed' }
  return limit === undefined ? { type: 'recorded' } : { type: 'limited', limit }
}

/** The result of {@link decideHold}. */
export type HoldDecision =
  | { readonly type: 'held'; readonly wasHeld: boolean }
  | { readonly type: 'known' }
  | { readonly type: 'claimed' }
  | { readonly type: 'limited'; readonly limit: keyof SettlementLimits }

/** The result of {@link decideSettlement}. */
export type SettlementDecision =
  | { readonly type: 'recorded' }
  | { readonly type: 'known' }
  | { readonly type: 'claimed' }
  | { readonly type: 'limited'; readonly limit: keyof SettlementLimits }
