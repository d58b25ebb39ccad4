/**
 * One paying account on one network with open payments: their reservations, its balances, and the calls that wait for a
 * change.
 */
import { Address, Submission } from '@latchkey/algorand'
import { algoAssetId, type Chain } from '../../chain/Chain.js'
import { PaymentError } from '../PaymentError.js'
import type { HeldAhead } from '../store/Settlement.js'
import type { Settlement } from '../store/Settlements.js'
import type { VerifiedPayment } from '../verify/verifyPayment.js'

/** The cost of a payment for its payer, in base units by asset. */
type Costs = ReadonlyMap<bigint, bigint>

/** A payment that was verified and has not ended. */
export type Reservation = {
  readonly transactionId: string
  readonly account: PayerAccount
  readonly costs: Costs
  /** The fee that the facilitator pays for the payment. */
  readonly feeMicroAlgos: bigint
  readonly feeAccount: FeeAccount
  /** The gate and resource that the payment is for; undefined if they are not known. */
  readonly claimant: string | undefined
  readonly network: string
  /** After this round the ledger no longer accepts the payment. */
  readonly lastValid: bigint
  /** The bytes that were simulated, and until when the result counts. */
  verified: { key: string; untilMs: number }
  /**
   * `checking`: the balance is being looked up. `held`: verified. `settling`: recorded, and ends with the settlement.
   */
  state: 'checking' | 'held' | 'settling' | 'ended'
  /** Whether nodes reject the payment while it settles. */
  isRejected: boolean
  untilMs: number
}

/** How long a balance is used for further payments of the account, if none was settled meanwhile. */
const balanceMs = 1_000
/** The minimum time between two lookups of an account's payments in the store. */
const lookupMs = 250

export class PayerAccount {
  readonly payer: string
  readonly reservations = new Set<Reservation>()
  /** When a payment was last settled. A balance or simulation from before that time may be too high. */
  settledMs = Number.NEGATIVE_INFINITY
  readonly #nowMs: () => number
  readonly #balances = new Map<bigint, { startedMs: number; amount: Promise<bigint> }>()
  /** Each function ends a wait for a change of the reservations. */
  readonly #waiting = new Set<() => void>()
  #isWaking = false
  /** A lookup that has not started. */
  #nextLookup: Promise<boolean> | undefined
  #lookupPause: Promise<void> | undefined

  constructor(payer: string, nowMs: () => number) {
    this.payer = payer
    this.#nowMs = nowMs
  }

