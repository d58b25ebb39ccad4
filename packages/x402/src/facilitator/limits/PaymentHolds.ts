/**
 * Holds payments that the ledger would accept: for their claimant, and their cost from the payer's balance. A claimant
 * applies to all processes on the store. Costs apply to all replicas if the store counts them, otherwise to this
 * process.
 */

import { AlgodError, type SimulationFailure } from '@latchkey/algod'
import * as Tracing from '@latchkey/algod/tracing'
import { Address, Bytes, Hash, Submission } from '@latchkey/algorand'
import type { PaymentRequirements } from '@latchkey/x402-wire'
import { ChainError } from '../../chain/Chain.js'
import * as Funds from '../../chain/Funds.js'
import { PaymentError } from '../PaymentError.js'
import {
  type FeePayers,
  feeAccountFault,
  feeAccountUnfunded,
  keyUnavailable,
  rekeyedText,
} from '../settle/FeePayers.js'
import type { SettlementLimits } from '../store/Settlement.js'
import type { Settlement, SettlementStore } from '../store/Settlements.js'
import { checkSponsoredFee, type VerifiedPayment } from '../verify/verifyPayment.js'
import { withAmount } from '../verify/verifyUpto.js'
import { costsOf, type SharedPayment, type ShareResult } from './Accounts.js'
import type { HoldExpiry } from './HoldExpiry.js'
import { alreadyClaimed, boundHoldMs, checkClaimant, type HeldPayment, type Reservations } from './Reservations.js'

export type PaymentHoldsOptions = {
  readonly store: SettlementStore
  readonly reservations: Reservations
  readonly feePayers: FeePayers
  readonly limits: SettlementLimits
  readonly expiry: HoldExpiry
  /** Throws if this process can take no more settlements. */
  readonly checkRoom: () => void
}

export class PaymentHolds {
  readonly #options: PaymentHoldsOptions

  constructor(options: PaymentHoldsOptions) {
    this.#options = options
  }

  /** Whether the store counts the costs of all replicas, and looks up the settlement when it holds a payment. */
  get isCounted(): boolean {
    return this.#options.store.holds.isCounted
  }

  /**
   * Holds a payment for its settlement, unless its claimant had it verified a moment ago. An authorization that was
   * verified some time ago, by any process, is simulated with the amount that is charged, and not at all for a charge
   * of 0. Without a verification, a charge of 0 is checked like the maximum.
   *
   * @throws PaymentError
   */
  async holdCharge(
    payment: VerifiedPayment,
    requirements: PaymentRequirements,
    claimant: string,
  ): Promise<HeldPayment> {
    const { store, reservations } = this.#options
    const { transactionId } = payment.group
    if (reservations.isVerified(transactionId, keyOf(payment), claimant)) return { wasHeld: true }
    if (payment.charge === 0n) {
      const heldFor = await store.holds.claimantOf(transactionId)
      checkClaimant(heldFor, claimant)
      return heldFor === undefined ? this.hold(payment, requirements, claimant) : { wasHeld: true }
    }
    return this.hold(chargedPayment(payment), requirements, claimant, { isSettling: true })
  }

  /** @throws PaymentError */
  async hold(
    payment: VerifiedPayment,
    requirements: PaymentRequirements,
    claimant: string,
    { isSettling = false }: { readonly isSettling?: boolean } = {},
  ): Promise<HeldPayment> {
    const { store, reservations, feePayers, expiry, checkRoom } = this.#options
    const { transactionId } = payment.group
    if (!reservations.isHeld(transactionId, claimant)) {
      checkRoom()
      // Checked before the node is queried. Replicas save the round trip, because the hold checks the limits too.
      if (!this.isCounted && (await store.holds.claimantOf(transactionId)) !== claimant)
        await this.#checkLimits(payment)
    }
    if (payment.feePayer !== undefined) feePayers.checkKey(payment.feePayer)
    await this.#checkFee(payment, isSettling ? claimant : undefined)
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
    const holdMs = await holdMsOf(payment, requirements)
    const shared = this.#shared(payment, { claimant, holdMs })
    expiry.watch(payment.chain)
    return reservations.hold(payment, { claimant, key: keyOf(payment), startedMs, holdMs, shared, isSettling })
  }

