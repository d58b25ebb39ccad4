import { PaymentError } from './PaymentError.js'

/** How long a balance is used: each of many verifications would ask for it otherwise. */
const balanceMs = 2_000
/** Where other replicas spend from the account too, and do not tell. */
const sharedBalanceMs = 250

/** What was reserved before a payment. */
export type FeesAhead = {
  readonly all: bigint
  /** Of those, what is about to be spent. */
  readonly settling: bigint
  /** Of those, what is for the same payer. */
  readonly own: bigint
  /** How many payers they are for, over all replicas; undefined if this process is the only one. */
  readonly payers?: number | undefined
}

/**
 * The account that pays the fees, on one network: what open payments will take from it counts against its balance, because
 * each of them alone passes the simulation. Payments that are verified and never settled cost their payer nothing, so
 * that no payer can reserve all of it: each has a share that others cannot take.
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

  /** Returns what was reserved before. */
  reserve(payer: string, feeMicroAlgos: bigint): FeesAhead {
    const ahead = { all: this.#open, settling: this.#settling, own: this.#openByPayer.get(payer) ?? 0n }
    this.#add(payer, feeMicroAlgos)
    return ahead
  }

  /** A reserved fee is about to be spent; or is not, after all. */
  settle(feeMicroAlgos: bigint, isSettling: boolean): void {
    this.#settling += isSettling ? feeMicroAlgos : -feeMicroAlgos
  }

  release(payer: string, feeMicroAlgos: bigint, isSpent: boolean): void {
    this.#add(payer, -feeMicroAlgos)
    if (isSpent && this.#balance !== undefined) this.#balance.spentSince += feeMicroAlgos
  }

  /** @throws PaymentError if the balance does not cover the fee beside those that came before it */
  async check(feeMicroAlgos: bigint, ahead: FeesAhead, spendable: () => Promise<bigint>): Promise<void> {
    // The simulation has compared one fee with the balance.
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
      'the facilitator cannot pay the fee beside those of other payments now; this is not the fault of the buyer'
    throw new PaymentError('facilitator_fee_account_unfunded', message)
  }

  #add(payer: string, feeMicroAlgos: bigint): void {
    this.#open += feeMicroAlgos
    const own = (this.#openByPayer.get(payer) ?? 0n) + feeMicroAlgos
    if (own > 0n) this.#openByPayer.set(payer, own)
    else this.#openByPayer.delete(payer)
  }
}
