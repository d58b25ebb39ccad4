/** One account on one network that payments are open for: their reservations, its balances, and who waits for a change. */
import { algoAssetId, type Chain } from '../chain/Chain.js'
import type { FeeAccount } from './FeeAccount.js'

/** What a payment takes from its payer, in base units by asset. */
export type Costs = ReadonlyMap<bigint, bigint>

/** A payment that was verified and has not ended. */
export type Reservation = {
  readonly transactionId: string
  readonly account: PayerAccount
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
  /** Whether nodes reject it while it settles. */
  isRejected: boolean
  untilMs: number
}

/** How long a balance is used for further payments of the account, if none was settled meanwhile. */
const balanceMs = 1_000
/** The least time between two lookups of an account's payments in the store. */
const lookupMs = 250

export class PayerAccount {
  readonly payer: string
  readonly reservations = new Set<Reservation>()
  /** When one was last settled: a balance or a simulation from before that time may be too high. */
  settledMs = Number.NEGATIVE_INFINITY
  readonly #nowMs: () => number
  readonly #balances = new Map<bigint, { startedMs: number; amount: Promise<bigint> }>()
  /** Each ends a wait for a change of the reservations. */
  readonly #waiting = new Set<() => void>()
  #isWaking = false
  /** A lookup that has not started. */
  #nextLookup: Promise<boolean> | undefined
  #lookupPause: Promise<void> | undefined

  constructor(payer: string, nowMs: () => number) {
    this.payer = payer
    this.#nowMs = nowMs
  }

  /** What it can spend. Read after sums were made: what settles in between counts twice rather than not at all. */
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

  /** Those that wait look once at all changes of a moment: each looks through all of the others. */
  changed(): void {
    if (this.#isWaking || this.#waiting.size === 0) return
    this.#isWaking = true
    setTimeout(() => {
      this.#isWaking = false
      for (const wakeUp of [...this.#waiting]) wakeUp()
    }, 0)
  }

  /** The result of a lookup that starts soon, for all that ask until then: attackers can ask often. */
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
