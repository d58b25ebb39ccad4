/**
 * Ends claims, and tries again where the store fails: a settled payment is answered even if the disk is full. An answer that
 * could not be stored waits here, and is stored before its claim ends.
 */
import type { ClaimEnd, ClaimStore } from '../store/Claims.js'
import type { HeldAnswer } from '../store/HeldAnswer.js'

const firstWaitMs = 1_000
const maxWaitMs = 60_000
/** About as long as the longest lease, after which the claim counts as abandoned. */
const maxTries = 50
/** Of answers that wait for the store. */
const maxWaitingBytes = 64 * 1024 * 1024

/** What could not be stored yet. */
type Waiting = { end: ClaimEnd | undefined; answer: WaitingAnswer | undefined }

export type WaitingAnswer = {
  readonly answer: HeldAnswer
  /** By `performance.now()`: then its claim may be another's, and it is given up. */
  readonly untilMs: number
  /** Called when it is given up: it must not be made again, and its claim ends as served. */
  readonly onLost: () => void
}

export class Unfinished {
  readonly #claims: ClaimStore
  readonly #onError: (error: unknown) => void
  /** By owner. */
  readonly #waiting = new Map<string, Waiting>()
  #bytes = 0

  constructor(claims: ClaimStore, onError: (error: unknown) => void) {
    this.#claims = claims
    this.#onError = onError
  }

  /** Ends a claim; later, if the store fails now, or if its answer is still to be stored. Never throws. */
  async finish(transactionId: string, owner: string, end: ClaimEnd): Promise<void> {
    // The last one counts: an earlier end that is still to be stored is replaced.
    const waiting = this.#waiting.get(owner)
    if (waiting !== undefined) {
      waiting.end = end
      return
    }
    try {
      await this.#claims.finish(transactionId, owner, end, Date.now())
    } catch (error) {
      this.#onError(error)
      this.#waiting.set(owner, { end, answer: undefined })
      this.#retry(transactionId, owner, firstWaitMs, 1)
    }
  }

  /** Stores an answer later; its claim is not ended before. Too many at once are given up. */
  holdLater(transactionId: string, owner: string, answer: WaitingAnswer): void {
    const { length } = answer.answer.body
    if (this.#bytes + length > maxWaitingBytes) {
      answer.onLost()
      return
    }
    this.#bytes += length
    this.#waiting.set(owner, { end: undefined, answer })
    this.#retry(transactionId, owner, firstWaitMs, 1)
  }

  #retry(transactionId: string, owner: string, waitMs: number, tries: number): void {
    const timer = setTimeout(async () => {
      const waiting = this.#waiting.get(owner)!
      try {
        await this.#store(transactionId, owner, waiting)
        const { end } = waiting
        if (end !== undefined) await this.#claims.finish(transactionId, owner, end, Date.now())
        // It may have changed meanwhile.
        if (waiting.end === end) this.#waiting.delete(owner)
        else this.#retry(transactionId, owner, firstWaitMs, tries)
      } catch (error) {
        if (tries < maxTries) return this.#retry(transactionId, owner, Math.min(waitMs * 2, maxWaitMs), tries + 1)
        this.#bytes -= waiting.answer?.answer.body.length ?? 0
        this.#waiting.delete(owner)
        this.#onError(error)
      }
    }, waitMs)
    timer.unref?.()
  }

  async #store(transactionId: string, owner: string, waiting: Waiting): Promise<void> {
    const { answer: held } = waiting
    if (held === undefined) return
    const isLate = performance.now() > held.untilMs
    if (!isLate) await this.#claims.hold(transactionId, owner, held.answer)
    this.#bytes -= held.answer.body.length
    waiting.answer = undefined
    if (!isLate) return
    held.onLost()
    waiting.end = 'served'
  }
}
