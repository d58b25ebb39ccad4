/**
 * The claims of a seller: which payments have already opened a request, and the answers that their buyers do not have
 * yet.
 */
import { Bytes } from '@latchkey/algorand'
import { MemoryPasses, type PassStore } from './PassStore.js'
import { MemorySales, type Sale, type SaleStore } from './Sales.js'
import { MemoryUsage, type UsageStore } from './UsageStore.js'

/** The whole response of a handler, held for its buyer. */
export type HeldAnswer = {
  readonly status: number
  /** Names and values. A name may occur several times. */
  readonly headers: readonly (readonly [string, string])[]
  readonly body: Uint8Array
}

/** The size of an answer, including its headers. */
export function bytesOf({ headers, body }: HeldAnswer): number {
  return headers.reduce((sum, [name, value]) => sum + name.length + value.length, body.length)
}

/**
 * The result of a claim. With `new`, `again` and `held` the payment is claimed, and {@link ClaimStore.finish} ends the
 * claim.
 *
 * `fence` is a number from the store, higher than that of every earlier claim. Set by a store that has `renewals`.
 */
export type ClaimResult =
  /** The payment is seen for the first time. */
  | { readonly type: 'new'; readonly fence?: number | undefined }
  /**
   * The handler has not succeeded yet, and may run: the ledger had not decided, the handler failed, or the process
   * ended.
   */
  | { readonly type: 'again'; readonly fence?: number | undefined }
  /**
   * The handler succeeded, and must not run again. There is no answer if it was too large to be held, or if the process
   * ended after {@link ClaimRenewals.begin}. In the latter case, it is not known whether the handler succeeded.
   */
  | { readonly type: 'held'; readonly answer: HeldAnswer | undefined; readonly fence?: number | undefined }
  /** The same buyer's earlier request is being served now. */
  | { readonly type: 'busy' }
  /** The payment was used up, or belongs to another buyer or resource. */
  | { readonly type: 'taken' }
  /** Another payment of the same purchase was claimed before. Nothing is claimed. */
  | { readonly type: 'purchased'; readonly purchase: StoredPurchase }

/**
 * How serving ends: `served` uses the payment up, `open` lets the same buyer send it again, `forgotten` deletes the
 * claim as if the payment had never been sent.
 */
export type ClaimEnd = 'served' | 'open' | 'forgotten'

/**
 * A store of claims, shared by all replicas of a seller: `MemoryClaims`, `SqliteClaims` (`@latchkey/x402/sqlite`),
 * `PostgresClaims` (`@latchkey/x402/postgres`) and `RedisClaims` (`@latchkey/x402/redis`). Implement this type for
 * another database, with the decisions of {@link decideClaim}. A store for several machines uses the clock of its
 * database, not the times that it is given.
 */
export type ClaimStore = {
  /**
   * Identifies the claims. Stores that share claims have the same id, others never do. A store that lost its claims
   * gets another id. A facilitator binds payments to the id, and does not let the payments of lost claims open anything
   * again.
   */
  readonly id: string
  /** Whether a payment was claimed and not forgotten. */
  readonly has: (transactionId: string) => Promise<boolean> | boolean
  /** Claims a payment for one request, atomically: of concurrent calls at most one claims it. */
  readonly claim: (transactionId: string, lease: ClaimLease) => Promise<ClaimResult> | ClaimResult
  /**
   * Records that the handler succeeded, if `owner` still holds the claim, and keeps its answer. An answer without room
   * is not kept; served answers make room first. Returns false if the claim is lost, because another request has it or
   * it was forgotten.
   */
  readonly hold: (transactionId: string, owner: string, answer: HeldAnswer, fence?: number) => ClaimWrite
  /**
   * Ends the claim, if `owner` was the last to claim the payment. `open` is also valid after `served`, for an answer
   * that did not arrive. Returns false if another request has the claim.
   */
  readonly finish: (transactionId: string, owner: string, end: ClaimEnd, nowMs: number, fence?: number) => ClaimWrite
  /** Renews leases. Without renewals, leases last as long as a request can take. */
  readonly renewals?: ClaimRenewals | undefined
  /**
   * Whether `claim` supports purchases that buyers name. Routes cannot have `paymentIdentifier` without it.
   *
   * @default false
   */
  readonly hasPurchases?: boolean | undefined
  /** Stores passes. Routes cannot have passes without it. */
  readonly passes?: PassStore | undefined
  /** Stores metered work and unpaid payers. Routes cannot have prices by usage without it. */
  readonly usage?: UsageStore | undefined
  /** Stores sales, for the seller's page and for hooks that were not called. A store without it keeps none. */
  readonly sales?: SaleStore | undefined
  /** Releases the resources of the store. */
  readonly close: () => Promise<void> | void
}

