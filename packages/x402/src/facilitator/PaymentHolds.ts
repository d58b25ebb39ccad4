/**
 * Holds payments that the ledger would accept: for their claimant, and what they cost of the payer's balance. Over all
 * replicas where the store has holds, otherwise in this process.
 */
import * as Tracing from '@latchkey/algod/tracing'
import { Address, Submission } from '@latchkey/algorand'
import type { SettlementLimits } from '../store/SettlementLimits.js'
import type { SettlementStore } from '../store/Settlements.js'
import type { SharedHolds } from '../store/SharedHolds.js'
import type { PaymentRequirements } from '../wire/types.js'
import { checkSponsoredFee } from './checkSponsoredFee.js'
import { costsOf } from './costs.js'
import type { FeePayers } from './FeePayers.js'
import { holdMsOf, keyOf } from './holdOf.js'
import { limitError } from './limitError.js'
import { alreadyClaimed, boundHoldMs, type HeldPayment, type Reservations } from './Reservations.js'
import type { SharedPayment, ShareResult } from './sharedBalance.js'
import { simulationError } from './simulationError.js'
import type { VerifiedPayment } from './verifyPayment.js'

export type PaymentHoldsOptions = {
  readonly store: SettlementStore
  readonly reservations: Reservations
  readonly feePayers: FeePayers
  readonly limits: SettlementLimits
  /** Throws if this process can take no more settlements. */
  readonly checkRoom: () => void
}

export class PaymentHolds {
  readonly #options: PaymentHoldsOptions

  constructor(options: PaymentHoldsOptions) {
    this.#options = options
  }

  /** Whether other replicas know what this one holds. */
  get isShared(): boolean {
    return this.#options.store.holds !== undefined
  }

  /** @throws PaymentError */
  async hold(payment: VerifiedPayment, requirements: PaymentRequirements, claimant: string): Promise<HeldPayment> {
    const { store, reservations, feePayers, checkRoom } = this.#options
    const { transactionId } = payment.group
    if (!reservations.isHeld(transactionId, claimant)) {
      checkRoom()
      // Before the node is asked; a store with holds checks them with the hold.
      if (!this.isShared) await this.#checkLimits(payment)
    }
    if (payment.feePayer !== undefined) feePayers.checkKey(payment.feePayer)
    await checkSponsoredFee(payment)
    const startedMs = performance.now()
    const { algod } = payment.chain
    const unsigned = this.#unsignedGroup(payment)
    const failure = await (Tracing.isOn()
      ? Tracing.span('facilitator.simulate', {}, () => algod.simulate(unsigned))
      : algod.simulate(unsigned))
    if (failure !== undefined) {
      // Of one that another process settles the ledger may have the money already.
      const known = await store.get(transactionId)
      if (known === undefined) throw await simulationError(failure, payment, feePayers)
      return { known }
    }
    const holdMs = holdMsOf(payment, requirements)
    const shared = store.holds && this.#shared(store.holds, payment, { claimant, holdMs })
    return reservations.hold(payment, { claimant, key: keyOf(payment), startedMs, holdMs, shared })
  }

  /**
   * Whether it would meet a limit now: told before the seller works for it.
   *
   * @throws PaymentError
   */
  async #checkLimits(payment: VerifiedPayment): Promise<void> {
    const { store, limits } = this.#options
    const limit = await store.check(payment, limits)
    if (limit !== undefined) throw limitError(limit, { payment, limits })
  }

  #shared(
    holds: SharedHolds,
    payment: VerifiedPayment,
    of: { readonly claimant: string; readonly holdMs: number },
  ): SharedPayment {
    const { limits } = this.#options
    const { chain, group, payer, payTo, feeMicroAlgos, feePayer } = payment
    const { transactionId } = group
    const costs = [...costsOf(payment)].map(([asset, amount]) => ({ asset: asset.toString(), amount }))
    const accounts = { network: chain.caip2, payer, payTo, feePayer }
    const held = { transactionId, ...accounts, ...of, costs, feeMicroAlgos, holdMs: boundHoldMs(of.holdMs) }
    return {
      hold: async (): Promise<ShareResult> => {
        const result = await holds.hold(held, limits)
        if (result.type === 'limited') throw limitError(result.limit, { payment, limits })
        if (result.type === 'claimed') throw alreadyClaimed()
        return result.type === 'known' ? { known: result.settlement } : result
      },
      release: () => holds.release(transactionId),
    }
  }

  /** Without the signature of the fee payer: a network attacker who reads the simulation could submit the payment. */
  #unsignedGroup({ group, feeIndex, feePayer }: VerifiedPayment): Uint8Array[] {
    const authorizer = feePayer === undefined ? undefined : this.#options.feePayers.get(feePayer)?.authorizer
    return group.members.map(({ bytes, txn, isSigned, signed }, index) => {
      if (index !== feeIndex) return bytes
      // A rekeyed account names its authorizer also without a signature.
      if (authorizer !== feePayer) return Submission.encode({ txn, sgnr: Address.decode(authorizer!) })
      return isSigned || signed.sgnr !== undefined ? Submission.encode({ txn }) : bytes
    })
  }
}
