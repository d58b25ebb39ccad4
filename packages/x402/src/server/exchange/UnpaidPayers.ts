/**
 * Payers that withdrew an authorization after the work, for example by spending its lease. The gate does no further work
 * for them by usage for a while, so that an account gets at most what it has authorized at one time.
 */
import { BoundedMap } from '@latchkey/algorand'

const refusedMs = 60 * 60 * 1000
/** Bounded, because accounts are cheap. The oldest is forgotten first. */
const maxPayers = 10_000

/** The codes of a charge that the ledger refuses, although it would have accepted the maximum before the work. */
const withdrawn: ReadonlySet<string> = new Set([
  'invalid_upto_avm_settlement_failed',
  'invalid_upto_avm_simulation_failed',
])

export class UnpaidPayers {
  readonly #untilMs = new BoundedMap<string, number>(maxPayers)
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** @param code the code of the settlement that failed */
  add(payer: string, code: string): void {
    if (withdrawn.has(code)) this.#untilMs.set(payer, this.#nowMs() + refusedMs)
  }

  has(payer: string): boolean {
    return this.#nowMs() < (this.#untilMs.get(payer) ?? Number.NEGATIVE_INFINITY)
  }
}
