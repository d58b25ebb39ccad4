/**
 * The catalogue of resources whose payments a facilitator settled. Payments only name a resource. Before a listing is
 * entered or replaced, the seller's own 402 must confirm the payment, and all text comes from there. The work happens
 * after settlements, in a queue with a limit, and never delays or fails one.
 */
import { BoundedMap } from '@latchkey/algorand'
import type { PaymentPayload } from '@latchkey/x402-wire'
import type { ErrorListener } from '../FacilitatorOptions.js'
import type { Listing, ListingCount, ListingPage, ListingQuery, ListingStore } from '../store/Listings.js'
import type { Settlement } from '../store/Settlements.js'
import type { DiscoveryOptions } from './DiscoveryOptions.js'
import type { FetchOffer } from './fetch-offer/FetchOffer.js'
import { claimOf, type ListingClaim } from './ListingClaim.js'
import { listingFrom, networkFacet, type SettledPayment } from './listingFrom.js'

export type CatalogueOptions = DiscoveryOptions & {
  readonly store: ListingStore
  readonly onError: ErrorListener
  /** Asks a seller for an offer. For tests. */
  readonly fetchOffer?: FetchOffer | undefined
}

const dayMs = 24 * 60 * 60 * 1000
const defaults = {
  allowPrivate: false,
  maxListings: 10_000,
  maxListingsPerPayTo: 100,
  maxListingsPerOrigin: 200,
  refreshMs: 60 * 60 * 1000,
  keepMs: 30 * dayMs,
}

/** Sellers are asked by this many requests at a time. */
const maxRunning = 4
const maxQueue = 1_000
const fetchMs = 5_000
/** How many requests a stranger can cause in ten minutes, by paying one account for resources at one server. */
const windowMs = 10 * 60 * 1000
const maxPerPair = 20
const maxPerPayTo = 100
const maxPerOrigin = 200
/** After a failure, the same payee and resource are not asked about again for this time. */
const failedMs = 10 * 60 * 1000
const maxRemembered = 10_000
const flushMs = 2_000
const maxCounts = 1_000
const forgetEveryMs = 60 * 60 * 1000
const maxQueriesPerSecond = 20
/** Queries at a time, which share the connections of a database with settlements. */
const maxFinding = 4

type Job = { readonly claim: ListingClaim; readonly payment: SettledPayment; count: number }
/** A confirmed listing, and the assets in which it can be paid. */
type Known = { readonly payTo: string; readonly confirmedMs: number; readonly assets: readonly string[] }
type Window = { readonly startMs: number; count: number }

export class Catalogue {
  readonly #options
  readonly #store: ListingStore
  readonly #onError: ErrorListener
  #fetchOffer: FetchOffer | undefined
  /** Jobs that wait or run, by key and payee. */
  readonly #jobs = new Map<string, Job>()
  readonly #waiting: string[] = []
  #running = 0
  readonly #known = new BoundedMap<string, Known>(maxRemembered)
  readonly #failed = new BoundedMap<string, number>(maxRemembered)
  readonly #windows = new BoundedMap<string, Window>(maxRemembered)
  /** Payments that were counted, because settling may be requested several times. */
  readonly #counted = new BoundedMap<string, true>(maxRemembered)
  readonly #counts = new Map<string, ListingCount>()
  readonly #stop = new AbortController()
  #flushTimer: ReturnType<typeof setTimeout> | undefined
  #forgottenMs = 0
  #queries = { second: 0, count: 0 }
  #finding = 0
  #idle: (() => void)[] = []

  constructor({ store, onError, fetchOffer, ...options }: CatalogueOptions) {
    const given = Object.entries(options).filter(([, value]) => value !== undefined)
    this.#options = { ...defaults, ...(Object.fromEntries(given) as Partial<typeof defaults>) }
    this.#store = store
    this.#onError = onError
    this.#fetchOffer = fetchOffer
  }

  /** Notes a settled payment. Never throws and never waits. */
  add(payload: PaymentPayload, settlement: Settlement): void {
    try {
      this.#add(payload, settlement)
    } catch (error) {
      this.#onError(error, { transactionId: settlement.transactionId })
    }
  }

  #add(payload: PaymentPayload, { transactionId, payTo, asset, network, amount }: Settlement): void {
    // A charge of 0 costs nothing, so it says nothing about a resource.
    if (amount === '0' || this.#stop.signal.aborted || this.#counted.has(transactionId)) return
    const claim = claimOf(payload)
    if (claim === undefined) return
    this.#counted.set(transactionId, true)
    const settledMs = Date.now()
    const known = this.#known.get(claim.key)
    if (known?.payTo === payTo && settledMs - known.confirmedMs < this.#options.refreshMs) {
      // A payment in another asset, which may be worthless, does not count.
      if (known.assets.includes(assetText(network, asset))) this.#count({ key: claim.key, payTo, count: 1, settledMs })
      return
    }
    const id = `${payTo} ${claim.key}`
    const job = this.#jobs.get(id)
    if (job !== undefined) {
      job.count++
      return
    }
    if ((this.#failed.get(id) ?? 0) > settledMs || this.#waiting.length >= maxQueue) return
    if (!this.#admit(claim.url.origin, payTo, settledMs)) return
    this.#jobs.set(id, { claim, payment: { payTo, asset, network, settledMs }, count: 1 })
    this.#waiting.push(id)
    this.#work()
  }

  /** Limits the requests that strangers can cause. */
  #admit(origin: string, payTo: string, nowMs: number): boolean {
    const limits = [
      [`payTo ${payTo}`, maxPerPayTo],
      [`origin ${origin}`, maxPerOrigin],
      [`pair ${payTo} ${origin}`, maxPerPair],
    ] as const
    const windows: Window[] = []
    for (const [name, limit] of limits) {
      const found = this.#windows.touch(name)
      const isCurrent = found !== undefined && Math.abs(nowMs - found.startMs) < windowMs
      const current = isCurrent ? found : { startMs: nowMs, count: 0 }
      // A refused listing is not remembered, so that it cannot evict an accepted one.
      if (current.count >= limit) return false
      if (!isCurrent) this.#windows.set(name, current)
      windows.push(current)
    }
    for (const current of windows) current.count++
    return true
  }

  #work(): void {
    while (this.#running < maxRunning && this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      const id = this.#waiting.shift()!
      this.#running++
      void this.#run(id, this.#jobs.get(id)!).finally(() => {
        this.#jobs.delete(id)
        this.#running--
        this.#work()
        if (this.#running === 0) for (const resolve of this.#idle.splice(0)) resolve()
      })
    }
  }