/** The result of changing a claim: false if the claim is lost. A store without `renewals` may return nothing. */
export type ClaimWrite = Promise<boolean> | boolean | Promise<void> | void

/** A claim held by a request, as the store identifies it. */
export type HeldClaim = {
  readonly transactionId: string
  readonly owner: string
  /** The number that the store issued with the claim. */
  readonly fence: number
}

/**
 * The part of a claim store with which gates renew their leases. A store without it gets leases that last as long as a
 * request can take, and the claims of a killed gate are taken over only after that.
 *
 * A claim is held as long as its owner and fence are the stored ones and it was not ended. The claim stays held after
 * its lease, until another request claims the payment.
 */
export type ClaimRenewals = {
  /** Renews leases for `leaseMs` from now. Returns the owners of claims that are still held; the others are lost. */
  readonly renew: (
    claims: readonly HeldClaim[],
    leaseMs: number,
    nowMs: number,
  ) => Promise<readonly string[]> | readonly string[]
  /**
   * Records the start of a handler that must not run twice. After the lease has ended, the next claim gets `held`
   * without an answer. `hold` replaces the record. `finish` with `open` deletes it, because the handler failed. Returns
   * false if the claim is lost; the handler must then not run.
   */
  readonly begin: (claim: HeldClaim) => Promise<boolean> | boolean
}

/** How long, and for which request, a payment is claimed. */
export type ClaimLease = {
  /** The unique id of the request being served. */
  readonly owner: string
  /** The value that the first claim binds the payment to: a digest of the resource and the buyer. */
  readonly binding: string
  /**
   * `secret`: the buyer has presented the secret that the binding names. `hash`: it has not, as with the first request
   * of a payment; such a claim cannot repeat an earlier one. `none`: the buyer has no secret.
   */
  readonly proof: 'none' | 'hash' | 'secret'
  /** The current time, in milliseconds since 1970. */
  readonly nowMs: number
  /** A claim that is older and was not renewed was left by a process that ended. */
  readonly leaseMs: number
  /** The canonical CAIP-2 id. */
  readonly network: string
  /** The current round of the network. Rounds, not clocks, decide how long a payment is valid. */
  readonly round: bigint
  /** After this round the gate refuses the payment even without the claim, which can be deleted. */
  readonly forgetRound: bigint
  /** The sale, recorded with the claim by a store that has `sales`. */
  readonly sale?: Sale | undefined
  /**
   * The purchase that the payment is for, if the buyer named one. The first payment that is claimed for a purchase is
   * the purchase as long as its claim is kept; a claim of another one gets `purchased`. A payment belongs to the first
   * purchase that it was claimed for. Checked and recorded atomically with the claim.
   */
  readonly purchase?: ClaimPurchase | undefined
}

/** A purchase, as a buyer names it. */
export type ClaimPurchase = {
  /** A digest of the payer and the name. */
  readonly key: string
  /** A digest of the price and the request. */
  readonly fingerprint: string
  /** The payment, with which a later request can have it settled. */
  readonly payload: string
  /**
   * Whether a request that is being served is left to its owner, although its answer is held: `busy` instead of `held`.
   *
   * @default false
   */
  readonly isPatient?: boolean | undefined
  /** An earlier payment of the purchase that can never be settled. This payment takes its place. */
  readonly replaces?: string | undefined
}

/** The first payment of a purchase. */
export type StoredPurchase = {
  readonly transactionId: string
  readonly fingerprint: string
  /** The binding of the payment's claim. */
  readonly binding: string
  readonly payload: string
}

/** A claim in a store. */
export type StoredClaim = {
  readonly state: 'serving' | 'open' | 'served'
  /** Empty for a claim of an older version. The next claim then sets the binding. */
  readonly binding: string
  readonly untilMs: number
  /** Whether the handler succeeded. */
  readonly isDone: boolean
  readonly hasAnswer: boolean
}

/** How long an answer is kept after it was served, for a buyer whose connection broke. */
export const keepServedMs = 5 * 60_000

/** Decides the result of a claim from the stored one. */
export function decideClaim(
  known: StoredClaim | undefined,
  lease: ClaimLease,
): Exclude<ClaimResult['type'], 'purchased'> {
  if (known === undefined) return 'new'
  const isBound = known.binding !== ''
  if (isBound && (known.binding !== lease.binding || lease.proof === 'hash')) return 'taken'
  // A buyer without a secret cannot be distinguished from one who has read the payment from the ledger since.
  const isReady = isBound && known.hasAnswer && lease.proof === 'secret'
  const isPatient = lease.purchase?.isPatient === true
  // The process that has the claim may have ended. If it has not, both send the same answer to the same buyer.
  if (known.state === 'serving' && known.untilMs >= lease.nowMs)
    return known.isDone && isReady && !isPatient ? 'held' : 'busy'
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
  /** Whether the claim counts as done only because its handler began. */
  isBegun: boolean
  /** The key of its purchase. */
  purchase: string | undefined
}

