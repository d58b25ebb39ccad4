/**
 * Sums one agent's spending for each of its limits, in memory. The file holds the same data; this is faster. Reservations
 * from before the start are in memory as the sums of blocks, and a block's amounts are read when a window ends within it.
 */
import { type Limit, type Period, quantityOf, type Rules } from '@latchkey/kmd-api/rules'
import type { LimitUse } from './AgentsApi.js'
import { maxInteger, type Sums } from './Decision.js'

/** The amounts of a reservation that count against limits. */
export type Counted = {
  readonly atMs: number
  readonly network: string
  readonly payee: string | undefined
  readonly microAlgos: bigint
  readonly assetId: bigint
  readonly assetAmount: bigint
}

/** Identifies a series. Limits that differ only in their period share one. */
export type SeriesOf = Pick<Limit, 'network' | 'payee'> & { readonly assetId: bigint | undefined }

/** Consecutive reservations, by number, of which only the sum is in memory. They never get more, but amounts may shrink. */
export type Block = {
  readonly from: number
  /** The number after the last one. */
  readonly to: number
  /** The time of the last one, returned or not. */
  readonly lastMs: number
}

/** An amount of a series. */
export type Amount = { readonly atMs: number; readonly amount: bigint }

/** Reads the amounts of a block from the file, as it is now, ordered by time. */
export type ReadBlock = (series: SeriesOf, block: Block) => readonly Amount[]

/** A reservation that is returned or reduced. */
export type Numbered = Counted & { readonly number: number }

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const windows: { readonly [period in Period]?: number } = {
  hour: hourMs,
  day: dayMs,
  week: 7 * dayMs,
  '30days': 30 * dayMs,
}

/** The longest rolling window. */
export const longestWindowMs = 30 * dayMs

export class AgentSums implements Sums {
  readonly #series = new Map<string, { of: SeriesOf; series: Series }>()

  constructor({ limits }: Pick<Rules, 'limits'>, readBlock: ReadBlock) {
    for (const limit of limits) {
      const key = keyOf(limit)
      if (limit.per !== 'payment' && !this.#series.has(key)) {
        const of = seriesOf(limit)
        this.#series.set(key, { of, series: new Series((block) => readBlock(of, block)) })
      }
    }
  }

