/** A seller's records of passes: when each expires, and how many requests are left. */

/** A pass to issue. */
export type NewPass = {
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number
  /** When the pass expires. */
  readonly untilMs: number
  /** How many requests the pass opens; undefined if requests are not counted. */
  readonly requests: number | undefined
}

/** A pass as it was first recorded. */
export type IssuedPass = { readonly untilMs: number; readonly requestsLeft: number | undefined }

/** The result of {@link PassStore.take}. */
export type TakeResult =
  | { readonly type: 'taken'; readonly requestsLeft: number }
  /** All of its requests were made. */
  | { readonly type: 'used_up' }
  /** The pass was not issued here, or has expired. */
  | { readonly type: 'unknown' }

/**
 * A store of passes, shared by all replicas of a seller, keyed by the transaction id of the payment. A database needs
 * one table with a row for each pass: `issue` inserts it if it is missing, `take` is one conditional update.
 */
export type PassStore = {
  /**
   * Records a pass, and returns it as first recorded, so that repeating a payment makes its pass neither longer nor
   * larger. A record is kept until the pass has expired and the claim of its payment is forgotten.
   */
  readonly issue: (id: string, pass: NewPass) => Promise<IssuedPass> | IssuedPass
  /** Takes one request, atomically: of concurrent calls exactly as many succeed as there are requests left. */
  readonly take: (id: string, nowMs: number) => Promise<TakeResult> | TakeResult
  /** Returns one request, for a handler that failed. Never returns more than were taken. */
  readonly giveBack: (id: string) => Promise<void> | void
}

/** How many passes are issued between two deletions of old ones. */
export const cleanEvery = 1_000

type Entry = { readonly untilMs: number; readonly requests: number | undefined; taken: number }

/** Passes in memory, for a seller with one process. */
export class MemoryPasses implements PassStore {
  readonly #entries = new Map<string, Entry>()
  readonly #isClaimed: (id: string) => boolean
  #count = 0

  /** @param isClaimed whether the payment of a pass can still be sent again */
  constructor(isClaimed: (id: string) => boolean) {
    this.#isClaimed = isClaimed
  }

  issue(id: string, { nowMs, untilMs, requests }: NewPass): IssuedPass {
    if (++this.#count % cleanEvery === 0) this.#clean(nowMs)
    const known = this.#entries.get(id)
    if (known !== undefined) return { untilMs: known.untilMs, requestsLeft: leftOf(known) }
    this.#entries.set(id, { untilMs, requests, taken: 0 })
    return { untilMs, requestsLeft: requests }
  }

  take(id: string, nowMs: number): TakeResult {
    const known = this.#entries.get(id)
    const left = known === undefined || known.untilMs <= nowMs ? undefined : leftOf(known)
    if (left === undefined) return { type: 'unknown' }
    if (left === 0) return { type: 'used_up' }
    known!.taken++
    return { type: 'taken', requestsLeft: left - 1 }
  }

  giveBack(id: string): void {
    const known = this.#entries.get(id)
    if (known !== undefined && known.taken > 0) known.taken--
  }

  #clean(nowMs: number): void {
    for (const [id, { untilMs }] of this.#entries) {
      if (untilMs <= nowMs && !this.#isClaimed(id)) this.#entries.delete(id)
    }
  }
}

function leftOf({ requests, taken }: Entry): number | undefined {
  return requests === undefined ? undefined : requests - taken
}
