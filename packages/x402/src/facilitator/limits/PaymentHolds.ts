/**
 * Holds payments that the ledger would accept: for their claimant, and their cost from the payer's balance. Holds apply
 * to all replicas if the store supports them, otherwise to this process.
 */
import * as Tracing from '@latchkey/algod/tracing'
import { Address, Submission } from '@latchkey/algorand'
import type { PaymentRequirements } from '@latchkey/x402-wire'
import type { FeePayers } from '../settle/FeePayers.js'
import type { SettlementLimits } from '../store/SettlementLimits.js'
import type { SettlementStore } from '../store/Settlements.js'
import type { SharedHolds } from '../store/SharedHolds.js'
import { checkSponsoredFee } from '../verify/checkSponsoredFee.js'
import { simulationError } from '../verify/simulationError.js'
import type { VerifiedPayment } from '../verify/verifyPayment.js'
import { costsOf } from './costs.js'
import { holdMsOf, keyOf } from './holdOf.js'
import { limitError } from './limitError.js'
import { alreadyClaimed, boundHoldMs, type HeldPayment, type Reservations } from './Reservations.js'
import type { SharedPayment, ShareResult } from './sharedBalance.js'

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

  /** Whether other replicas see the holds of this one. */
  get isShared(): boolean {
    return this.#options.store.holds !== undefined
  }

  /** @throws PaymentError */
  async hold(payment: VerifiedPayment, requirements: PaymentRequirements, claimant: string): Promise<HeldPayment> {
    const { store, reservations, feePayers, checkRoom } = this.#options
    const { transactionId } = payment.group
    if (!reservations.isHeld(transactionId, claimant)) {
      checkRoom()
      // Checked before the node is queried. A store with holds checks the limits with the hold.
      if (!this.isShared) await this.#checkLimits(payment)
    }
    if (payment.feePayer !== undefined) feePayers.checkKey(payment.feePayer)
    await checkSponsoredFee(payment)
    const startedMs = performance.now()
    const { algod } = payment.chain
    const unsigned = this.#unsignedGroup(payment)
    const failure = await Tracing.span('facilitator.simulate', {}, () => algod.simulate(unsigned))
    if (failure !== undefined) {
      // If another process is settling the payment, the money may already be on the ledger.
      const known = await store.get(transactionId)
      if (known === undefined) throw await simulationError(failure, payment, feePayers)
      return { known }
    }
    const holdMs = holdMsOf(payment, requirements)
    const shared = store.holds && this.#shared(store.holds, payment, { claimant, holdMs })
    return reservations.hold(payment, { claimant, key: keyOf(payment), startedMs, holdMs, shared })
  }

  /**
   * Checks the limits before the seller works for the payment.
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

  /**
   * Leaves out the fee payer's signature, because a network attacker who reads the simulation could submit the payment.
   */
  #unsignedGroup({ group, feeIndex, feePayer }: VerifiedPayment): Uint8Array[] {
    const authorizer = feePayer === undefined ? undefined : this.#options.feePayers.get(feePayer)?.authorizer
    return group.members.map(({ bytes, txn, isSigned, signed }, index) => {
      if (index !== feeIndex) return bytes
      // A rekeyed account names its authorizer even without a signature.
      if (authorizer !== feePayer) return Submission.encode({ txn, sgnr: Address.decode(authorizer!) })
      return isSigned || signed.sgnr !== undefined ? Submission.encode({ txn }) : bytes
    })
  }
}