/** Options of {@link MemoryClaims}. */
export type MemoryClaimsOptions = {
  /**
   * The total size of held answers, in bytes.
   *
   * @default 64 MiB
   */
  maxHeldBytes?: number | undefined
  /**
   * How many sales are kept. Totals by day and route continue to count.
   *
   * @default 10_000
   */
  maxSales?: number | undefined
}

/** Claims in memory, for a seller with one process. */
export class MemoryClaims implements ClaimStore {
  readonly id = Bytes.toHex(Bytes.random(16))
  readonly passes = new MemoryPasses((transactionId) => this.has(transactionId))
  /** Keyed by network, because each has its own rounds. */
  readonly #networks = new Map<string, Map<string, Claim>>()
  readonly #answers: MemoryAnswers
  readonly #purchases = new Map<string, StoredPurchase>()
  readonly hasPurchases = true
  readonly usage = new MemoryUsage()
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
    const named = lease.purchase && this.#purchases.get(lease.purchase.key)
    if (named !== undefined && isOther(named, transactionId, lease.purchase!))
      return { type: 'purchased', purchase: named }
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
    const purchase = known?.purchase ?? lease.purchase?.key
    const state = 'serving'
    const claim: Claim = { owner, fence, binding, state, untilMs, forgetRound, isDone, isBegun: false, purchase }
    claims.set(transactionId, claim)
    if (lease.purchase !== undefined && lease.purchase.key === purchase) {
      const { fingerprint, payload } = lease.purchase
      this.#purchases.set(purchase, { transactionId, fingerprint, binding, payload })
    }
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
        this.#delete(claims, transactionId, known)
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

  /** The oldest claims come first, so the loop ends with the first one that is still needed. */
  #forget(claims: Map<string, Claim>, round: bigint): void {
    for (const [transactionId, claim] of claims) {
      if (claim.forgetRound >= round) return
      this.#delete(claims, transactionId, claim)
    }
  }

  #delete(claims: Map<string, Claim>, transactionId: string, { purchase }: Claim): void {
    claims.delete(transactionId)
    this.#answers.delete(transactionId)
    if (purchase !== undefined && this.#purchases.get(purchase)?.transactionId === transactionId) {
      this.#purchases.delete(purchase)
    }
  }
}

/** Whether another payment is the purchase. */
export function isOther(stored: StoredPurchase, transactionId: string, { replaces }: ClaimPurchase): boolean {
  return stored.transactionId !== transactionId && stored.transactionId !== replaces
}

function isOf(known: Claim | undefined, owner: string, fence: number | undefined): known is Claim {
  return known?.owner === owner && (fence === undefined || known.fence === fence)
}

type Entry = { readonly answer: HeldAnswer; readonly bytes: number }

const defaultMaxBytes = 64 * 1024 * 1024

/** Held answers in memory, limited in total size. Served answers make room for others. */
class MemoryAnswers {
  readonly #maxBytes: number
  readonly #entries = new Map<string, Entry>()
  /** Served answers and when they are dropped, the oldest first. */
  readonly #served = new Map<string, number>()
  #bytes = 0

  constructor(maxBytes = defaultMaxBytes) {
    this.#maxBytes = maxBytes
  }

  get(id: string): HeldAnswer | undefined {
    return this.#entries.get(id)?.answer
  }

  add(id: string, answer: HeldAnswer): void {
    this.delete(id)
    const bytes = bytesOf(answer)
    if (bytes > this.#maxBytes) return
    for (const served of this.#served.keys()) {
      if (this.#bytes + bytes <= this.#maxBytes) break
      this.delete(served)
    }
    if (this.#bytes + bytes > this.#maxBytes) return
    this.#entries.set(id, { answer, bytes })
    this.#bytes += bytes
  }

  delete(id: string): void {
    this.#bytes -= this.#entries.get(id)?.bytes ?? 0
    this.#entries.delete(id)
    this.#served.delete(id)
  }

  /** Marks an answer as served, to be dropped at this time. */
  expireAt(id: string, atMs: number): void {
    this.#served.delete(id)
    if (this.#entries.has(id)) this.#served.set(id, atMs)
  }

  /** Keeps an answer until it is served. */
  keep(id: string): void {
    this.#served.delete(id)
  }

  expire(nowMs: number): void {
    for (const [id, atMs] of this.#served) {
      if (atMs > nowMs) return
      this.delete(id)
    }
  }
}
