/**
 * Tracks payments that were verified and have not ended. Each counts against the balance of its payer, so that an
 * account with money for one payment cannot have twenty verified. Each belongs to the claimant that presented it first.
 */

import { PaymentError } from '../PaymentError.js'
import { isForeign } from '../store/holdDecisions.js'
import type { HeldAhead } from '../store/Settlement.js'
import type { Settlement } from '../store/Settlements.js'
import type { VerifiedPayment } from '../verify/verifyPayment.js'
import {
  checkSharedBalance,
  costsOf,
  FeeAccount,
  feeBalance,
  feePayerOf,
  isStillCovered,
  PayerAccount,
  type Reservation,
  type SharedPayment,
  sumsOf,
} from './Accounts.js'

/** Looks up a settlement, which may belong to another process. */
export type FindSettlement = (
  transactionId: string,
) => Promise<Pick<Settlement, 'state'> | undefined> | Pick<Settlement, 'state'> | undefined

export type HoldOptions = {
  readonly claimant: string
  readonly key: string
  /** When the simulation started. */
  readonly startedMs: number
  readonly holdMs: number
  /** The payment in the store, which knows the claimants of all processes. */
  readonly shared?: SharedPayment | undefined
  /**
   * Whether the payment is about to be settled. If it was held before, its seller may have done the work, so that only
   * the ledger refuses it.
   */
  readonly isSettling?: boolean | undefined
}

/** The result of holding a payment. */
export type HeldPayment = {
  /** The existing settlement. The payment is not held, because it is already settled or will be. */
  readonly known?: Settlement | undefined
  /** Whether another replica held the payment before. */
  readonly wasHeld?: boolean
}

type ShareOptions = {
  readonly shared: SharedPayment
  readonly startedMs: number
  readonly checkOwn: () => Promise<void>
  readonly isSettling: boolean
}

type Others = {
  /** The reservations made before this one. */
  readonly ahead: readonly Reservation[]
  /** When the simulation started. */
  readonly startedMs: number
}

/** How long a simulated payment is not simulated again. */
const verifiedMs = 30_000
/** Shorter, because the seller works meanwhile, and asks again while it does. */
const verifiedUsageMs = 5_000
const minHoldMs = verifiedMs
/** Longer than 1,000 rounds of a public network, which is the longest validity. */
const maxHoldMs = 90 * 60_000
/** How long a payment waits for settlements that may not be in the balance yet. */
const waitMs = 5_000
const sweepMs = 30_000
const maxReservations = 100_000
/** Bounded, because each verification of an account goes through the others. */
const maxPerAccount = 1_000

export class Reservations {
  readonly #byId = new Map<string, Reservation>()
  readonly #accounts = new Map<string, PayerAccount>()
  /** Keyed by network and address. */
  readonly #feeAccounts = new Map<string, FeeAccount>()
  readonly #find: FindSettlement
  readonly #nowMs: () => number
  #sweptMs = 0

  /**
   * @param find looks up settlements that other processes may have ended, because a payment can be verified here and
   * settled there
   */
  constructor(find: FindSettlement, nowMs: () => number = () => performance.now()) {
    this.#find = find
    this.#nowMs = nowMs
  }

  get size(): number {
    return this.#byId.size
  }

  has(transactionId: string): boolean {
    return this.#open(transactionId) !== undefined
  }

  /**
   * Whether the payment was verified, with any signature, and has not ended.
   *
   * @throws PaymentError if the payment belongs to another claimant
   */
  isHeld(transactionId: string, claimant: string): boolean {
    const found = this.#open(transactionId)
    if (found === undefined) return false
    checkClaimant(found.claimant, claimant)
    return found.state !== 'checking'
  }

  /**
   * Whether the payment was verified and is not being settled.
   *
   * @throws PaymentError if the payment belongs to another claimant
   */
  isWaiting(transactionId: string, claimant: string): boolean {
    return this.isHeld(transactionId, claimant) && this.#byId.get(transactionId)?.state === 'held'
  }

