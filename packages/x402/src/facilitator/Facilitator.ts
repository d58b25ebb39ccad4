/** Verifies payments and settles them on the ledger, for sellers. */
import { AlgodError } from '@latchkey/algod'
import {
  Discovery,
  type PaymentPayload,
  type PaymentRequirements,
  type SettleResponse,
  type SupportedResponse,
  type VerifyResponse,
} from '@latchkey/x402-wire'
import { type Chain, chainList, checkedNetworkIds, type NetworkIds } from '../chain/Chain.js'
import { Catalogue } from './discovery/Catalogue.js'
import { FacilitatorHookCalls } from './FacilitatorHooks.js'
import { type ErrorListener, type FacilitatorLimits, type FacilitatorOptions, limitsOf } from './FacilitatorOptions.js'
import { type FacilitatorStatus, Health } from './health/Health.js'
import { Metrics, nodeMetrics, traceOperation, tracePayment } from './health/Metrics.js'
import { settingDigests } from './health/SettingsCheck.js'
import { CallerLimit } from './limits/CallerLimit.js'
import { HoldExpiry } from './limits/HoldExpiry.js'
import { keyOf, PaymentHolds } from './limits/PaymentHolds.js'
import { type Caller, Policy } from './limits/Policy.js'
import { checkClaimant, Reservations } from './limits/Reservations.js'
import { PaymentError, type PaymentErrorCode } from './PaymentError.js'
import { FeePayers, isLongerThan, supportedKinds } from './settle/FeePayers.js'
import { responseOf, Settler } from './settle/Settler.js'
import { failureCode } from './settle/settlementStep.js'
import { MemoryListings } from './store/Listings.js'
import { MemorySettlements, type Settlement, type SettlementStore } from './store/Settlements.js'
import {
  isUpto,
  transactionIdOf,
  type VerifiedPayment,
  VerifiedPayments,
  verificationKey,
  verifyPayment,
} from './verify/verifyPayment.js'
import { settlementFee, verifyUpto, verifyUptoSettlement, withAmount } from './verify/verifyUpto.js'

const catalogueStopMs = 1_000

/**
 * Verifies and settles payments. A payment is submitted once, and every call for that payment gets the same result.
 *
 * @example
 * const facilitator = new Facilitator({ chains: [chain], feePayer, store: new SqliteSettlements('settlements.db') })
 * await facilitator.resume()
 * const handler = createFacilitatorHandler({ facilitator })
 */
export class Facilitator {
  /** Counters and gauges. `text()` returns them in the Prometheus format. */
  readonly metrics: Metrics
  /** The sellers and callers that are served. */
  readonly policy: Policy
  /** The resources whose payments were settled; undefined without the option `discovery`. */
  readonly catalogue: Catalogue | undefined
  readonly #chains: readonly Chain[]
  readonly #networkIds: NetworkIds
  readonly #feePayers: FeePayers
  readonly #callers: CallerLimit
  readonly #options: FacilitatorLimits
  readonly #store: SettlementStore
  readonly #reservations: Reservations
  readonly #holds: PaymentHolds
  readonly #expiry: HoldExpiry
  readonly #verified = new VerifiedPayments()
  readonly #settler: Settler
  readonly #onError: ErrorListener
  /** Keyed by payment and claimant. */
  readonly #starting = new Map<string, Promise<Settlement>>()
  readonly #health: Health
  readonly #hooks: FacilitatorHookCalls | undefined