  /** Never rejects. */
  async #run(id: string, job: Job): Promise<void> {
    try {
      const isConfirmed = await this.#confirm(job)
      this.#jobs.delete(id)
      if (!isConfirmed) this.#failed.set(id, Date.now() + failedMs)
      await this.#forget()
    } catch (error) {
      this.#failed.set(id, Date.now() + failedMs)
      if (!this.#stop.signal.aborted) this.#onError(error)
    }
  }

  async #confirm(job: Job): Promise<boolean> {
    const { claim, payment } = job
    const { refreshMs } = this.#options
    const { payTo, settledMs } = payment
    const stored = await this.#store.get(claim.key)
    const isFresh = stored?.payTo === payTo && settledMs - stored.confirmedMs < refreshMs
    if (isFresh) {
      const known = knownOf(stored)
      this.#known.set(claim.key, known)
      const isCounted = known.assets.includes(assetText(payment.network, payment.asset))
      if (isCounted) this.#count({ key: claim.key, payTo, count: job.count, settledMs })
      return true
    }
    const required = await this.#offer(claim)
    const confirmation = required === undefined ? undefined : listingFrom(required, claim, payment)
    if (confirmation?.type === 'undescribed') await this.#store.delete(confirmation.key)
    if (confirmation?.type !== 'listed') return false
    const { maxListings: total, maxListingsPerPayTo: perPayTo, maxListingsPerOrigin: perOrigin } = this.#options
    const listing = { ...confirmation.listing, settleCount: job.count }
    const isEntered = await this.#store.put(listing, { total, perPayTo, perOrigin })
    if (!isEntered) return false
    this.#known.set(listing.key, knownOf(listing))
    const meanwhile = job.count - listing.settleCount
    if (meanwhile > 0) this.#count({ key: listing.key, payTo, count: meanwhile, settledMs })
    return true
  }

  /** The 402 of the seller; undefined if the seller cannot be asked, which is not an error of the facilitator. */
  async #offer({ url, method, tool }: ListingClaim) {
    this.#fetchOffer ??= (await import('#fetch-offer')).fetchOffer
    const { allowPrivate } = this.#options
    const { signal } = this.#stop
    return this.#fetchOffer({ url, method, tool, allowPrivate, timeoutMs: fetchMs, signal }).catch(() => undefined)
  }

  #count(one: ListingCount): void {
    const id = `${one.payTo} ${one.key}`
    const before = this.#counts.get(id)
    if (before === undefined && this.#counts.size >= maxCounts) return
    this.#counts.set(id, { ...one, count: one.count + (before?.count ?? 0) })
    if (this.#flushTimer !== undefined) return
    this.#flushTimer = setTimeout(() => void this.#flush(), flushMs)
    if (typeof this.#flushTimer === 'object') this.#flushTimer.unref()
  }

  async #flush(): Promise<void> {
    clearTimeout(this.#flushTimer)
    this.#flushTimer = undefined
    const counts = [...this.#counts.values()]
    this.#counts.clear()
    if (counts.length === 0) return
    try {
      await this.#store.count(counts)
    } catch (error) {
      this.#onError(error)
    }
  }

  async #forget(): Promise<void> {
    const now = Date.now()
    if (Math.abs(now - this.#forgottenMs) < forgetEveryMs) return
    this.#forgottenMs = now
    await this.#store.forgetBefore(now - this.#options.keepMs)
  }

  /**
   * The listings that match; undefined if there are too many queries in this second. A query reads all listings, which
   * must not slow down settlements.
   */
  async find(query: Omit<ListingQuery, 'sinceMs'>): Promise<ListingPage | undefined> {
    const second = Math.floor(performance.now() / 1000)
    if (this.#queries.second !== second) this.#queries = { second, count: 0 }
    if (this.#finding >= maxFinding || ++this.#queries.count > maxQueriesPerSecond) return undefined
    this.#finding++
    try {
      return await this.#store.find({ ...query, sinceMs: Date.now() - this.#options.keepMs })
    } finally {
      this.#finding--
    }
  }

  /** Resolves when no seller is being asked. For tests. */
  async idle(): Promise<void> {
    if (this.#running > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
    await this.#flush()
  }

  /** Ends the requests to sellers. Settlements that are not catalogued yet are left out. */
  async stop(): Promise<void> {
    if (this.#stop.signal.aborted) return
    this.#stop.abort()
    this.#waiting.length = 0
    await this.idle()
  }
}

function knownOf({ payTo, confirmedMs, content }: Listing): Known {
  const offers = content.accepts.filter((offer) => offer.payTo === payTo)
  return { payTo, confirmedMs, assets: offers.map(({ network, asset }) => assetText(network, asset)) }
}

function assetText(network: string, asset: string): string {
  return `${networkFacet(network)} ${asset}`
}
