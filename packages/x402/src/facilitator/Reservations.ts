/**
 * Payments that were verified and have not ended. Each counts against the balance of its payer, so that an account with
 * money for one payment does not have twenty verified; and belongs to the claimant that presented it first.
 */
import { algoAssetId, type Chain } from '../chain/Chain.js'
import type { Settlement } from '../store/Settlements.js'
import { FeeAccount } from './FeeAccount.js'
import { PaymentError } from './PaymentError.js'
import type { VerifiedPayment } from './verifyPayment.js'

/** What a payment takes from its payer, in base units by asset. */
type Costs = ReadonlyMap<bigint, bigint>

export type Reservation = {
  readonly transactionId: string
  readonly account: Account
  readonly costs: Costs
  /** What the facilitator pays for it. */
  readonly feeMicroAlgos: bigint
  readonly feeAccount: FeeAccount
  /** The gate and resource that it is for; undefined if that is not known. */
  readonly claimant: string | undefined
  /** The bytes that were simulated, and until when that counts. */
  verified: { key: string; untilMs: number }
  /** `checking`: the balance is looked up; `held`: verified; `settling`: recorded, and ends with the settlement. */
  state: 'checking' | 'held' | 'settling' | 'ended'
  untilMs: number
}

/** One account on one network. */
type Account = {
  readonly key: string
  readonly reservations: Set<Reservation>
  /** When one was last settled: a balance or a simulation from before that time may be too high. */
  settledMs: number
  readonly balances: Map<bigint, { startedMs: number; amount: Promise<bigint> }>
  /** Each ends a wait for a change of the reservations. */
  readonly waiting: Set<() => void>
}

export type HoldOptions = {
  readonly claimant: string
  readonly key: string
  /** When the simulation started. */
  readonly startedMs: number
  readonly holdMs: number
}

type Others = {
  /** Those that were there before it. */
  readonly ahead: readonly Reservation[]
  /** Whether one was settled after the simulation started. */
  readonly isOutdated: boolean
}

/** A payment that was simulated is not simulated again for this long. */
const verifiedMs = 30_000
const minHoldMs = verifiedMs
const maxHoldMs = 10 * 60_000
/** How long a balance is used for further payments of the account, if none was settled meanwhile. */
const balanceMs = 1_000
/** How long a payment waits for settlements that may or may not be in the balance yet. */
const waitMs = 5_000
const sweepMs = 30_000
const maxReservations = 100_000
/** Each of an account's verifications looks through the others. */
const maxPerAccount = 1_000

export class Reservations {
  readonly #byId = new Map<string, Reservation>()
  readonly #accounts = new Map<string, Account>()
  /** By network. */
  readonly #feeAccounts = new Map<string, FeeAccount>()
  readonly #nowMs: () => number
  #sweptMs = 0

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  get size(): number {
    return this.#byId.size
  }

  /**
   * Whether the payment was verified, by whatever signature, and has not ended.
   *
   * @throws PaymentError if the payment belongs to another claimant
   */
  isHeld(transactionId: string, claimant: string): boolean {
    const found = this.#find(transactionId)
    if (found === undefined) return false
    checkClaimant(found.claimant, claimant)
    return found.state !== 'checking'
  }

  /**
   * Whether the same bytes were verified a moment ago.
   *
   * @throws PaymentError if the payment belongs to another claimant
   */
  isVerified(transactionId: string, key: string, claimant: string): boolean {
    const found = this.#find(transactionId)
    if (found === undefined) return false
    checkClaimant(found.claimant, claimant)
    return found.state !== 'checking' && found.verified.key === key && this.#nowMs() < found.verified.untilMs
  }

