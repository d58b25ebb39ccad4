/** Ends claims, and tries again where the store fails: a settled payment is answered even if the disk is full. */
import type { ClaimEnd, ClaimStore } from '../store/Claims.js'

const firstWaitMs = 1_000
const maxWaitMs = 60_000
/** About as long as the longest lease, after which the claim counts as abandoned. */
const maxTries = 50

export class Unfinished {
  readonly #claims: ClaimStore
  readonly #onError: (error: unknown) => void
  /** By owner, the end that could not be stored. */
  readonly #ends = new Map<string, ClaimEnd>()

  constructor(claims: ClaimStore, onError: (error: unknown) => void) {
    this.#claims = claims
    this.#onError = onError
  }

  /** Ends a claim; later, if the store fails now. Never throws. */
  async finish(transactionId: string, owner: string, end: ClaimEnd): Promise<void> {
    // The last one counts: an earlier end that is still to be stored is replaced.
    if (this.#ends.has(owner)) {
      this.#ends.set(owner, end)
      return
    }
    try {
      await this.#claims.finish(transactionId, owner, end, Date.now())
    } catch (error) {
      this.#onError(error)
      this.#ends.set(owner, end)
      this.#retry(transactionId, owner, firstWaitMs, 1)
    }
  }

  #retry(transactionId: string, owner: string, waitMs: number, tries: number): void {
    const timer = setTimeout(async () => {
      const end = this.#ends.get(owner)!
      try {
        await this.#claims.finish(transactionId, owner, end, Date.now())
        // It may have changed meanwhile.
        if (this.#ends.get(owner) === end) this.#ends.delete(owner)
        else this.#retry(transactionId, owner, firstWaitMs, tries)
      } catch (error) {
        if (tries < maxTries) return this.#retry(transactionId, owner, Math.min(waitMs * 2, maxWaitMs), tries + 1)
        this.#ends.delete(owner)
        this.#onError(error)
      }
    }, waitMs)
    timer.unref?.()
  }
}
