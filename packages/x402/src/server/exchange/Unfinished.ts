/**
 * Ends claims, and retries if the store fails, so that a settled payment is answered even if the disk is full. An
 * answer that could not be stored waits here, and is stored before its claim ends.
 */
import type { ClaimEnd, ClaimStore } from '../store/Claims.js'
import type { HeldAnswer } from '../store/HeldAnswer.js'
import type { Lease, Renewals } from './Renewals.js'

const firstWaitMs = 1_000
const maxWaitMs = 60_000
/** About as long as the longest lease, after which the claim counts as abandoned. */
const maxTries = 50
/** The total size of answers that wait for the store. */
const maxWaitingBytes = 64 * 1024 * 1024

/** The end and the answer of a claim that could not be stored yet. */
type Waiting = { end: ClaimEnd | undefined; answer: WaitingAnswer | undefined }

export type WaitingAnswer = {
  readonly answer: HeldAnswer
  /**
   * The time, by `performance.now()`, after which the claim may belong to another request and the answer is dropped.
   */
  readonly untilMs: number
  /** Called when the answer is dropped. The answer must not be produced again, and its claim ends as served. */
  readonly onLost: () => void
}

export class Unfinished {
  readonly #claims: ClaimStore
  readonly #renewals: Renewals
  readonly #onError: (error: unknown) => void
  /** Keyed by owner. */
  readonly #waiting = new Map<string, Waiting>()
  #bytes = 0

  constructor(claims: ClaimStore, renewals: Renewals, onError: (error: unknown) => void) {
    this.#claims = claims
    this.#renewals = renewals
    this.#onError = onError
  }

  /**
   * Ends a claim, or ends it later if the store fails now or the answer is not stored yet. Never throws.
   *
   * @returns false if another request has the claim, or may have it
   */
  async finish(lease: Lease, end: ClaimEnd): Promise<boolean> {
    // The last end counts. An earlier end that is not stored yet is replaced.
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

  /** Stores an answer later. Its claim does not end before. Answers beyond the size limit are dropped. */
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
        // The end may have changed meanwhile.
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