  /** @throws OptionsError if no chain is passed, for a fee payer without an address, or for an option that cannot be used */
  constructor(options: FacilitatorOptions) {
    const { feePayer, policy } = options
    const store: SettlementStore = options.store ?? new MemorySettlements()
    const chains = chainList(options.chains)
    this.#chains = chains
    this.#networkIds = checkedNetworkIds(options.networkIds)
    this.metrics = new Metrics(() => nodeMetrics(chains))
    this.#options = limitsOf(options)
    this.#store = store
    this.#reservations = new Reservations((transactionId) => store.get(transactionId))
    const onError = silenced(options.onError)
    this.#onError = onError
    const { discovery } = options
    this.catalogue =
      discovery && new Catalogue({ ...discovery, store: store.listings ?? new MemoryListings(), onError })
    this.#hooks = FacilitatorHookCalls.of(options, onError)
    this.#feePayers = new FeePayers(feePayer, { onError })
    this.#health = new Health({
      chains,
      feePayers: this.#feePayers,
      store,
      settings: settingDigests({
        policy: policy ?? {},
        limits: this.#options,
        feePayers: [...this.#feePayers.addresses],
        networks: chains.map(({ caip2 }) => caip2),
        quorums: quorumsOf(chains),
      }),
      metrics: this.metrics,
      onError,
    })
    this.policy = new Policy(policy)
    this.#callers = new CallerLimit(this.policy, store)
    const { maxPendingPerPayer: pendingPerPayer, maxPendingPerPayTo: pendingPerPayTo } = this.#options
    const limits = { ...this.policy.limits, pendingPerPayer, pendingPerPayTo }
    const onEnd = ({ transactionId, state }: Settlement): void =>
      this.#reservations.end(transactionId, state === 'settled')
    const onRejected = ({ transactionId }: Settlement, isRejected: boolean): void =>
      this.#reservations.setRejected(transactionId, isRejected)
    const onTaken = (settlement: Settlement): void => this.#reservations.restore(settlement)
    // The store tracks settlements of other replicas, whose end this replica may not see.
    const onLeft = ({ transactionId }: Settlement): void => this.#reservations.end(transactionId, false)
    const of = { store, chains, onError, onEnd, onRejected, onTaken, onLeft, metrics: this.metrics, limits }
    this.#settler = new Settler({ ...of, ...this.#options })
    const { feePayers, reservations } = { feePayers: this.#feePayers, reservations: this.#reservations }
    this.#expiry = new HoldExpiry({ store, reservations, onError })
    this.#holds = new PaymentHolds({
      store,
      reservations,
      feePayers,
      limits,
      expiry: this.#expiry,
      checkRoom: () => this.#settler.checkRoom(),
    })
  }

  /** The accounts that pay the fees. */
  get feePayers(): ReadonlySet<string> {
    return this.#feePayers.addresses
  }

  /** Continues settlements that were pending when an earlier process ended. Call it once, before serving. */
  async resume(): Promise<number> {
    return (await this.#settler.resume()).length
  }

  /** The response of GET /supported. Fee accounts that can pay come first. */
  supported(): SupportedResponse {
    const payersOf = ({ caip2 }: Chain) => this.#feePayers.working(caip2).map(({ address }) => address)
    const kinds = this.#chains.flatMap((chain) => supportedKinds(chain, payersOf(chain), this.#networkIds))
    const extensions = this.catalogue === undefined ? [] : [Discovery.key]
    return { kinds, extensions, signers: { 'algorand:*': [...this.#feePayers.addresses] } }
  }

  /** Returns whether a payment would be settled. Refusals are results with a code, not errors. */
  verify(payload: PaymentPayload, requirements: PaymentRequirements, caller: Caller = {}): Promise<VerifyResponse> {
    return traceOperation('verify', caller, () => {
      const verify = () => this.#verify(payload, requirements, caller)
      return this.#hooks?.verify(payload, requirements, verify) ?? verify()
    })
  }

  async #verify(payload: PaymentPayload, requirements: PaymentRequirements, caller: Caller): Promise<VerifyResponse> {
    try {
      // A gate asks again about an authorization while it works, which does not count as a request.
      const isAgain = isUpto(payload) && this.#reservations.isDue(transactionIdOf(payload), claimantOf(caller))
      const admission = isAgain ? undefined : this.#callers.admit(caller)
      if (admission !== undefined) await admission
      const key = verificationKey(payload, requirements)
      const payment = this.#verifyPayment(payload, requirements, caller, { key })
      this.policy.check(caller, requirements, payment)
      const known = await this.#holdOrFind(payment, requirements, caller)
      if (known !== undefined) this.#checkKnown(known, caller)
      this.#verified.add(key, payment)
      this.metrics.count('verify', 'valid')
      return { isValid: true, payer: payment.payer }
    } catch (error) {
      const { code, message } = this.#reasonOf(error, 'unexpected_verify_error', { payload, caller })
      this.metrics.count('verify', code)
      return { isValid: false, invalidReason: code, invalidMessage: message }
    }
  }

  /** Settles a payment, or returns the result of its settlement. Refusals are results with a code, not errors. */
  settle(payload: PaymentPayload, requirements: PaymentRequirements, caller: Caller = {}): Promise<SettleResponse> {
    return traceOperation('settle', caller, () => {
      const settle = () => this.#settle(payload, requirements, caller)
      const hooks = this.#hooks
      if (hooks === undefined) return settle()
      const isRecorded = async (id: string) => (await this.#settler.find(id)) !== undefined
      return hooks.settle(payload, requirements, { transactionId: subjectOf(payload), isRecorded, settle })
    })
  }

  async #settle(payload: PaymentPayload, requirements: PaymentRequirements, caller: Caller): Promise<SettleResponse> {
    const network = requirements?.network
    let transaction = ''
    try {
      const payment = await this.#readPayment(payload, requirements, caller)
      const id = payment.group.transactionId
      // The transaction of an authorization is not known before its amount is recorded.
      transaction = payment.authorization === undefined ? id : ''
      // For a payment verified here, recording it shows whether it is already recorded.
      const isWaiting = this.#reservations.isWaiting(id, claimantOf(caller))
      const known = isWaiting ? undefined : await this.#settler.find(id)
      if (known !== undefined) this.#checkClaim(known, caller)
      const result = await (known === undefined
        ? this.#startOnce(payment, requirements, caller)
        : this.#settler.wait(known))
      const isEnd = result.state === 'settled' && known?.state !== 'settled'
      if (isEnd) this.catalogue?.add(payload, result)
      this.metrics.count('settle', outcomeOf(result))
      return responseOf(result, network)
    } catch (error) {
      const { code, message } = this.#reasonOf(error, 'unexpected_settle_error', { payload, caller })
      this.metrics.count('settle', code)
      return { success: false, errorReason: code, errorMessage: message, transaction, network }
    }
  }

  /** Returns the problem with the nodes, the fee account or its key, as a public text; undefined if there is none. */
  async health(): Promise<string | undefined> {
    return (await this.#health.status()).problem
  }

  /**
   * Returns the state of the store, the networks and the fee accounts, for the public. Checked at most once per second.
   *
   * @param withinMs returns the previous result if the check takes longer, for probes with a short timeout
   */
  status(withinMs?: number): Promise<FacilitatorStatus> {
    return this.#health.status(withinMs)
  }

  /**
   * Checks that at least one fee account can sign. Call it before serving, because a facilitator that cannot sign
   * settles nothing.
   *
   * @throws what the signer throws: SignerError, KmdClientError
   */
  checkFeePayer(): Promise<void> {
    return this.#health.checkFeePayer()
  }

  /**
   * Reports not ready and continues to work, so that a load balancer sends new payments to other replicas. Call it some
   * seconds before `stop`.
   */
  drain(): void {
    this.#health.drain()
  }

  /** Stops, and closes the store. Pending settlements stay recorded. */
  async stop(): Promise<void> {
    // A database that hangs does not keep callers waiting for their results.
    if (this.catalogue !== undefined) await isLongerThan(catalogueStopMs, this.catalogue.stop())
    this.#expiry.stop()
    await this.#settler.stop()
  }

  #verifyPayment(
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    caller: Caller,
    {
      key = verificationKey(payload, requirements),
      isSettling = false,
    }: { key?: string | undefined; isSettling?: boolean } = {},
  ): VerifiedPayment {
    const options = { chains: this.#chains, feePayers: this.#feePayers.addresses, ...this.#options }
    const verify = !isUpto(payload) ? verifyPayment : isSettling ? verifyUptoSettlement : verifyUpto
    const payment = verify(payload, requirements, options, this.#verified.get(key))
    const { transactionId } = payment.group
    caller.onPayment?.(transactionId)
    tracePayment(transactionId, payment.chain.caip2)
    return payment
  }

  /**
   * Reads a payment to settle. Verified and recorded payments are settled even if the caller has exceeded its request
   * limit. Other payments are then refused before the slow signature check. An invalid payment counts as a request.
   *
   * @throws PaymentError
   */
  async #readPayment(payload: PaymentPayload, requirements: PaymentRequirements, caller: Caller) {
    if (!this.policy.hasRequests(caller) && !(await this.#isKnown(payload, caller))) await this.#callers.admit(caller)
    try {
      return this.#verifyPayment(payload, requirements, caller, { isSettling: true })
    } catch (error) {
      await this.#callers.count(caller)
      throw error
    }
  }

  async #isKnown(payload: PaymentPayload, caller: Caller): Promise<boolean> {
    const transactionId = transactionIdOf(payload)
    if (transactionId === undefined) return false
    if (this.#reservations.has(transactionId) || (await this.#settler.find(transactionId)) !== undefined) return true
    return this.#isHeldFor(transactionId, caller)
  }

  /** Whether the caller had the payment verified, by any process on the store. */
  async #isHeldFor(transactionId: string, caller: Caller): Promise<boolean> {
    return (await this.#store.holds.claimantOf(transactionId)) === claimantOf(caller)
  }

  /**
   * Holds a payment for its claimant. Returns the settlement instead if the payment already has one.
   *
   * @throws PaymentError
   */
  async #holdOrFind(payment: VerifiedPayment, requirements: PaymentRequirements, caller: Caller) {
    const { transactionId } = payment.group
    const claimant = claimantOf(caller)
    const isVerified = this.#reservations.isVerified(transactionId, keyOf(payment), claimant)
    // Replicas look up the settlement when they hold the payment, in one round trip.
    const isFirst = this.#holds.isCounted && !isVerified
    const known = isFirst ? undefined : await this.#settler.find(transactionId)
    if (known !== undefined || isVerified) return known
    return (await this.#holds.hold(payment, requirements, claimant)).known
  }

  /**
   * Concurrent calls with the same bytes share one settlement. Calls with other signatures or claimants do not. A charge
   * of 0 is not shared with other charges, because without a claimant it is not the result of the others.
   */
  async #startOnce(payment: VerifiedPayment, requirements: PaymentRequirements, caller: Caller): Promise<Settlement> {
    const key = `${keyOf(payment)} ${claimantOf(caller)} ${payment.charge === 0n}`
    let starting = this.#starting.get(key)
    if (starting === undefined) {
      starting = this.#start(payment, requirements, caller).finally(() => this.#starting.delete(key))
      this.#starting.set(key, starting)
    }
    return starting
  }

  /** Signs the fee transaction and records the group. Only recorded bytes are submitted. */
  async #start(payment: VerifiedPayment, requirements: PaymentRequirements, caller: Caller): Promise<Settlement> {
    const { transactionId } = payment.group
    // A verified payment has passed the limits, and its seller may already have done the work.
    const isAdmitted = this.#reservations.isHeld(transactionId, claimantOf(caller))
    if (!isAdmitted) await this.#admit(payment, requirements, caller)
    const claimant = claimantOf(caller)
    const { known, wasHeld = false } = await this.#holds.holdCharge(payment, requirements, claimant)
    if (known !== undefined) {
      this.#checkClaim(known, caller)
      return this.#settler.wait(known)
    }
    // Not recorded and not released: a buyer of a gate that names no claimant could otherwise end its own payment.
    if (payment.charge === 0n && claimant === '') {
      return { ...(await this.#settlementOf(payment, claimant)), state: 'settled' }
    }
    this.#reservations.startSettling(transactionId)
    try {
      const record = await this.#settlementOf(payment, claimant)
      const { settlement, isNew } = await this.#settler.begin(record, { isPatient: isAdmitted || wasHeld })
      // Another call or another process has recorded the settlement.
      if (!isNew) this.#checkClaim(settlement, caller)
      // Another replica works on the settlement, and this one may not see its end.
      const isElsewhere = !isNew && settlement.state === 'pending' && this.#store.leases !== undefined
      if (isElsewhere) this.#reservations.stopSettling(transactionId)
      return settlement
    } catch (error) {
      this.#reservations.stopSettling(transactionId)
      throw error
    }
  }

  /**
   * Checks the limits of the caller and the policy for a payment that this process has not verified. They refuse nothing
   * that another process has verified for the caller.
   *
   * @throws PaymentError
   */
  async #admit(payment: VerifiedPayment, requirements: PaymentRequirements, caller: Caller): Promise<void> {
    const { charge: amount = payment.amount, feeMicroAlgos: fee, group } = payment
    try {
      await this.#callers.admit(caller)
      this.policy.check(caller, requirements, { amount, feeMicroAlgos: amount === 0n ? 0n : fee })
    } catch (error) {
      if (!(await this.#isHeldFor(group.transactionId, caller))) throw error
    }
  }

  /**
   * Releases the reservation of a settlement that ended in any process.
   *
   * @throws PaymentError if the settlement belongs to another claimant
   */
  #checkClaim({ transactionId, state, claimant }: Settlement, caller: Caller): void {
    if (state !== 'pending') this.#reservations.end(transactionId, state === 'settled')
    checkClaimant(claimant, claimantOf(caller))
  }

  /**
   * A pending settlement is as good as a verified payment. An ended one is not: a seller that keeps no claims would
   * serve a payment copied from the ledger.
   *
   * @throws PaymentError
   */
  #checkKnown(known: Settlement, caller: Caller): void {
    this.#checkClaim(known, caller)
    if (known.state === 'settled') throw new PaymentError('duplicate_settlement', 'this payment is already settled')
    if (known.state === 'pending') return
    throw new PaymentError(failureCode(known), known.errorMessage ?? 'the payment was rejected before')
  }

  /** Builds the transfer of an authorization. The amount is chosen here, once: the record excludes every other one. */
  async #settlementOf(verified: VerifiedPayment, claimant: string): Promise<Settlement> {
    const payment = await this.#transferOf(verified)
    const { chain, group, feeIndex, payer, payTo, amount, assetId, firstValid, lastValid, feeMicroAlgos } = payment
    const members = payment.charge === 0n ? [] : group.members.map(({ bytes }) => bytes)
    if (feeIndex !== undefined && members.length > 0) {
      const { transactionId } = group
      const onError = (error: unknown): void => this.#onError(error, { transactionId })
      members[feeIndex] = await this.#feePayers.sign(group.members[feeIndex]!, onError)
    }
    return {
      transactionId: group.transactionId,
      state: 'pending',
      network: chain.caip2,
      payer,
      payTo,
      asset: assetId.toString(),
      amount: amount.toString(),
      group: members,
      firstValid,
      lastValid,
      feeMicroAlgos,
      claimant,
      createdMs: Date.now(),
    }
  }

  async #transferOf(payment: VerifiedPayment): Promise<VerifiedPayment> {
    const { charge } = payment
    if (charge === undefined) return payment
    if (charge === 0n) return { ...payment, amount: 0n, feeMicroAlgos: 0n }
    return withAmount(payment, { amount: charge, feeMicroAlgos: await settlementFee(payment, this.#options) })
  }

  /** The part of an error that callers see. The rest is for the operator. */
  #reasonOf(error: unknown, unexpected: PaymentErrorCode, { payload, caller }: Refused): Reason {
    const transactionId = subjectOf(payload, error)
    if (transactionId !== undefined) caller.onPayment?.(transactionId)
    if (error instanceof PaymentError) return { code: error.code, message: error.message }
    this.#onError(error, { requestId: caller.requestId, transactionId })
    if (error instanceof AlgodError)
      return { code: 'facilitator_node_unavailable', message: 'no node of the network responds' }
    return { code: unexpected, message: 'the facilitator failed; send the same payment again: it is not charged twice' }
  }
}

type Refused = { readonly payload: PaymentPayload; readonly caller: Caller }
type Reason = { readonly code: PaymentErrorCode; readonly message: string }

/**
 * The id of a payment, which most payments that fail verification have too. Nothing is read for a caller that sends too
 * much.
 */
function subjectOf(payload: PaymentPayload, error?: unknown): string | undefined {
  if (error instanceof PaymentError && error.code === 'facilitator_policy_refused') return undefined
  try {
    return transactionIdOf(payload)
  } catch {
    return undefined
  }
}

/** The outcome of a settlement for the metrics. A charge of 0 moves no money. */
function outcomeOf(result: Settlement): string {
  if (result.state === 'settled' && result.amount === '0') return 'nothing_charged'
  return result.state === 'failed' ? failureCode(result) : result.state
}

/** No claimant is a claimant too: a payment presented without one cannot be taken by a caller that names itself. */
function claimantOf({ claimant = '' }: Caller): string {
  return claimant
}

/** An error in the listener must not cause another one. */
function silenced(onError: ErrorListener | undefined): ErrorListener {
  return (error, subject) => {
    try {
      onError?.(error, subject)
    } catch {
      // There is nowhere else to report the error.
    }
  }
}

/** A replica with a smaller quorum would make decisions that the others do not make. */
function quorumsOf(chains: readonly Chain[]): string[] | undefined {
  if (chains.every(({ algod }) => algod.quorum === 1)) return undefined
  return chains.map(({ caip2, algod }) => `${caip2} ${algod.quorum}`)
}