  /**
   * Whether the same bytes were verified recently.
   *
   * @throws PaymentError if the payment belongs to another claimant
   */
  isVerified(transactionId: string, key: string, claimant: string): boolean {
    const found = this.#open(transactionId)
    if (found === undefined) return false
    checkClaimant(found.claimant, claimant)
    return found.state !== 'checking' && found.verified.key === key && this.#nowMs() < found.verified.untilMs
  }

  /** Whether the claimant had the payment verified, and the result is too old to be used again. */
  isDue(transactionId: string | undefined, claimant: string): boolean {
    const found = transactionId === undefined ? undefined : this.#open(transactionId)
    return found?.state === 'held' && found.claimant === claimant && this.#nowMs() >= found.verified.untilMs
  }

  /**
   * Reserves the cost of a payment. Call it after the simulation, so that a payment in the name of another account
   * cannot reserve anything of that account. Queries a balance only if other payments of the account are open, because
   * the simulation has already compared this one with the balance.
   *
   * @throws PaymentError if the balance does not cover all of them, or if the payment belongs to another claimant
   */
  async hold(payment: VerifiedPayment, options: HoldOptions): Promise<HeldPayment> {
    const { claimant, key, startedMs, holdMs, shared, isSettling = false } = options
    const now = this.#nowMs()
    this.#sweep(now)
    const { transactionId } = payment.group
    const verified = { key, untilMs: now + (payment.authorization === undefined ? verifiedMs : verifiedUsageMs) }
    const untilMs = now + boundHoldMs(holdMs)
    const again = (): Promise<HeldPayment> => this.hold(payment, options)
    const found = this.#open(transactionId)
    if (found !== undefined) {
      checkClaimant(found.claimant, claimant)
      while (found.state === 'checking') await found.account.change(waitMs)
      if (found.state !== 'ended') {
        const result = await shared?.hold()
        if (result?.known !== undefined) return { known: result.known }
        if (!isSettling) await this.#checkAgain(payment, found, { shared, first: result?.ahead })
        found.verified = verified
        if (found.state === 'held') found.untilMs = Math.max(found.untilMs, untilMs)
        return { wasHeld: true }
      }
      if (this.#nowMs() - now >= waitMs)
        throw new PaymentError('facilitator_busy', 'the payment is being verified; retry')
      // The other call found too little. This call would too, unless something has changed since.
      return again()
    }
    const { chain, payer, feeMicroAlgos, feePayer, lastValid } = payment
    const account = this.#accountOf(chain.caip2, payer)
    const ahead = [...account.reservations]
    if (ahead.length >= maxPerAccount) {
      if (await this.#endElsewhere(account)) return again()
      throw reserved(payer)
    }
    const feeAccount = this.#feeAccountOf(chain.caip2, feePayer)
    const feesAhead = feeAccount.reserve(payer, feeMicroAlgos)
    const of = { transactionId, account, feeAccount, feeMicroAlgos, claimant, network: chain.caip2, lastValid }
    const one = this.#add({ ...of, costs: costsOf(payment), verified, state: 'checking', isRejected: false, untilMs })
    let isOwn = false
    const checkOwn = async (): Promise<void> => {
      isOwn = true
      if (ahead.length > 0 || account.settledMs >= startedMs) {
        await this.#checkBalance(payment, one, { ahead, startedMs })
      }
      if (feeMicroAlgos > 0n) await feeAccount.check(feeMicroAlgos, feesAhead, () => feeBalance(payment))
    }
    let held: HeldPayment = {}
    try {
      if (shared === undefined) await checkOwn()
      else held = await this.#share(payment, one, { shared, startedMs, checkOwn, isSettling })
    } catch (error) {
      this.#end(one, false)
      const isReserved = isOwn && error instanceof PaymentError
      if (isReserved && (await this.#endElsewhere(account))) return again()
      throw error
    }
    if (held.known !== undefined) this.#end(one, false)
    // Another process may have settled the payment meanwhile.
    if (one.state === 'checking') one.state = 'held'
    account.changed()
    return held
  }

  /** Holds the payment in the store, and checks the balance: by the amounts in the store if it counts them. */
  async #share(
    payment: VerifiedPayment,
    one: Reservation,
    { shared, startedMs, checkOwn, isSettling }: ShareOptions,
  ): Promise<HeldPayment> {
    const first = await shared.hold()
    if (first.known !== undefined) return { known: first.known }
    const { wasHeld, ahead } = first
    if (wasHeld && isSettling) return { wasHeld }
    if (wasHeld && ahead !== undefined) {
      await this.#checkAgain(payment, one, { shared, first: ahead })
      return { wasHeld }
    }
    try {
      const known =
        ahead === undefined ? await checkOwn() : await this.#checkShared(payment, one, { shared, startedMs, ahead })
      return known === undefined ? { wasHeld } : { known }
    } catch (error) {
      // A payment verified by another replica stays held. A hold that cannot be released now stays until the payment
      // is no longer valid.
      if (!wasHeld) await (async () => shared.release())().catch(() => undefined)
      throw error
    }
  }

  /** The store knows the holds of all replicas, including this one, so nothing else is added. */
  async #checkShared(
    payment: VerifiedPayment,
    { account, costs, feeAccount, feeMicroAlgos }: Reservation,
    { shared, startedMs, ahead }: { shared: SharedPayment; startedMs: number; ahead: HeldAhead },
  ): Promise<Settlement | undefined> {
    const check = { payment, account, costs, startedMs, nowMs: this.#nowMs }
    const result = await checkSharedBalance(check, { shared, first: ahead, deadlineMs: this.#nowMs() + waitMs })
    if (result === undefined) throw reserved(payment.payer)
    if (result.known !== undefined) return result.known
    const { fees } = result.ahead ?? ahead
    if (feeMicroAlgos > 0n) await feeAccount.check(feeMicroAlgos, fees, () => feeBalance(payment))
    return undefined
  }

  /**
   * Checks the balance for a payment that was held before: the seller works for it, and continues only while the payment
   * can still be paid in addition to those that were held before it. The payment stays held for its claimant.
   *
   * @throws PaymentError
   */
  async #checkAgain(
    payment: VerifiedPayment,
    one: Reservation,
    { shared, first }: { shared: SharedPayment | undefined; first: HeldAhead | undefined },
  ): Promise<void> {
    const { account } = one
    let ahead = first
    const heldBefore = async (): Promise<ReadonlyMap<bigint, bigint>> => {
      if (shared === undefined || first === undefined) return heldBeforeOf(one, this.#nowMs())
      const { costs } = ahead ?? (await aheadOf(shared)) ?? first
      ahead = undefined
      return new Map(costs.map(({ asset, held }) => [BigInt(asset), held]))
    }
    if (!(await isStillCovered({ payment, account, costs: costsOf(payment) }, heldBefore)))
      throw reserved(payment.payer)
  }

  /** Call this before the settlement is recorded. The reservation no longer expires. */
  startSettling(transactionId: string): void {
    const one = this.#byId.get(transactionId)
    if (one === undefined || one.state === 'settling') return
    one.state = 'settling'
    one.feeAccount.settle(one.feeMicroAlgos, true)
  }

  /** Call this if the settlement was not recorded. */
  stopSettling(transactionId: string): void {
    const one = this.#byId.get(transactionId)
    if (one?.state !== 'settling') return
    if (!one.isRejected) one.feeAccount.settle(one.feeMicroAlgos, false)
    one.isRejected = false
    one.state = 'held'
  }

  /**
   * Marks whether nodes reject the payment. The fee of a rejected payment stays reserved, but will most likely not be
   * spent.
   */
  setRejected(transactionId: string, isRejected: boolean): void {
    const one = this.#byId.get(transactionId)
    if (one?.state !== 'settling' || one.isRejected === isRejected) return
    one.isRejected = isRejected
    one.feeAccount.settle(one.feeMicroAlgos, !isRejected)
  }

  /** Restores the reservation of an earlier process's settlement. */
  restore(settlement: Settlement): void {
    const { transactionId, network, payer, asset, amount, feeMicroAlgos, claimant, lastValid } = settlement
    if (this.#byId.has(transactionId)) return
    const account = this.#accountOf(network, payer)
    const feeAccount = this.#feeAccountOf(network, feePayerOf(settlement))
    feeAccount.reserve(payer, feeMicroAlgos)
    feeAccount.settle(feeMicroAlgos, true)
    const costs = new Map([[BigInt(asset), BigInt(amount)]])
    const verified = { key: '', untilMs: 0 }
    const untilMs = Number.POSITIVE_INFINITY
    const of = { transactionId, account, feeAccount, feeMicroAlgos, claimant, network, lastValid }
    this.#add({ ...of, costs, verified, state: 'settling', isRejected: false, untilMs })
  }

  /** Call this when the settlement ended. */
  end(transactionId: string, isSettled: boolean): void {
    const one = this.#byId.get(transactionId)
    if (one === undefined) return
    if (isSettled) one.account.settledMs = this.#nowMs()
    this.#end(one, isSettled)
  }

  /** Releases payments whose last valid round is before this round, which the ledger has passed. */
  forget(network: string, round: bigint): void {
    for (const one of this.#byId.values()) {
      if (one.state === 'held' && one.network === network && one.lastValid < round) this.#end(one, false)
    }
  }

  /**
   * Checks in the order of arrival. Earlier reservations count as held, so that two concurrent payments never both find
   * enough for one.
   */
  async #checkBalance(payment: VerifiedPayment, one: Reservation, { ahead, startedMs }: Others): Promise<void> {
    const deadlineMs = this.#nowMs() + waitMs
    for (;;) {
      const now = this.#nowMs()
      const open = ahead.filter(({ state, untilMs }) => state !== 'ended' && (state !== 'held' || now < untilMs))
      const states = open.map(({ state }) => state)
      // A payment settled since the simulation, including while this one waited, is missing in the simulation's result.
      const isOutdated = one.account.settledMs >= startedMs
      let isCovered = true
      let isHopeless = false
      for (const [assetId, cost] of one.costs) {
        const { held, undecided } = sumsOf(open, assetId)
        // The simulation has already compared the cost with a balance that no other payment touches.
        if (held + undecided === 0n && !isOutdated) continue
        const balance = await one.account.balance(payment.chain, assetId)
        isHopeless ||= held + cost > balance
        isCovered &&= held + undecided + cost <= balance
      }
      if (isCovered) return
      // A payment that settled meanwhile was counted in the sum and is missing in the balance.
      const isChanged = open.some(({ state }, index) => state !== states[index])
      const leftMs = deadlineMs - this.#nowMs()
      if ((isHopeless && !isChanged) || leftMs <= 0) throw reserved(payment.payer)
      // Payments being checked may fail, and settling payments may already be deducted from the balance.
      if (!isChanged) await one.account.change(leftMs)
    }
  }

  #open(transactionId: string): Reservation | undefined {
    const one = this.#byId.get(transactionId)
    if (one === undefined || one.state !== 'held' || this.#nowMs() < one.untilMs) return one
    this.#end(one, false)
    return undefined
  }

  #accountOf(network: string, payer: string): PayerAccount {
    const key = `${network} ${payer}`
    let account = this.#accounts.get(key)
    if (account === undefined) {
      account = new PayerAccount(payer, this.#nowMs)
      this.#accounts.set(key, account)
    }
    return account
  }

  #feeAccountOf(network: string, feePayer = ''): FeeAccount {
    const key = `${network} ${feePayer}`
    const account = this.#feeAccounts.get(key) ?? new FeeAccount(this.#nowMs)
    this.#feeAccounts.set(key, account)
    return account
  }

  #add(one: Reservation): Reservation {
    if (this.#byId.size >= maxReservations) this.#evict()
    this.#byId.set(one.transactionId, one)
    one.account.reservations.add(one)
    return one
  }

  #end(one: Reservation, isSpent: boolean): void {
    if (one.state === 'ended') return
    if (one.state === 'settling' && !one.isRejected) one.feeAccount.settle(one.feeMicroAlgos, false)
    one.state = 'ended'
    one.feeAccount.release(one.account.payer, one.feeMicroAlgos, isSpent)
    this.#byId.delete(one.transactionId)
    one.account.reservations.delete(one)
    one.account.changed()
  }

  /**
   * Ends reservations that other processes have settled without telling this one. Runs before a payment is refused,
   * once for all payments that are refused at the same time. Returns whether any ended.
   */
  #endElsewhere(account: PayerAccount): Promise<boolean> {
    return account.lookUp(async () => {
      let hasEnded = false
      for (const { transactionId, state } of [...account.reservations]) {
        const known = state === 'held' ? await this.#find(transactionId) : undefined
        if (known === undefined || known.state === 'pending') continue
        this.end(transactionId, known.state === 'settled')
        hasEnded = true
      }
      return hasEnded
    })
  }

  /** Evicts from the account with the most reservations, so that an account that fills the memory loses its own. */
  #evict(): void {
    let fullest: PayerAccount | undefined
    for (const account of this.#accounts.values()) {
      if (account.reservations.size > (fullest?.reservations.size ?? 0)) fullest = account
    }
    const oldest = [...(fullest?.reservations ?? [])].find(({ state }) => state === 'held')
    if (oldest !== undefined) this.#end(oldest, false)
  }

  #sweep(now: number): void {
    if (now - this.#sweptMs < sweepMs) return
    this.#sweptMs = now
    for (const one of this.#byId.values()) if (one.state === 'held' && now >= one.untilMs) this.#end(one, false)
    for (const [key, { reservations, settledMs }] of this.#accounts) {
      // Kept for a while after a settlement, because a simulation that started before it may still be running.
      if (reservations.size === 0 && now - settledMs > sweepMs) this.#accounts.delete(key)
    }
  }
}

/** The amounts that this process held for the payer before a payment. */
function heldBeforeOf(one: Reservation, nowMs: number): ReadonlyMap<bigint, bigint> {
  const before: Reservation[] = []
  for (const other of one.account.reservations) {
    if (other === one) break
    if (nowMs < other.untilMs) before.push(other)
  }
  return new Map([...one.costs.keys()].map((assetId) => [assetId, sumsOf(before, assetId).held]))
}

/** The amounts ahead of a payment in the store. Undefined if it is settled meanwhile. */
async function aheadOf(shared: SharedPayment): Promise<HeldAhead | undefined> {
  const result = await shared.hold()
  return result.known === undefined ? result.ahead : undefined
}

/** @throws PaymentError */
export function checkClaimant(bound: string | undefined, claimant: string): void {
  if (isForeign(bound, claimant)) throw alreadyClaimed()
}

export function alreadyClaimed(): PaymentError {
  return new PaymentError('payment_already_claimed', 'the payment was already presented for another resource')
}

/** Limits how long a payment counts against the balance of its payer. */
export function boundHoldMs(holdMs: number): number {
  return Math.min(Math.max(holdMs, minHoldMs), maxHoldMs)
}

function reserved(payer: string): PaymentError {
  const text = `${payer} has an insufficient balance: other verified payments are pending`
  return new PaymentError('payer_balance_reserved', text)
}
