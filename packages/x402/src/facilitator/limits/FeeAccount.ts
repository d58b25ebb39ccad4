import { PaymentError } from '../PaymentError.js'

/** How long a balance is used. Otherwise, each of many verifications would query it. */
const balanceMs = 2_000
/** Shorter if other replicas spend from the account too, without telling this one. */
const sharedBalanceMs = 250

/** The fees reserved before a payment. */
export type FeesAhead = {
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
    const maxAgeMs = ahead.payers === undefined ? balanceMs : sharedBalanceMs
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
