/**
 * One paying account on one network with open payments: their reservations, its balances, and the calls that wait for a
 * change.
 */
import { algoAssetId, type Chain } from '../../chain/Chain.js'
import type { FeeAccount } from './FeeAccount.js'

/** The cost of a payment for its payer, in base units by asset. */
export type Costs = ReadonlyMap<bigint, bigint>

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

export async function spendable(chain: Chain, address: string, assetId: bigint): Promise<bigint> {
  if (assetId !== algoAssetId) return (await chain.algod.holding(address, assetId))?.amount ?? 0n
  const { microAlgos, minBalance } = await chain.algod.account(address)
  return microAlgos > minBalance ? microAlgos - minBalance : 0n
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms)
  })
}
