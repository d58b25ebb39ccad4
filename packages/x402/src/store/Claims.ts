/** The claims of a seller: which payments opened a request already, and the answers that their buyers have not got yet. */
import { Bytes } from '@latchkey/algorand'
import type { ClaimRenewals, HeldClaim } from './ClaimRenewals.js'
import type { HeldAnswer } from './HeldAnswer.js'
import { MemoryAnswers } from './MemoryAnswers.js'
import { MemorySales } from './MemorySales.js'
import { MemoryPasses, type PassStore } from './PassStore.js'
import type { Sale, SaleStore } from './Sales.js'

/**
 * The result of a claim. With `new`, `again` and `held` the payment is claimed, and {@link ClaimStore.finish} ends it.
 *
 * `fence` is a number of the store, higher than that of every earlier claim: set by a store that has `renewals`.
 */
export type ClaimResult =
  /** The payment is seen for the first time. */
  | { readonly type: 'new'; readonly fence?: number | undefined }
  /** Its handler did not succeed yet, and may run: the ledger had not decided, it failed, or the process ended. */
  | { readonly type: 'again'; readonly fence?: number | undefined }
  /**
   * Its handler succeeded, and must not run again. There is no answer if it was too large to be held, or if the process ended
   * after {@link ClaimRenewals.begin}: whether the handler succeeded is not known then.
   */
  | { readonly type: 'held'; readonly answer: HeldAnswer | undefined; readonly fence?: number | undefined }
  /** The same buyer's earlier request is being served now. */
  | { readonly type: 'busy' }
  /** It was used up, or belongs to another buyer or resource. */
  | { readonly type: 'taken' }

/**
 * How serving ends: `served` uses the payment up, `open` lets the same buyer send it again, `forgotten` is as if it had
 * never been sent.
 */
export type ClaimEnd = 'served' | 'open' | 'forgotten'

/**
 * A store of claims, shared by all replicas of a seller: `MemoryClaims`, `SqliteClaims` (`@latchkey/x402/sqlite`),
 * `PostgresClaims` (`@latchkey/x402/postgres`) and `RedisClaims` (`@latchkey/x402/redis`). A store on another database
 * implements this type, and decides as {@link decideClaim} does. A store of several machines goes by the clock of its
 * database, not by the times that it is given.
 */
export type ClaimStore = {
  /**
   * Identifies the claims: stores that share them have the same, others never. A store that has lost them gets another one:
   * a facilitator binds payments to it, and does not let the payments of lost claims open anything again.
   */
  readonly id: string
  /** Whether a payment was claimed, and not forgotten. */
  readonly has: (transactionId: string) => Promise<boolean> | boolean
  /** Claims a payment for one request, atomically: of concurrent calls at most one claims it. */
  readonly claim: (transactionId: string, lease: ClaimLease) => Promise<ClaimResult> | ClaimResult
  /**
   * Records that the handler succeeded, if `owner` still holds the claim, and keeps its answer. One that has no room is
   * not kept; answers that were served make room first. Returns false if the claim is lost: another request has it, or it was
   * forgotten.
   */
  readonly hold: (transactionId: string, owner: string, answer: HeldAnswer, fence?: number) => ClaimWrite
  /**
   * Ends the claim, if `owner` was the last to claim it: `open` also after `served`, for an answer that did not arrive. Returns
   * false if another request has the claim.
   */
  readonly finish: (transactionId: string, owner: string, end: ClaimEnd, nowMs: number, fence?: number) => ClaimWrite
  /** Renews leases. Without it leases last as long as a request can take. */
  readonly renewals?: ClaimRenewals | undefined
  /** Where passes are recorded; without it routes cannot have any. */
  readonly passes?: PassStore | undefined
  /** What was sold: for the seller's page, and for hooks that were not told. A store without it keeps none. */
  readonly sales?: SaleStore | undefined
  /** Releases the resources of the store. */
  readonly close: () => Promise<void> | void
}

/** What a change of a claim returns: false if the claim is lost. A store without `renewals` may return nothing. */
export type ClaimWrite = Promise<boolean> | boolean | Promise<void> | void

/** For how long, and by what, a payment is claimed. */
export type ClaimLease = {
  /** A unique id of the request that is served. */
  readonly owner: string
  /** What the payment is bound to by its first claim: a digest of the resource, and of the buyer. */
  readonly binding: string
  /**
   * `secret`: the buyer has shown the secret that the binding names. `hash`: it has not, as with the first request of a
   * payment; such a claim repeats none. `none`: it has no secret.
   */
  readonly proof: 'none' | 'hash' | 'secret'
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number
  /** A claim that is older, and was not renewed, was left by a process that ended. */
  readonly leaseMs: number
  /** The canonical CAIP-2 id. */
  readonly network: string
  /** The current round of the network. Rounds, not clocks, decide how long a payment is valid. */
  readonly round: bigint
  /** After this round the gate refuses the payment without the claim, which can be deleted. */
  readonly forgetRound: bigint
  /** What is sold; recorded with the claim, by a store that has `sales`. */
  readonly sale?: Sale | undefined
}

/** A claim, as a store keeps it. */
export type StoredClaim = {
  readonly state: 'serving' | 'open' | 'served'
  /** Empty for a claim of an older version, which is bound by its next one. */
  readonly binding: string
  readonly untilMs: number
  /** Whether the handler succeeded. */
  readonly isDone: boolean
  readonly hasAnswer: boolean
}

/** How long an answer is kept after it was served, for a buyer whose connection broke. */
export const keepServedMs = 5 * 60_000