  /** The series: one for all limits that differ only in their period. */
  series(): readonly SeriesOf[] {
    return [...this.#series.values()].map(({ of }) => of)
  }

  /** Whether the series here also cover other rules. */
  covers({ limits }: Pick<Rules, 'limits'>): boolean {
    return limits.every((limit) => limit.per === 'payment' || this.#series.has(keyOf(limit)))
  }

  /** Adds the sum of amounts older than the longest window. Call this before adding anything else. */
  addBefore(series: SeriesOf, sum: bigint): void {
    this.#series.get(keyOfSeries(series))!.series.addBefore(sum)
  }

  /** Adds the sum of a block, ordered by number. Call this before adding newer amounts one by one. */
  addBlock(series: SeriesOf, block: Block, sum: bigint): void {
    if (sum > 0n) this.#series.get(keyOfSeries(series))!.series.addBlock(block, sum)
  }

  used(limit: Limit, nowMs: number): bigint {
    const { series } = this.#series.get(keyOf(limit))!
    const windowMs = windows[limit.per]
    return windowMs === undefined ? series.total : series.sumAfter(nowMs - windowMs)
  }

  freeAt(limit: Limit, most: bigint, nowMs: number): number | undefined {
    const windowMs = windows[limit.per]
    if (windowMs === undefined) return undefined
    const atMs = this.#series.get(keyOf(limit))!.series.fallsTo(most)
    return atMs === undefined ? undefined : Math.max(nowMs, atMs + windowMs)
  }

  /** A limit and its remaining budget. */
  use(limit: Limit, nowMs: number): LimitUse {
    const most = quantityOf(limit)
    if (limit.per === 'payment') return { limit, used: 0n, left: most, resetsAtMs: undefined }
    const used = this.used(limit, nowMs)
    const resetsAtMs = used === 0n ? undefined : this.freeAt(limit, used - 1n, nowMs)
    return { limit, used, left: used < most ? most - used : 0n, resetsAtMs }
  }

  /** Whether the amounts can be counted without overflow. */
  hasRoomFor(counted: Counted): boolean {
    for (const { of, series } of this.#series.values()) if (!series.hasRoomFor(amountIn(of, counted))) return false
    return counted.microAlgos <= maxInteger && counted.assetAmount <= maxInteger
  }

  /** @returns a function that removes the amounts again, valid only while nothing else was added */
  add(counted: Counted): () => void {
    const added: Series[] = []
    for (const { of, series } of this.#series.values()) {
      const amount = amountIn(of, counted)
      if (amount === 0n) continue
      series.forgetUpTo(counted.atMs - longestWindowMs)
      series.add(counted.atMs, amount)
      added.push(series)
    }
    return () => {
      for (const series of added) series.removeLast()
    }
  }

  giveBack(all: readonly Numbered[]): void {
    this.#reduce(all.map((counted) => ({ counted, left: undefined })))
  }

  /** Counts less than was added: only the amounts differ. */
  reduce(counted: Numbered, left: Counted): void {
    this.#reduce([{ counted, left }])
  }

  #reduce(all: readonly { counted: Numbered; left: Counted | undefined }[]): void {
    for (const { of, series } of this.#series.values()) {
      const amounts = all.map(({ counted, left }) => {
        const amount = amountIn(of, counted)
        const by = left === undefined ? amount : amount - amountIn(of, left)
        return { number: counted.number, atMs: counted.atMs, amount, by }
      })
      series.giveBack(amounts.filter(({ by }) => by !== 0n))
    }
  }
}

/** The part of a reservation that belongs to a series. */
export function amountIn({ network, payee, assetId }: SeriesOf, counted: Counted): bigint {
  if (network !== counted.network || (payee !== undefined && payee !== counted.payee)) return 0n
  if (assetId === undefined) return 1n
  if (assetId === 0n) return counted.microAlgos
  return assetId === counted.assetId ? counted.assetAmount : 0n
}

function seriesOf(limit: Limit): SeriesOf {
  const { network, payee } = limit
  return { network, payee, assetId: limit.type === 'count' ? undefined : limit.assetId }
}

const keys = new WeakMap<Limit, string>()

function keyOf(limit: Limit): string {
  const known = keys.get(limit)
  if (known !== undefined) return known
  const key = keyOfSeries(seriesOf(limit))
  keys.set(limit, key)
  return key
}

function keyOfSeries({ network, payee, assetId }: SeriesOf): string {
  return `${network} ${payee ?? ''} ${assetId ?? 'count'}`
}

/** The most that a series with a limit may reach. */
const mostTotal = 2n ** 63n - 1n
/** The most that an array of 64-bit integers holds. A series can exceed it before it has a limit. */
const mostStored = 2n ** 64n - 1n

/** An amount that was added, and how much of it is given back. */
type Returned = Amount & { readonly number: number; readonly by: bigint }

/**
 * Amounts ordered by time, with the sum of any period that ends now. Cumulative sums are kept, so that a period's sum
 * is a difference and its edge is found by bisection: a million amounts cost no more than a few. A block is one entry
 * with the time of its last reservation, until an edge falls on it and its amounts replace it.
 */
class Series {
  readonly #read: (block: Block) => readonly Amount[]
  /** By index: undefined, or beyond the end, for a single amount. */
  #blocks: (Block | undefined)[] = []
  #atMs = new Float64Array(16)
  #upTo: BigUint64Array | bigint[] = new BigUint64Array(16)
  #length = 0
  /** The sum of amounts older than the first one here. */
  #before = 0n

  constructor(read: (block: Block) => readonly Amount[]) {
    this.#read = read
  }

  /** Adds the sum of amounts that no window can reach. Call this before adding any amount. */
  addBefore(sum: bigint): void {
    if (this.#length > 0) throw new RangeError('older amounts are added first')
    this.#before += sum
  }

  /** Adds a block. Call this before adding single amounts. */
  addBlock(block: Block, sum: bigint): void {
    this.add(block.lastMs, sum)
    this.#blocks[this.#length - 1] = block
  }

  /** The sum of all amounts, including those older than any window. */
  get total(): bigint {
    return this.#length === 0 ? this.#before : this.#upTo[this.#length - 1]!
  }

  /** Whether the amount can be counted without overflow. */
  hasRoomFor(amount: bigint): boolean {
    return this.total + amount <= mostTotal
  }

  /** @param atMs not earlier than the last one */
  add(atMs: number, amount: bigint): void {
    if (this.#length === this.#atMs.length) this.#grow()
    const total = this.total + amount
    if (total > mostStored && this.#upTo instanceof BigUint64Array) this.#upTo = Array.from(this.#upTo)
    this.#atMs[this.#length] = atMs
    this.#upTo[this.#length] = total
    this.#length++
  }

  /** Removes the last amount, because it was not written. */
  removeLast(): void {
    this.#length--
  }

  /** Returns amounts that were added, or parts, in one pass, because each one changes all later cumulative sums. */
  giveBack(amounts: readonly Returned[]): void {
    const found = new Map<number, bigint>()
    let [removed, first] = [0n, this.#length]
    for (const { by, ...one } of amounts) {
      const inBlock = this.#findBlock(one)
      // Older amounts are part of the sum before the first.
      const isOld = inBlock === undefined && (this.#length === 0 || one.atMs < this.#atMs[0]!)
      const index = isOld ? 0 : (inBlock ?? this.#find(one, found))
      if (isOld) removed += by
      else found.set(index, (found.get(index) ?? 0n) + by)
      first = Math.min(first, index)
    }
    this.#before -= removed
    for (let index = first; index < this.#length; index++) {
      removed += found.get(index) ?? 0n
      this.#upTo[index]! -= removed
    }
  }

  /** The sum of the amounts after a time. */
  sumAfter(startMs: number): bigint {
    // Everything that follows a block is at least as late as its last reservation.
    this.#resolve(this.#firstAfter(startMs))
    return this.total - this.#sumBefore(this.#firstAfter(startMs))
  }

  /** The time of the amount after which the remaining sum is at most `most`. */
  fallsTo(most: bigint): number | undefined {
    if (most < 0n) return undefined
    while (this.#length > 0) {
      const index = this.#firstReaching(this.total - most)
      if (!this.#resolve(index)) return this.#atMs[index]
    }
    return undefined
  }

  /** Drops the amounts up to a time but keeps them in the total. Does nothing while there are few. */
  forgetUpTo(atMs: number): void {
    const first = this.#firstAfter(atMs)
    if (first < 1_000 || first < this.#length / 2) return
    this.#before = this.#sumBefore(first)
    this.#atMs.copyWithin(0, first, this.#length)
    this.#upTo.copyWithin(0, first, this.#length)
    this.#blocks.splice(0, first)
    this.#length -= first
  }

  /** Replaces a block by its amounts. False if there is no block at the index. */
  #resolve(index: number): boolean {
    const block = this.#blocks[index]
    if (block === undefined) return false
    const amounts = this.#read(block).filter(({ amount }) => amount > 0n)
    let upTo = this.#sumBefore(index)
    if (amounts.reduce((sum, { amount }) => sum + amount, upTo) !== this.#upTo[index]) {
      throw new RangeError(`reservations ${block.from} to ${block.to} do not have the sum that they had`)
    }
    while (this.#length + amounts.length > this.#atMs.length) this.#grow()
    this.#atMs.copyWithin(index + amounts.length, index + 1, this.#length)
    this.#upTo.copyWithin(index + amounts.length, index + 1, this.#length)
    for (const [at, { atMs, amount }] of amounts.entries()) {
      upTo += amount
      this.#atMs[index + at] = atMs
      this.#upTo[index + at] = upTo
    }
    this.#blocks.splice(index, 1, ...amounts.map(() => undefined))
    this.#length += amounts.length - 1
    return true
  }

  /** The index of the block that has the reservation. */
  #findBlock({ number, atMs }: Pick<Returned, 'number' | 'atMs'>): number | undefined {
    // A block has the time of its last reservation, which several blocks may share.
    for (let index = this.#firstAfter(atMs - 1); index < this.#blocks.length; index++) {
      const block = this.#blocks[index]
      if (block === undefined ? this.#atMs[index]! > atMs : block.from > number) return undefined
      if (block !== undefined && number < block.to) return index
    }
    return undefined
  }

  /** The index of a matching single amount that is not in `found`. Equal amounts are interchangeable. */
  #find({ atMs, amount }: Amount, found: ReadonlyMap<number, bigint>): number {
    for (let index = this.#firstAfter(atMs) - 1; index >= 0 && this.#atMs[index] === atMs; index--) {
      const isFree = this.#blocks[index] === undefined && !found.has(index)
      if (isFree && this.#upTo[index]! - this.#sumBefore(index) === amount) return index
    }
    throw new RangeError('an amount is given back that was not added')
  }

  #sumBefore(index: number): bigint {
    return index === 0 ? this.#before : this.#upTo[index - 1]!
  }

  /** The index of the first amount after a time. */
  #firstAfter(startMs: number): number {
    let [low, high] = [0, this.#length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#atMs[middle]! > startMs) high = middle
      else low = middle + 1
    }
    return low
  }

  /** The index of the first amount up to which the sum is at least `wanted`; else, of the last one. */
  #firstReaching(wanted: bigint): number {
    let [low, high] = [0, this.#length - 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#upTo[middle]! >= wanted) high = middle
      else low = middle + 1
    }
    return low
  }

  #grow(): void {
    const added = this.#atMs.length
    const atMs = new Float64Array(2 * added)
    atMs.set(this.#atMs)
    this.#atMs = atMs
    if (this.#upTo instanceof BigUint64Array) {
      const upTo = new BigUint64Array(2 * added)
      upTo.set(this.#upTo)
      this.#upTo = upTo
    } else this.#upTo.push(...new Array<bigint>(added).fill(0n))
  }
}