  /**
   * Checks the fee. The network may ask for less than when the claimant of a payment to settle had it verified.
   *
   * @throws PaymentError
   */
  async #checkFee(payment: VerifiedPayment, settlingFor: string | undefined): Promise<void> {
    try {
      await checkSponsoredFee(payment)
    } catch (error) {
      if (settlingFor === undefined) throw error
      if ((await this.#options.store.holds.claimantOf(payment.group.transactionId)) !== settlingFor) throw error
    }
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
    payment: VerifiedPayment,
    { claimant, holdMs }: { readonly claimant: string; readonly holdMs: number },
  ): SharedPayment {
    const { store, limits } = this.#options
    const { chain, group, payer, payTo, feeMicroAlgos, feePayer, lastValid } = payment
    const { transactionId } = group
    const held = {
      transactionId,
      network: chain.caip2,
      payer,
      payTo,
      claimant,
      lastValid,
      isPaidAfterwards: payment.authorization !== undefined,
      costs: [...costsOf(payment)].map(([asset, amount]) => ({ asset: asset.toString(), amount })),
      feeMicroAlgos,
      feePayer,
      holdMs: boundHoldMs(holdMs),
    }
    return {
      hold: async (): Promise<ShareResult> => {
        const result = await store.holds.hold(held, limits)
        if (result.type === 'limited') throw limitError(result.limit, { payment, limits })
        if (result.type === 'claimed') throw alreadyClaimed()
        if (result.type === 'full') throw new PaymentError('facilitator_busy', 'too many payments are verified')
        return result.type === 'known' ? { known: result.settlement } : result
      },
      release: async () => store.holds.release(transactionId, claimant),
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

/** A payment of the amount that is charged; the payment itself if the amount is fixed. */
function chargedPayment(payment: VerifiedPayment): VerifiedPayment {
  const { charge, feeMicroAlgos } = payment
  return charge === undefined ? payment : withAmount(payment, { amount: charge, feeMicroAlgos })
}

/** Rounds of public networks take about 3 seconds. */
const maxRoundMs = 5_000
/** For rounds that take longer than usual when a payment has few left. */
const spareMs = 60_000
/** For the settlement after the work, on a local network. */
const localSettleMs = 2 * 60_000
const maxExactHoldMs = 10 * 60_000

/**
 * How long the cost counts against the balance of the payer. A payment of a fixed amount is settled before it is
 * served, so the time that the seller has is enough. The work for an authorization may take as long as it is valid. On a
 * local network, whose rounds may stand still, its validity says nothing about time.
 */
async function holdMsOf(payment: VerifiedPayment, { maxTimeoutSeconds }: PaymentRequirements): Promise<number> {
  const { chain, firstValid, lastValid } = payment
  const workMs = Number.isFinite(maxTimeoutSeconds) ? maxTimeoutSeconds * 1000 : Number.POSITIVE_INFINITY
  if (payment.authorization === undefined) {
    return Math.min(workMs, Number(lastValid - firstValid + 1n) * maxRoundMs, maxExactHoldMs)
  }
  const { lastRound } = await chain.parameters()
  const validMs = Math.max(Number(lastValid - lastRound), 0) * maxRoundMs + spareMs
  return chain.isLocal ? Math.min(validMs, workMs + localSettleMs) : validMs
}

const keys = new WeakMap<VerifiedPayment, string>()

/** Covers signatures too, because a result for one signature of a payment does not apply to another. */
export function keyOf(payment: VerifiedPayment): string {
  let key = keys.get(payment)
  if (key === undefined) {
    key = Bytes.toBase64(Hash.sha256(Bytes.concat(payment.group.members.map(({ bytes }) => bytes))))
    keys.set(payment, key)
  }
  return key
}

type Limited = {
  readonly payment: Pick<Settlement, 'payer' | 'payTo'>
  readonly limits: SettlementLimits
  /** Whether the seller may already have done the work. The error then asks for a retry. */
  readonly isVerified?: boolean
}

/** Whether a payment may pass this limit shortly. Fee limits recover only after hours. */
export function isTemporary(limit: keyof SettlementLimits): boolean {
  return limit !== 'feesInAll' && limit !== 'feesPerPayTo'
}

export function limitError(limit: keyof SettlementLimits, { payment, limits, isVerified = false }: Limited) {
  const isRate = limit === 'payerPerMinute' || limit === 'payToPerMinute'
  const isBusy = isTemporary(limit) && (!isRate || isVerified)
  return new PaymentError(isBusy ? 'facilitator_busy' : 'facilitator_policy_refused', texts[limit](payment, limits))
}

const texts: {
  readonly [limit in keyof SettlementLimits]-?: (payment: Limited['payment'], limits: SettlementLimits) => string
} = {
  payerPerMinute: ({ payer }, { payerPerMinute }) => `more than ${payerPerMinute} payments per minute from ${payer}`,
  payToPerMinute: ({ payTo }, { payToPerMinute }) => `more than ${payToPerMinute} payments per minute for ${payTo}`,
  feesInAll: () => 'the daily limit for fees is reached; buyers can pay their own',
  feesPerPayTo: ({ payTo }) => `the daily limit for fees of payments to ${payTo} is reached; buyers can pay their own`,
  pendingPerPayer: ({ payer }, { pendingPerPayer }) =>
    `${payer} has ${pendingPerPayer} unconfirmed payments; retry when they are confirmed`,
  pendingPerPayTo: ({ payTo }, { pendingPerPayTo }) =>
    `${payTo} has ${pendingPerPayTo} unconfirmed payments; retry when they are confirmed`,
}

/**
 * Explains why a simulation failed: which account is the cause, and what is missing. Faults of the facilitator are not
 * reported as the buyer's.
 */
async function simulationError(
  failure: SimulationFailure,
  payment: VerifiedPayment,
  feePayers: FeePayers,
): Promise<PaymentError> {
  const { message } = failure
  if (failure.code === 'already_in_ledger') {
    const text = 'the payment is already on the ledger; each payment pays for one request'
    return new PaymentError('duplicate_settlement', text)
  }
  if (failure.code === 'outside_validity') {
    const { firstValid, lastValid } = payment
    const text = `the payment is not valid now, only from round ${firstValid} to ${lastValid}`
    const isUpto = payment.authorization !== undefined
    return new PaymentError(isUpto ? 'invalid_upto_avm_payload_validity' : 'invalid_exact_avm_payload_validity', text)
  }
  const code =
    payment.authorization === undefined ? 'invalid_exact_avm_simulation_failed' : 'invalid_upto_avm_simulation_failed'
  try {
    return (
      (await feeAccountError(payment, feePayers, message)) ??
      new PaymentError(code, (await fundsMessage(payment)) ?? message)
    )
  } catch (error) {
    if (error instanceof AlgodError || error instanceof ChainError) return new PaymentError(code, message)
    throw error
  }
}

/**
 * The fault of the fee account, as the node names it, or else as it is looked up. Records the problem of the account, so
 * that new payments name another one.
 */
async function feeAccountError(
  { chain, feePayer, feeMicroAlgos }: VerifiedPayment,
  feePayers: FeePayers,
  reason: string,
): Promise<PaymentError | undefined> {
  const account = feePayer === undefined ? undefined : feePayers.get(feePayer)
  if (account === undefined) return undefined
  let fault = feeAccountFault(reason, account)
  if (fault === undefined) {
    const { microAlgos, minBalance, authAddress = account.address } = await chain.algod.account(account.address)
    if (authAddress !== account.authorizer) fault = 'rekeyed'
    else if (microAlgos - minBalance < feeMicroAlgos) fault = 'unfunded'
  }
  if (fault === undefined) return undefined
  const text =
    fault === 'rekeyed' ? rekeyedText(account.address) : `the fee account ${account.address} cannot pay a fee`
  account.report(chain.caip2, text)
  return fault === 'rekeyed' ? keyUnavailable() : feeAccountUnfunded()
}

async function fundsMessage(payment: VerifiedPayment): Promise<string | undefined> {
  const { chain, group, payer, payTo, assetId, amount } = payment
  const feeMicroAlgos = group.payment.txn.fee ?? 0n
  const problem = await Funds.payerProblem(chain, { payer, assetId, amount, feeMicroAlgos })
  const found = problem ?? (await Funds.receiverProblem(chain, payTo, assetId))
  return found && Funds.describe(found)
}
