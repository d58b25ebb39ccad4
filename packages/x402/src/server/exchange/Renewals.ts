/**
 * The leases of a gate. Leases are short, and the gate renews them together while their requests are served. The claims
 * of a killed gate become free soon, and a gate that was cut off from the store knows that it may have lost its claims.
 */
import type { ClaimEnd, ClaimLease, ClaimResult, ClaimStore, HeldAnswer, HeldClaim } from '../store/Claims.js'

export type RenewalsOptions = {
  readonly claims: ClaimStore
  readonly onError: (error: unknown) => void
  /** @default 30 seconds */
  readonly leaseMs?: number | undefined
}

/** The claim of one request. */
export type Lease = {
  readonly transactionId: string
  readonly owner: string
  /** Undefined if the store issues no fences. */
  readonly fence: number | undefined
  /** When the lease was requested, by `performance.now()`. */
  readonly startMs: number
  /**
   * The end of the lease, by `performance.now()`. No other request can get the claim before, even if the store fails.
   */
  endMs: number
}

const defaultLeaseMs = 30_000
/** A lease can be renewed twice more if one renewal fails. */
const renewalsPerLease = 3
/** How soon a failed renewal is retried, as a fraction of the lease. */
const retriesPerLease = 15
const maxBatch = 500

export class Renewals {
  readonly #claims: ClaimStore
  readonly #onError: (error: unknown) => void
  readonly #leaseMs: number
  /** The leases to renew, by owner, with the time after which they are not renewed. */
  readonly #held = new Map<string, { readonly lease: Lease; readonly lastMs: number }>()
  #timer: ReturnType<typeof setTimeout> | undefined
  #isFailing = false

  constructor({ claims, onError, leaseMs = defaultLeaseMs }: RenewalsOptions) {
    this.#claims = claims
    this.#onError = onError
    this.#leaseMs = leaseMs
  }

  /** Claims a payment. `leaseMs` is the longest time that its request can take. The lease is not renewed after that. */
  async claim(transactionId: string, on: ClaimLease): Promise<{ result: ClaimResult; lease: Lease }> {
    const startMs = performance.now()
    const isRenewed = this.#claims.renewals !== undefined
    const leaseMs = isRenewed ? Math.min(this.#leaseMs, on.leaseMs) : on.leaseMs
    const result = await this.#claims.claim(transactionId, { ...on, leaseMs })
    const fence = 'fence' in result ? result.fence : undefined
    const lease = { transactionId, owner: on.owner, fence, startMs, endMs: startMs + leaseMs }
    const isClaimed = result.type === 'new' || result.type === 'again' || result.type === 'held'
    if (isClaimed && isRenewed) {
      this.#held.set(on.owner, { lease, lastMs: startMs + on.leaseMs })
      this.#schedule(this.#leaseMs / renewalsPerLease)
    }
    return { result, lease }
  }

  /** Whether no other request can have the claim. False if that is not known. */
  isHeld({ endMs }: Lease): boolean {
    return performance.now() < endMs
  }

  /**
   * Records the start of a handler that must not run twice.
   *
   * @returns false if another request has the claim; the handler must then not run
   */
  async begin({ transactionId, owner, fence }: Lease): Promise<boolean> {
    const { renewals } = this.#claims
    if (renewals === undefined || fence === undefined) return true
    return renewals.begin({ transactionId, owner, fence })
  }

  /** Stops renewing the lease, because the claim has ended. */
  release({ owner }: Lease): void {
    this.#held.delete(owner)
  }

  /** Uses one timer for all leases, because most requests end before it fires. */
  #schedule(ms: number): void {
    if (this.#timer !== undefined) return
    this.#timer = setTimeout(async () => {
      const isRenewed = await this.#renewAll()
      this.#timer = undefined
      if (this.#held.size === 0) return
      this.#schedule(this.#leaseMs / (isRenewed ? renewalsPerLease : retriesPerLease))
    }, ms)
    this.#timer.unref?.()
  }

  /** Never throws. A lease that is not renewed ends. */
  async #renewAll(): Promise<boolean> {
    const nowMs = performance.now()
    for (const [owner, { lastMs }] of this.#held) if (lastMs <= nowMs) this.#held.delete(owner)
    const leases = [...this.#held.values()].map(({ lease }) => lease)
    try {
      for (let index = 0; index < leases.length; index += maxBatch)
        await this.#renew(leases.slice(index, index + maxBatch))
      this.#isFailing = false
      return true
    } catch (error) {
      // Reported once, until renewals work again.
      if (!this.#isFailing) this.#onError(error)
      this.#isFailing = true
      return false
    }
  }

  async #renew(leases: readonly Lease[]): Promise<void> {
    const claims = leases.flatMap(({ transactionId, owner, fence }): HeldClaim[] =>
      fence === undefined ? [] : [{ transactionId, owner, fence }],
    )
    const endMs = performance.now() + this.#leaseMs
    const held = new Set(await this.#claims.renewals!.renew(claims, this.#leaseMs, Date.now()))
    for (const lease of leases) {
      if (held.has(lease.owner)) lease.endMs = endMs
      // This gate may have ended the claim meanwhile.
      else if (this.#held.delete(lease.owner)) lease.endMs = Number.NEGATIVE_INFINITY
    }
  }
}

const firstWaitMs = 1_000
const maxWaitMs = 60_000
/** About as long as the longest lease, after which the claim counts as abandoned. */
const maxTries = 50
/** The total size of answers that wait for the store. */
const maxWaitingBytes = 64 * 1024 * 1024

/** The end and the answer of a claim that could not be stored yet. */
type Waiting = { end: ClaimEnd | undefined; answer: WaitingAnswer | undefined }

type WaitingAnswer = {
  readonly answer: HeldAnswer
  /**
   * The time, by `performance.now()`, after which the claim may belong to another request and the answer is dropped.
   */
  readonly untilMs: number
  /** Called when the answer is dropped. The answer must not be produced again, and its claim ends as served. */
  readonly onLost: () => void
}

/**
 * Ends claims, and retries if the store fails, so that a settled payment is answered even if the disk is full. An
 * answer that could not be stored waits here, and is stored before its claim ends.
 */
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