  /**
   * Holds what a payment costs. Called after it was simulated, so that a payment in the name of another account holds
   * nothing of it; and asks for a balance only if other payments of the account are open, because the simulation has
   * compared this one with the balance.
   *
   * @throws PaymentError if the balance does not cover all of them, or if it belongs to another claimant
   */
  async hold(payment: VerifiedPayment, { claimant, key, startedMs, holdMs }: HoldOptions): Promise<void> {
    const now = this.#nowMs()
    this.#sweep(now)
    const { transactionId } = payment.group
    const verified = { key, untilMs: now + verifiedMs }
    const untilMs = now + Math.min(Math.max(holdMs, minHoldMs), maxHoldMs)
    const found = this.#find(transactionId)
    if (found !== undefined) {
      checkClaimant(found.claimant, claimant)
      while (found.state === 'checking') await this.#change(found.account, waitMs)
      if (found.state !== 'ended') {
        found.verified = verified
        if (found.state === 'held') found.untilMs = Math.max(found.untilMs, untilMs)
        return
      }
      // The other call found too little; so would this one, unless something changed since.
      return this.hold(payment, { claimant, key, startedMs, holdMs })
    }
    const { chain, payer, feeMicroAlgos } = payment
    const account = this.#accountOf(chain.caip2, payer)
    const ahead = [...account.reservations]
    if (ahead.length >= maxPerAccount) throw reserved(payer)
    const feeAccount = this.#feeAccountOf(chain.caip2)
    const feesAhead = feeAccount.reserve(feeMicroAlgos)
    const of = { transactionId, account, feeAccount, feeMicroAlgos, claimant }
    const one = this.#add({ ...of, costs: costsOf(payment), verified, state: 'checking', untilMs })
    try {
      const isOutdated = account.settledMs >= startedMs
      if (ahead.length > 0 || isOutdated) await this.#checkBalance(payment, one, { ahead, isOutdated })
      if (feeMicroAlgos > 0n) await feeAccount.check(feeMicroAlgos, feesAhead, () => feeBalance(payment))
    } catch (error) {
      this.#end(one, false)
      throw error
    }
    one.state = 'held'
    this.#wake(account)
  }

  /** The settlement is about to be recorded: it does not expire from now on. */
  startSettling(transactionId: string): void {
    const one = this.#byId.get(transactionId)
    if (one !== undefined) one.state = 'settling'
  }

  /** It was not recorded. */
  stopSettling(transactionId: string): void {
    const one = this.#byId.get(transactionId)
    if (one?.state === 'settling') one.state = 'held'
  }

  /** A settlement of an earlier process. */
  restore({ transactionId, network, payer, asset, amount, feeMicroAlgos, claimant }: Settlement): void {
    if (this.#byId.has(transactionId)) return
    const account = this.#accountOf(network, payer)
    const feeAccount = this.#feeAccountOf(network)
    feeAccount.reserve(feeMicroAlgos)
    const costs = new Map([[BigInt(asset), BigInt(amount)]])
    const verified = { key: '', untilMs: 0 }
    const untilMs = Number.POSITIVE_INFINITY
    const of = { transactionId, account, feeAccount, feeMicroAlgos, claimant }
    this.#add({ ...of, costs, verified, state: 'settling', untilMs })
  }

  /** The settlement ended. */
  end(transactionId: string, isSettled: boolean): void {
    const one = this.#byId.get(transactionId)
    if (one === undefined) return
    if (isSettled) one.account.settledMs = this.#nowMs()
    this.#end(one, isSettled)
  }

  /** In the order of arrival: those ahead count as if they held, so that of two at once never both find enough for one. */
  async #checkBalance(payment: VerifiedPayment, one: Reservation, { ahead, isOutdated }: Others): Promise<void> {
    const deadlineMs = this.#nowMs() + waitMs
    for (;;) {
      const now = this.#nowMs()
      const open = ahead.filter(({ state, untilMs }) => state !== 'ended' && (state !== 'held' || now < untilMs))
      const states = open.map(({ state }) => state)
      let isCovered = true
      let isHopeless = false
      for (const [assetId, cost] of one.costs) {
        const { held, undecided } = sumsOf(open, assetId)
        // The simulation has compared it with a balance that no other payment touches.
        if (held + undecided === 0n && !isOutdated) continue
        const balance = await this.#balance(payment.chain, payment.payer, one.account, assetId)
        isHopeless ||= held + cost > balance
        isCovered &&= held + undecided + cost <= balance
      }
      if (isCovered) return
      // One that settled meanwhile was counted in the sum and is missing in the balance.
      const isChanged = open.some(({ state }, index) => state !== states[index])
      const leftMs = deadlineMs - this.#nowMs()
      if ((isHopeless && !isChanged) || leftMs <= 0) throw reserved(payment.payer)
      // Those that are looked up may fail, and those that settle may have left the balance already.
      if (!isChanged) await this.#change(one.account, leftMs)
    }
  }

