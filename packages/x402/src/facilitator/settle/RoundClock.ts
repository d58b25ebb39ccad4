import type { Algod } from '@latchkey/algod'

/** The last round of a network. */
export class RoundClock {
  readonly #algod: Algod
  readonly #maxAgeMs: number
  #request: { startedMs: number; round: Promise<bigint> } | undefined
  /** The round that a node last reported; undefined before the first response. */
  seen: bigint | undefined

  /** @param maxAgeMs how long a round is reused, so that all waiting settlements share one request */
  constructor(algod: Algod, maxAgeMs: number) {
    this.#algod = algod
    this.#maxAgeMs = maxAgeMs
  }

  /** A recent round, never ahead of the ledger. */
  async lastRound(): Promise<bigint> {
    const now = performance.now()
    if (this.#request === undefined || now - this.#request.startedMs > this.#maxAgeMs) {
      this.#request = { startedMs: now, round: this.#algod.lastRound() }
    }
    const request = this.#request
    try {
      return this.observe(await request.round)
    } catch (error) {
      if (this.#request === request) this.#request = undefined
      throw error
    }
  }

  /** Records a round that a node reported. */
  observe(round: bigint): bigint {
    this.seen = round
    return round
  }
}
