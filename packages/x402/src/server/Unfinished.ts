/**
 * Ends claims, and tries again where the store fails: a settled payment is answered even if the disk is full. An answer that
 * could not be stored waits here, and is stored before its claim ends.
 */
import type { ClaimEnd, ClaimStore } from '../store/Claims.js'
import type { HeldAnswer } from '../store/HeldAnswer.js'
import type { Lease, Renewals } from './Renewals.js'

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
  readonly #renewals: Renewals
  readonly #onError: (error: unknown) => void
  /** By owner. */
  readonly #waiting = new Map<string, Waiting>()
  #bytes = 0

  constructor(claims: ClaimStore, renewals: Renewals, onError: (error: unknown) => void) {
    this.#claims = claims
    this.#renewals = renewals
    this.#onError = onError
  }

  /**
   * Ends a claim; later, if the store fails now, or if its answer is still to be stored. Never throws.
   *
   * @returns false if another request has the claim, or may have it
   */
  async finish(lease: Lease, end: ClaimEnd): Promise<boolean> {
    // The last one counts: an earlier end that is still to be stored is replaced.
    const waiting = this.#waiting.get(lease.owner)
    if (waiting !== undefined) {
      waiting.end = end
      return this.#renewals.isHeld(lease)
    }
    try {
      return await this.#end(lease, end)
    } catch (error) {
      this.#onError(error)
      this.#waiting.set(lease.owner, { end, answer: undefined })
      this.#retry(lease, firstWaitMs, 1)
      return this.#renewals.isHeld(lease)
    }
  }

  /** Stores an answer later; its claim is not ended before. Too many at once are given up. */
  holdLater(lease: Lease, answer: WaitingAnswer): void {
    const { length } = answer.answer.body
    if (this.#bytes + length > maxWaitingBytes) {
      answer.onLost()
      return
    }
    this.#bytes += length
    this.#waiting.set(lease.owner, { end: undefined, answer })
    this.#retry(lease, firstWaitMs, 1)
  }

  /** The claim is renewed until its end is stored. */
  async #end(lease: Lease, end: ClaimEnd): Promise<boolean> {
    const { transactionId, owner, fence } = lease
    const isOwn = await this.#claims.finish(transactionId, owner, end, Date.now(), fence)
    this.#renewals.release(lease)
    return isOwn !== false
  }

  #retry(lease: Lease, waitMs: number, tries: number): void {
    const { owner } = lease
    const timer = setTimeout(async () => {
      const waiting = this.#waiting.get(owner)!
      try {
        await this.#store(lease, waiting)
        const { end } = waiting
        if (end !== undefined) await this.#end(lease, end)
        // It may have changed meanwhile.
        if (waiting.end === end) this.#waiting.delete(owner)
        else this.#retry(lease, firstWaitMs, tries)
      } catch (error) {
        if (tries < maxTries) return this.#retry(lease, Math.min(waitMs * 2, maxWaitMs), tries + 1)
        this.#renewals.release(lease)
        this.#bytes -= waiting.answer?.answer.body.length ?? 0
        this.#waiting.delete(owner)
        this.#onError(error)
      }
    }, waitMs)
    timer.unref?.()
  }

  async #store({ transactionId, owner, fence }: Lease, waiting: Waiting): Promise<void> {
    const { answer: held } = waiting
    if (held === undefined) return
    const isLate = performance.now() > held.untilMs
    if (!isLate) await this.#claims.hold(transactionId, owner, held.answer, fence)
    this.#bytes -= held.answer.body.length
    waiting.answer = undefined
    if (!isLate) return
    held.onLost()
    waiting.end = 'served'
  }
}