  /**
   * The spendable balance. Read after sums were made, so that a payment that settles in between counts twice rather
   * than not at all.
   */
  balance(chain: Chain, assetId: bigint): Promise<bigint> {
    const startedMs = this.#nowMs()
    const known = this.#balances.get(assetId)
    if (known !== undefined && startedMs - known.startedMs < balanceMs && this.settledMs < known.startedMs) {
      return known.amount
    }
    const amount = spendable(chain, this.payer, assetId)
    const entry = { startedMs, amount }
    this.#balances.set(assetId, entry)
    amount.catch(() => {
      if (this.#balances.get(assetId) === entry) this.#balances.delete(assetId)
    })
    return amount
  }

  /** Resolves with the next change of the reservations, or when the time is up. */
  change(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wakeUp = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(wakeUp)
        resolve()
      }
      const timer = setTimeout(wakeUp, ms)
      this.#waiting.add(wakeUp)
    })
  }

  /** Wakes waiting calls once for all changes of a moment, because each call goes through all other reservations. */
  changed(): void {
    if (this.#isWaking || this.#waiting.size === 0) return
    this.#isWaking = true
    setTimeout(() => {
      this.#isWaking = false
      for (const wakeUp of [...this.#waiting]) wakeUp()
    }, 0)
  }

  /**
   * Returns the result of a lookup that starts soon, shared by all calls until then, because attackers can call often.
   */
  lookUp(work: () => Promise<boolean>): Promise<boolean> {
    this.#nextLookup ??= this.#lookUpLater(work)
    return this.#nextLookup
  }

  async #lookUpLater(work: () => Promise<boolean>): Promise<boolean> {
    await this.#lookupPause
    this.#nextLookup = undefined
    this.#lookupPause = sleep(lookupMs)
    return work()
  }
}

async function spendable(chain: Chain, address: string, assetId: bigint): Promise<bigint> {
  if (assetId !== algoAssetId) return (await chain.algod.holding(address, assetId))?.amount ?? 0n
  const { microAlgos, minBalance } = await chain.algod.account(address)
  return microAlgos > minBalance ? microAlgos - minBalance : 0n
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}

/** The amount, and the fee that the payer pays. */
export function costsOf({ assetId, amount, group }: VerifiedPayment): Costs {
  const costs = new Map([[assetId, amount]])
  const fee = group.payment.txn.fee ?? 0n
  if (fee > 0n) costs.set(algoAssetId, (costs.get(algoAssetId) ?? 0n) + fee)
  return costs
}

/** Sums the costs that are certain (`held`), and those that may be taken or are already taken (`undecided`). */
export function sumsOf(open: readonly Reservation[], assetId: bigint): { held: bigint; undecided: bigint } {
  let [held, undecided] = [0n, 0n]
  for (const { state, costs } of open) {
    const cost = costs.get(assetId) ?? 0n
    if (state === 'held') held += cost
    else undecided += cost
  }
  return { held, undecided }
}

export function feeBalance({ chain, feePayer }: VerifiedPayment): Promise<bigint> {
  return spendable(chain, feePayer!, algoAssetId)
}

/** The sender of the other transaction: a group is the payment and the transaction that pays its fees. */
export function feePayerOf({ group, payer, feeMicroAlgos }: Settlement): string | undefined {
  if (feeMicroAlgos === 0n) return undefined
  const senders = group.flatMap((bytes) => {
    try {
      return [Address.encode(Submission.decodeFirst(bytes).signed.txn.snd)]
    } catch {
      // Written by another program. The node will refuse it.
      return []
    }
  })
  return senders.find((sender) => sender !== payer)
}

/** The holds ahead of a payment, or its settlement if it already has one. */
export type ShareResult =
  | {
      /** Undefined if the store does not count amounts. */
      readonly ahead?: HeldAhead | undefined
      /** Whether any replica held the payment before. */
      readonly wasHeld: boolean
      readonly known?: undefined
    }
  | { readonly known: Settlement }

/** A payment in the store, for all replicas. */
export type SharedPayment = {
  /**
   * Holds the payment, or extends its hold.
   *
   * @throws PaymentError if the payment exceeds a limit, or belongs to another claimant
   */
  readonly hold: () => Promise<ShareResult>
  readonly release: () => Promise<void>
}

type SharedCheck = {
  readonly payment: VerifiedPayment
  readonly account: PayerAccount
  readonly costs: Costs
  /** When the simulation started. */
  readonly startedMs: number
  readonly nowMs: () => number
}

/** How often the store is queried again. Settlements end with blocks, at replicas that do not notify this one. */
const againMs = 250

/**
 * Waits for settlements that may not be in the balance yet. Returns the final result, or undefined if the balance does
 * not cover the payment in addition to the holds ahead of it.
 */
export async function checkSharedBalance(
  check: SharedCheck,
  { shared, first, deadlineMs }: { shared: SharedPayment; first: HeldAhead; deadlineMs: number },
): Promise<ShareResult | undefined> {
  const { account, nowMs } = check
  for (let result: ShareResult = { ahead: first, wasHeld: false }; ; result = await shared.hold()) {
    if (result.known !== undefined || result.ahead === undefined) return result
    const { settledAgoMs } = result.ahead
    // Reported by the store, because another replica may have settled the payment.
    if (settledAgoMs !== undefined) account.settledMs = Math.max(account.settledMs, nowMs() - settledAgoMs)
    const { isCovered, isHopeless } = await compare(check, result.ahead)
    if (isCovered) return result
    const leftMs = deadlineMs - nowMs()
    if (isHopeless || leftMs <= 0) return undefined
    await account.change(Math.min(againMs, leftMs))
  }
}

/**
 * Whether the balance still covers a payment that was held before, in addition to the amounts that were held before it.
 * Payments that settle are left out: they may already be deducted, and the next check counts them.
 *
 * @param heldBefore sums the amounts by asset id
 */
export async function isStillCovered(
  { payment, account, costs }: Pick<SharedCheck, 'payment' | 'account' | 'costs'>,
  heldBefore: () => Promise<ReadonlyMap<bigint, bigint>>,
): Promise<boolean> {
  const first = await heldBefore()
  // The simulation has already compared the cost with a balance that no other payment touches.
  const assets = [...costs.keys()].filter((assetId) => (first.get(assetId) ?? 0n) > 0n)
  const balances = await Promise.all(assets.map((assetId) => account.balance(payment.chain, assetId)))
  const covers = (held: ReadonlyMap<bigint, bigint>): boolean =>
    assets.every((assetId, index) => (held.get(assetId) ?? 0n) + costs.get(assetId)! <= balances[index]!)
  // Summed again after the balances were read, because a payment that settled in between is missing in both.
  return covers(first) || covers(await heldBefore())
}

async function compare({ payment, account, costs, startedMs }: SharedCheck, ahead: HeldAhead) {
  // A payment settled since the simulation started is missing in its result.
  const isOutdated = account.settledMs >= startedMs
  let [isCovered, isHopeless] = [true, false]
  for (const [assetId, cost] of costs) {
    const found = ahead.costs.find(({ asset }) => asset === assetId.toString())
    const { held, settling } = found ?? { held: 0n, settling: 0n }
    // The simulation has already compared the cost with a balance that no other payment touches.
    if (held + settling === 0n && !isOutdated) continue
    const balance = await account.balance(payment.chain, assetId)
    isHopeless ||= held + cost > balance
    isCovered &&= held + settling + cost <= balance
  }
  return { isCovered, isHopeless }
}

/** How long a balance is used. Otherwise, each of many verifications would query it. */
const feeBalanceMs = 2_000
/** Shorter if other replicas spend from the account too, without telling this one. */
const sharedBalanceMs = 250

/** The fees reserved before a payment. */
type FeesAhead = {
  readonly all: bigint
  /** The part that is about to be spent. */
  readonly settling: bigint
  /** The part that belongs to the same payer. */
  readonly own: bigint
  /** How many payers the fees belong to, over all replicas; undefined if this process is the only one. */
  readonly payers?: number | undefined
}

/**
 * The account that pays the fees on one network. The fees of open payments count against its balance, because each
 * payment alone passes the simulation. Payments that are verified and never settled cost their payer nothing. To
 * prevent a payer from reserving the whole balance, each payer has a share that others cannot take.
 */
export class FeeAccount {
  readonly #nowMs: () => number
  #open = 0n
  #settling = 0n
  readonly #openByPayer = new Map<string, bigint>()
  #balance: { startedMs: number; amount: Promise<bigint>; spentSince: bigint } | undefined

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Returns the fees that were reserved before. */
  reserve(payer: string, feeMicroAlgos: bigint): FeesAhead {
    const ahead = { all: this.#open, settling: this.#settling, own: this.#openByPayer.get(payer) ?? 0n }
    this.#add(payer, feeMicroAlgos)
    return ahead
  }

  /** Marks a reserved fee as about to be spent, or undoes that. */
  settle(feeMicroAlgos: bigint, isSettling: boolean): void {
    this.#settling += isSettling ? feeMicroAlgos : -feeMicroAlgos
  }

  release(payer: string, feeMicroAlgos: bigint, isSpent: boolean): void {
    this.#add(payer, -feeMicroAlgos)
    if (isSpent && this.#balance !== undefined) this.#balance.spentSince += feeMicroAlgos
  }

  /** @throws PaymentError if the balance does not cover the fee in addition to the fees reserved before it */
  async check(feeMicroAlgos: bigint, ahead: FeesAhead, spendable: () => Promise<bigint>): Promise<void> {
    // The simulation has already compared a single fee with the balance.
    if (ahead.all === 0n) return
    const now = this.#nowMs()
    const maxAgeMs = ahead.payers === undefined ? feeBalanceMs : sharedBalanceMs
    if (this.#balance === undefined || now - this.#balance.startedMs > maxAgeMs) {
      this.#balance = { startedMs: now, amount: spendable(), spentSince: 0n }
    }
    const balance = this.#balance
    try {
      const left = (await balance.amount) - balance.spentSince
      if (ahead.all + feeMicroAlgos <= left) return
      const share = (left - ahead.settling) / BigInt(Math.max(ahead.payers ?? this.#openByPayer.size, 1))
      if (ahead.own + feeMicroAlgos <= share) return
    } catch (error) {
      if (this.#balance === balance) this.#balance = undefined
      throw error
    }
    const message =
      "the facilitator cannot pay this fee in addition to those of other payments now; this is not the buyer's fault"
    throw new PaymentError('facilitator_fee_account_unfunded', message)
  }

  #add(payer: string, feeMicroAlgos: bigint): void {
    this.#open += feeMicroAlgos
    const own = (this.#openByPayer.get(payer) ?? 0n) + feeMicroAlgos
    if (own > 0n) this.#openByPayer.set(payer, own)
    else this.#openByPayer.delete(payer)
  }
}