/** What a claim finds, given what is stored. */
export function decideClaim(known: StoredClaim | undefined, lease: ClaimLease): ClaimResult['type'] {
  if (known === undefined) return 'new'
  const isBound = known.binding !== ''
  if (isBound && (known.binding !== lease.binding || lease.proof === 'hash')) return 'taken'
  // A buyer without a secret cannot be told from one who has read the payment from the ledger since.
  const isReady = isBound && known.hasAnswer && lease.proof === 'secret'
  // The process that has the claim may have ended; if it has not, both send the same answer to the same buyer.
  if (known.state === 'serving' && known.untilMs >= lease.nowMs) return known.isDone && isReady ? 'held' : 'busy'
  if (known.state === 'served') return isReady ? 'held' : 'taken'
  return known.isDone ? 'held' : 'again'
}

type Claim = {
  owner: string
  fence: number
  binding: string
  state: StoredClaim['state']
  untilMs: number
  forgetRound: bigint
  isDone: boolean
  /** Whether it counts as done only because its handler began. */
  isBegun: boolean
}

/** Options of {@link MemoryClaims}. */
export type MemoryClaimsOptions = {
  /**
   * How many bytes of answers are held.
   *
   * @default 64 MiB
   */
  maxHeldBytes?: number | undefined
  /**
   * How many sales are kept. Sums by day and route go on counting.
   *
   * @default 10_000
   */
  maxSales?: number | undefined
}

/** Claims in memory, for a seller of one process. */
export class MemoryClaims implements ClaimStore {
  readonly id = Bytes.toHex(Bytes.random(16))
  readonly passes = new MemoryPasses((transactionId) => this.has(transactionId))
  /** By network: each has its own rounds. */
  readonly #networks = new Map<string, Map<string, Claim>>()
  readonly #answers: MemoryAnswers
  readonly sales: MemorySales
  readonly renewals: ClaimRenewals = {
    renew: (claims, leaseMs, nowMs) => this.#renew(claims, nowMs + leaseMs),
    begin: (claim) => this.#begin(claim),
  }
  #fence = 0

  constructor({ maxHeldBytes, maxSales }: MemoryClaimsOptions = {}) {
    this.sales = new MemorySales(maxSales, (transactionId) => this.has(transactionId))
    this.#answers = new MemoryAnswers(maxHeldBytes)
  }

  has(transactionId: string): boolean {
    return this.#find(transactionId) !== undefined
  }

  claim(transactionId: string, lease: ClaimLease): ClaimResult {
    const { owner, binding, nowMs, leaseMs, network, round, forgetRound } = lease
    const claims = this.#networks.get(network) ?? new Map<string, Claim>()
    this.#networks.set(network, claims)
    this.#answers.expire(nowMs)
    this.#forget(claims, round)
    const known = claims.get(transactionId)
    const answer = this.#answers.get(transactionId)
    const type = decideClaim(known && { ...known, hasAnswer: answer !== undefined }, lease)
    if (type === 'busy' || type === 'taken') return { type }
    this.#answers.keep(transactionId)
    if (lease.sale !== undefined) this.sales.record([lease.sale])
    claims.delete(transactionId)
    const fence = ++this.#fence
    const untilMs = nowMs + leaseMs
    const isDone = known?.isDone ?? false
    const claim = { owner, fence, binding, state: 'serving', untilMs, forgetRound, isDone, isBegun: false } as const
    claims.set(transactionId, { ...claim })
    return type === 'held' ? { type, answer, fence } : { type, fence }
  }

  hold(transactionId: string, owner: string, answer: HeldAnswer, fence?: number): boolean {
    const known = this.#find(transactionId)
    if (!isOf(known, owner, fence)) return false
    known.isDone = true
    known.isBegun = false
    this.#answers.add(transactionId, answer)
    return true
  }

  finish(transactionId: string, owner: string, end: ClaimEnd, nowMs: number, fence?: number): boolean {
    for (const claims of this.#networks.values()) {
      const known = claims.get(transactionId)
      if (!isOf(known, owner, fence)) continue
      if (end === 'forgotten') {
        claims.delete(transactionId)
        this.#answers.delete(transactionId)
        return true
      }
      known.state = end
      if (end === 'open' && known.isBegun) {
        known.isDone = false
        known.isBegun = false
      }
      if (end === 'served') this.#answers.expireAt(transactionId, nowMs + keepServedMs)
      else this.#answers.keep(transactionId)
      return true
    }
    return !this.has(transactionId)
  }

  close(): void {}

  /** How many claims are held. */
  get size(): number {
    return [...this.#networks.values()].reduce((sum, { size }) => sum + size, 0)
  }

  #renew(claims: readonly HeldClaim[], untilMs: number): string[] {
    return claims.flatMap(({ transactionId, owner, fence }) => {
      const known = this.#find(transactionId)
      if (!isOf(known, owner, fence) || known.state !== 'serving') return []
      known.untilMs = untilMs
      return owner
    })
  }

  #begin({ transactionId, owner, fence }: HeldClaim): boolean {
    const known = this.#find(transactionId)
    if (!isOf(known, owner, fence) || known.state !== 'serving') return false
    if (!known.isDone) known.isBegun = true
    known.isDone = true
    return true
  }

  #find(transactionId: string): Claim | undefined {
    for (const claims of this.#networks.values()) {
      const known = claims.get(transactionId)
      if (known !== undefined) return known
    }
    return undefined
  }

  /** The oldest claims come first, so the loop ends with the first that is still needed. */
  #forget(claims: Map<string, Claim>, round: bigint): void {
    for (const [transactionId, { forgetRound }] of claims) {
      if (forgetRound >= round) return
      claims.delete(transactionId)
      this.#answers.delete(transactionId)
    }
  }
}

function isOf(known: Claim | undefined, owner: string, fence: number | undefined): known is Claim {
  return known?.owner === owner && (fence === undefined || known.fence === fence)
}