  /** Read after the sums were made: what settles in between counts twice rather than not at all. */
  #balance(chain: Chain, payer: string, account: Account, assetId: bigint): Promise<bigint> {
    const startedMs = this.#nowMs()
    const known = account.balances.get(assetId)
    if (known !== undefined && startedMs - known.startedMs < balanceMs && account.settledMs < known.startedMs) {
      return known.amount
    }
    const amount = spendable(chain, payer, assetId)
    const entry = { startedMs, amount }
    account.balances.set(assetId, entry)
    amount.catch(() => {
      if (account.balances.get(assetId) === entry) account.balances.delete(assetId)
    })
    return amount
  }

  /** Resolves with the next change of the account's reservations, or when the time is up. */
  #change({ waiting }: Account, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wakeUp = (): void => {
        clearTimeout(timer)
        waiting.delete(wakeUp)
        resolve()
      }
      const timer = setTimeout(wakeUp, ms)
      waiting.add(wakeUp)
    })
  }

  #wake({ waiting }: Account): void {
    for (const wakeUp of [...waiting]) wakeUp()
  }

  #find(transactionId: string): Reservation | undefined {
    const one = this.#byId.get(transactionId)
    if (one === undefined || one.state !== 'held' || this.#nowMs() < one.untilMs) return one
    this.#end(one, false)
    return undefined
  }

  #accountOf(network: string, payer: string): Account {
    const key = `${network} ${payer}`
    let account = this.#accounts.get(key)
    if (account === undefined) {
      account = {
        key,
        reservations: new Set(),
        settledMs: Number.NEGATIVE_INFINITY,
        balances: new Map(),
        waiting: new Set(),
      }
      this.#accounts.set(key, account)
    }
    return account
  }

  #feeAccountOf(network: string): FeeAccount {
    const account = this.#feeAccounts.get(network) ?? new FeeAccount(this.#nowMs)
    this.#feeAccounts.set(network, account)
    return account
  }

  #add(one: Reservation): Reservation {
    if (this.#byId.size >= maxReservations) this.#evict()
    this.#byId.set(one.transactionId, one)
    one.account.reservations.add(one)
    return one
  }

  #end(one: Reservation, isSpent: boolean): void {
    one.state = 'ended'
    one.feeAccount.release(one.feeMicroAlgos, isSpent)
    this.#byId.delete(one.transactionId)
    one.account.reservations.delete(one)
    this.#wake(one.account)
  }

  /** From the account with the most: one that filled the memory loses its own. */
  #evict(): void {
    let fullest: Account | undefined
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
      // Kept for a while after a settlement: a simulation that started before it may still be under way.
      if (reservations.size === 0 && now - settledMs > sweepMs) this.#accounts.delete(key)
    }
  }
}

/** @throws PaymentError */
export function checkClaimant(bound: string | undefined, claimant: string): void {
  if (bound === undefined || bound === claimant) return
  throw new PaymentError('payment_already_claimed', 'the payment was presented for another resource before')
}

/** The amount, and the payer's own fee. */
function costsOf({ assetId, amount, group }: VerifiedPayment): Costs {
  const costs = new Map([[assetId, amount]])
  const fee = group.payment.txn.fee ?? 0n
  if (fee > 0n) costs.set(algoAssetId, (costs.get(algoAssetId) ?? 0n) + fee)
  return costs
}

/** What is certain to be taken, and what may be taken, or is taken already. */
function sumsOf(open: readonly Reservation[], assetId: bigint): { held: bigint; undecided: bigint } {
  let [held, undecided] = [0n, 0n]
  for (const { state, costs } of open) {
    const cost = costs.get(assetId) ?? 0n
    if (state === 'held') held += cost
    else undecided += cost
  }
  return { held, undecided }
}

async function spendable(chain: Chain, payer: string, assetId: bigint): Promise<bigint> {
  if (assetId !== algoAssetId) return (await chain.algod.holding(payer, assetId))?.amount ?? 0n
  const { microAlgos, minBalance } = await chain.algod.account(payer)
  return microAlgos > minBalance ? microAlgos - minBalance : 0n
}

/** Of the account that pays the fee. */
function feeBalance({ chain, group, feeIndex }: VerifiedPayment): Promise<bigint> {
  return spendable(chain, group.members[feeIndex!]!.sender, algoAssetId)
}

function reserved(payer: string): PaymentError {
  const text = `${payer} has other payments that are verified and not settled, and not enough for this one beside them`
  return new PaymentError('payer_balance_reserved', text)
}
