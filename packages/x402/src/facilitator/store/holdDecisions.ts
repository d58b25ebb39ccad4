/**
 * Who may hold and settle a payment. Stores make these decisions atomic; a database that decides in its own language
 * agrees with them case by case.
 */
import type { PaymentHold, SettlementLimits } from './Settlement.js'

/** The facts about a payment that decide who may hold or settle it. */
export type HoldFacts = {
  /** Whether the payment has a settlement. */
  readonly isRecorded: boolean
  /** The claimant that the payment is held for; undefined if it is not held. */
  readonly heldFor: string | undefined
  /** The claimant that presents the payment; undefined in records that name none, which belong to every claimant. */
  readonly claimant: string | undefined
  /**
   * The limit that the payment would exceed; undefined if there is none. A settlement is compared with
   * {@link limitsOfSettlement}.
   */
  readonly limit: keyof SettlementLimits | undefined
}

/** Whether a payment that belongs to one claimant is presented by another. */
export function isForeign(heldFor: string | undefined, claimant: string | undefined): boolean {
  return heldFor !== undefined && claimant !== undefined && heldFor !== claimant
}

/** What a hold counts for already, so that the settlement of the payment is not refused because of it. */
export type Admission = Pick<PaymentHold, 'isPaidAfterwards'>

/**
 * The limits that can refuse a settlement. The fee of an admitted payment is reserved. If the seller works before it is
 * paid, the payment was also counted by minute when it was held, and meets no limit at all.
 *
 * @param admission undefined if the payment is not held, or was held when a limit was reached
 */
export function limitsOfSettlement(limits: SettlementLimits, admission: Admission | undefined): SettlementLimits {
  if (admission === undefined) return limits
  return admission.isPaidAfterwards ? {} : { ...limits, feesPerPayTo: undefined, feesInAll: undefined }
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
