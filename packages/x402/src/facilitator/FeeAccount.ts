import { PaymentError } from './PaymentError.js'

/** How long a balance is used: each of many verifications would ask for it otherwise. */
const balanceMs = 2_000

/**
 * The account that pays the fees, on one network: what open payments will take from it counts against its balance, because
 * each of them alone passes the simulation.
 */
export class FeeAccount {
  readonly #nowMs: () => number
  #open = 0n
  #balance: { startedMs: number; amount: Promise<bigint>; spentSince: bigint } | undefined

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /** Returns what others have reserved before. */
  reserve(feeMicroAlgos: bigint): bigint {
    const ahead = this.#open
    this.#open += feeMicroAlgos
    return ahead
  }

  release(feeMicroAlgos: bigint, isSpent: boolean): void {
    this.#open -= feeMicroAlgos
    if (isSpent && this.#balance !== undefined) this.#balance.spentSince += feeMicroAlgos
  }

  /** @throws PaymentError if the balance does not cover the fee beside those that came before it */
  async check(feeMicroAlgos: bigint, ahead: bigint, spendable: () => Promise<bigint>): Promise<void> {
    // The simulation has compared one fee with the balance.
    if (ahead === 0n) return
    const now = this.#nowMs()
    if (this.#balance === undefined || now - this.#balance.startedMs > balanceMs) {
      this.#balance = { startedMs: now, amount: spendable(), spentSince: 0n }
    }
    const balance = this.#balance
    try {
      if (ahead + feeMicroAlgos <= (await balance.amount) - balance.spentSince) return
    } catch (error) {
      if (this.#balance === balance) this.#balance = undefined
      throw error
    }
    const message =
      'the facilitator cannot pay the fee beside those of other payments now; this is not the fault of the buyer'
    throw new PaymentError('facilitator_fee_account_unfunded', message)
  }
}
