/**
 * Limits the memory of all request bodies of a server together. A holder that was named has a quarter at most, and all
 * named holders together have half, as with connections, so that none of them keeps the owner's bodies out.
 */
import { BodyError } from './BodyReader.js'

const holderShare = 4
const holdersShare = 2

export class BodyBudget {
  readonly #total: number
  #used = 0
  #held = 0
  readonly #byHolder = new Map<string, number>()

  constructor(totalBytes: number) {
    this.#total = totalBytes
  }

  /** The memory in use, in bytes. */
  get used(): number {
    return this.#used
  }

  /**
   * Reserves memory for a body.
   *
   * @param holder the named holder whose token the request has
   * @throws {@link BodyError} `body_no_room`
   */
  reserve(bytes: number, holder: string | undefined): void {
    const held = holder === undefined ? 0 : (this.#byHolder.get(holder) ?? 0) + bytes
    const isTooMuch =
      this.#used + bytes > this.#total ||
      held > this.#total / holderShare ||
      (holder !== undefined && this.#held + bytes > this.#total / holdersShare)
    if (isTooMuch) throw new BodyError('body_no_room')
    this.#used += bytes
    if (holder === undefined) return
    this.#held += bytes
    this.#byHolder.set(holder, held)
  }

  /** Returns memory that was reserved for the same holder. */
  release(bytes: number, holder: string | undefined): void {
    this.#used -= bytes
    if (holder === undefined) return
    this.#held -= bytes
    const left = this.#byHolder.get(holder)! - bytes
    if (left > 0) this.#byHolder.set(holder, left)
    else this.#byHolder.delete(holder)
  }
}

/** The part of a budget that one request has. */
export class BodyReservation {
  readonly #budget: BodyBudget
  readonly #holder: string | undefined
  #bytes = 0

  constructor(budget: BodyBudget, holder: string | undefined) {
    this.#budget = budget
    this.#holder = holder
  }

  /** @throws {@link BodyError} `body_no_room` */
  readonly reserve = (bytes: number): void => {
    this.#budget.reserve(bytes, this.#holder)
    this.#bytes += bytes
  }

  /**
   * Reserves the memory of a body that has arrived, or wipes the body.
   *
   * @throws {@link BodyError} `body_no_room`
   */
  reserveFor(body: Buffer): Buffer {
    try {
      this.reserve(body.length)
    } catch (error) {
      body.fill(0)
      throw error
    }
    return body
  }

  /** Returns everything that was reserved. May be called twice. */
  release(): void {
    if (this.#bytes > 0) this.#budget.release(this.#bytes, this.#holder)
    this.#bytes = 0
  }
}
