/**
 * Waits for the next block of a network, once for all waiting settlements, and reads which of them are in it. This
 * takes two requests per block for any number of settlements. If no node supports waiting, settlements poll instead.
 */
import { type Algod, AlgodError } from '@latchkey/algod'
import * as Tracing from '@latchkey/algod/tracing'
import { BoundedMap } from '@latchkey/algorand'

/** The last round of a network. */
export class RoundClock {
  readonly #algod: Algod
  readonly #maxAgeMs: number
  #request: { startedMs: number; round: Promise<bigint> } | undefined
  /** The round that a node last reported; undefined before the first response. */
  seen: bigint | undefined

  /** @param maxAgeMs how long a round is reused, so that all waiting settlements share one request */
  constructor(algod: Algod, maxAgeMs: number) {
    this.#algod = algod
    this.#maxAgeMs = maxAgeMs
  }

  /** A recent round, never ahead of the ledger. */
  async lastRound(): Promise<bigint> {
    const now = performance.now()
    if (this.#request === undefined || now - this.#request.startedMs > this.#maxAgeMs) {
      this.#request = { startedMs: now, round: this.#algod.lastRound() }
    }
    const request = this.#request
    try {
      return this.observe(await request.round)
    } catch (error) {
      if (this.#request === request) this.#request = undefined
      throw error
    }
  }

  /** Records a round that a node reported. */
  observe(round: bigint): bigint {
    this.seen = round
    return round
  }
}

/** Called with the round whose block has the transaction, or with undefined if the transaction must be looked up. */
export type BlockListener = (round: bigint | undefined) => void

/** How long one request waits. Proxies end longer requests. */
const waitMs = 10_000
/** A wait that is this much overdue will never end: some runtimes drop work that no request waits for. */
const graceMs = 5_000
/** Blocks that come faster than this are read together. */
const minGapMs = 100
/** While blocks cannot be read, all waiting settlements are looked up one by one, at most this often. */
const unreadableGapMs = 1_000
/** How many blocks are read if several came at once, and after a pause in which none waited. */
const maxBlocks = 8n
const firstBlocks = 2n
/** How long waits are suspended after they failed. Doubles each time, up to a minute. */
const firstRetryMs = 1_000
const maxRetryMs = 60_000

export class BlockWatch {
  readonly #algod: Algod
  readonly #clock: RoundClock
  readonly #listeners = new Map<string, BlockListener>()
  /** The transactions of the latest blocks, because a settlement may begin to wait just after its block was read. */
  readonly #blocks = new BoundedMap<bigint, ReadonlySet<string>>(Number(maxBlocks))
  /** The latest round whose block was read. */
  #round: bigint | undefined
  /** The latest loop, and the time by which it must have shown that it runs. */
  #loop = { aliveUntilMs: 0 }
  #retryFromMs = 0
  #retryMs = firstRetryMs
  #cancel: (() => void) | undefined
  /** Whether the latest block could be read. */
  #isReadable = true

  constructor(algod: Algod, clock: RoundClock) {
    this.#algod = algod
    this.#clock = clock
  }

  /** Whether listeners are called after each block. False while nodes do not support waiting. */
  get isAvailable(): boolean {
    return performance.now() >= this.#retryFromMs
  }

  /** Returns a function that unsubscribes. The listener is called asynchronously, and may be called more than once. */
  subscribe(transactionId: string, listener: BlockListener): () => void {
    this.#listeners.set(transactionId, listener)
    const round = this.#find(transactionId)
    if (round !== undefined) queueMicrotask(() => this.#listeners.get(transactionId)?.(round))
    else this.#start()
    return () => {
      this.#listeners.delete(transactionId)
      if (this.#listeners.size === 0) this.#cancel?.()
    }
  }

  #find(transactionId: string): bigint | undefined {
    for (const [round, ids] of this.#blocks) if (ids.has(transactionId)) return round
    return undefined
  }

  #start(): void {
    if (!this.isAvailable || performance.now() < this.#loop.aliveUntilMs) return
    this.#loop = { aliveUntilMs: performance.now() + waitMs + graceMs }
    const loop = this.#loop
    // The loop outlives the settlement that started it, so it belongs to no trace.
    if (Tracing.isOn()) void Tracing.outside(() => this.#run(loop))
    else void this.#run(loop)
  }

  async #run(loop: { aliveUntilMs: number }): Promise<void> {
    try {
      await this.#catchUp()
      for (let isFirst = true; this.#listeners.size > 0 && loop === this.#loop; isFirst = false) {
        loop.aliveUntilMs = performance.now() + waitMs + graceMs
        const startedMs = performance.now()
        await this.#nextBlock(isFirst ? firstBlocks : maxBlocks)
        this.#retryMs = firstRetryMs
        const restMs = (this.#isReadable ? minGapMs : unreadableGapMs) - (performance.now() - startedMs)
        // The first wait catches up and returns immediately.
        if (restMs > 0 && !isFirst) await new Promise((resolve) => setTimeout(resolve, restMs))
      }
    } catch {
      this.#retryFromMs = performance.now() + this.#retryMs
      this.#retryMs = Math.min(2 * this.#retryMs, maxRetryMs)
      this.#callAll()
    } finally {
      loop.aliveUntilMs = 0
    }
    // A settlement may have subscribed while the last wait was being cancelled.
    if (this.#listeners.size > 0) this.#start()
  }

  /** The first settlement may be in the latest block, because it was looked up before this round was requested. */
  async #catchUp(): Promise<void> {
    if (this.#round === undefined) await this.#read(this.#clock.seen ?? (await this.#clock.lastRound()))
  }

  /**
   * @param most how many blocks are read; after a pause, the waiting settlements have already looked up earlier blocks
   */
  async #nextBlock(most: bigint): Promise<void> {
    const before = this.#round!
    const round = await this.#wait(before)
    if (round === undefined) return
    const first = round - before > most ? round - most + 1n : before + 1n
    for (let next = first; next <= round; next++) await this.#read(next)
  }

  /** The latest round after the wait; undefined if no block came, or no settlement waits anymore. */
  async #wait(before: bigint): Promise<bigint | undefined> {
    let isCancelled = false
    this.#cancel = () => {
      isCancelled = true
    }
    const onStart = (cancel: () => void): void => {
      this.#cancel = () => {
        isCancelled = true
        cancel()
      }
      if (isCancelled) cancel()
    }
    try {
      const round = await this.#algod.waitForBlock(before, { timeoutMs: waitMs, onStart })
      if (round !== undefined) this.#clock.observe(round)
      return round ?? (await this.#afterTimeout(before))
    } catch (error) {
      if (isCancelled) return undefined
      throw error
    } finally {
      this.#cancel = undefined
    }
  }

  /** No block came, or the ledger was reset, as development networks do. */
  async #afterTimeout(before: bigint): Promise<undefined> {
    const round = await this.#algod.lastRound()
    this.#clock.observe(round)
    if (round > before) throw new AlgodError('timeout', 'the node does not respond to a wait when a new block arrives')
    this.#round = round
    if (round < before) this.#blocks.clear()
  }

  async #read(round: bigint): Promise<void> {
    this.#round = round
    let ids: ReadonlySet<string>
    try {
      ids = new Set(await this.#algod.blockTransactionIds(round))
    } catch (error) {
      if (!(error instanceof AlgodError)) throw error
      this.#isReadable = false
      return this.#callAll()
    }
    this.#isReadable = true
    this.#blocks.set(round, ids)
    for (const [transactionId, listener] of this.#listeners) if (ids.has(transactionId)) listener(round)
  }

  #callAll(): void {
    for (const listener of [...this.#listeners.values()]) listener(undefined)
  }
}

type Wanted = {
  readonly transactionId: string
  next: bigint
  readonly to: bigint
  readonly resolve: (round: bigint | undefined) => void
  readonly reject: (error: unknown) => void
}

/** Twice the longest validity. */
const maxSearchedBlocks = 2_048
/** Each fingerprint takes 8 bytes. */
const maxFingerprints = 1_000_000

/**
 * Looks for transactions in blocks that are too old for a lookup by id. A single search reads one block after the other
 * for all wanted transactions, so an expired payment needs no extra blocks while others are searched.
 */
export class BlockSearch {
  readonly #algod: Algod
  readonly #wanted = new Set<Wanted>()
  /** Fingerprints of the transactions in a block. A match is compared with the block itself. */
  readonly #blocks: BoundedMap<bigint, Float64Array>
  #fingerprints = 0
  #isRunning = false

  constructor(algod: Algod) {
    this.#algod = algod
    this.#blocks = new BoundedMap(maxSearchedBlocks, ({ length }) => {
      this.#fingerprints -= length
    })
  }

  /**
   * Returns the round whose block has the transaction; undefined if none of the blocks has it.
   *
   * @throws AlgodError `not_found` if a block is on no node, `no_quorum` if it is on fewer than the quorum
   */
  find(transactionId: string, from: bigint, to: bigint): Promise<bigint | undefined> {
    if (from > to) return Promise.resolve(undefined)
    return new Promise((resolve, reject) => {
      this.#wanted.add({ transactionId, next: from, to, resolve, reject })
      if (!this.#isRunning) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#wanted.size > 0) {
      let round: bigint | undefined
      for (const { next } of this.#wanted) if (round === undefined || next < round) round = next
      await this.#searchBlock(round!)
    }
    this.#isRunning = false
  }

  async #searchBlock(round: bigint): Promise<void> {
    // Searches added while the block is read start with the next one.
    const here = [...this.#wanted].filter(({ next }) => next === round)
    const end = (one: Wanted, work: () => void): void => {
      this.#wanted.delete(one)
      work()
    }
    try {
      const found = await this.#among(here, round)
      for (const one of here) {
        if (found.has(one)) end(one, () => one.resolve(round))
        else if (round >= one.to) end(one, () => one.resolve(undefined))
        else one.next = round + 1n
      }
    } catch (error) {
      for (const one of here) end(one, () => one.reject(error))
    }
  }

  /** The searches whose transaction is in the block. */
  async #among(wanted: readonly Wanted[], round: bigint): Promise<Set<Wanted>> {
    // Round 0 has no transactions, and some nodes do not serve it.
    if (round === 0n) return new Set()
    const known = this.#blocks.get(round)
    const mayBeIn = known && wanted.filter(({ transactionId }) => known.includes(fingerprint(transactionId)))
    if (mayBeIn?.length === 0) return new Set()
    const ids = new Set(await this.#algod.blockTransactionIds(round, this.#algod.quorum))
    if (known === undefined) this.#remember(round, ids)
    return new Set(wanted.filter(({ transactionId }) => ids.has(transactionId)))
  }

  #remember(round: bigint, ids: ReadonlySet<string>): void {
    if (this.#fingerprints + ids.size > maxFingerprints) return
    this.#fingerprints += ids.size
    this.#blocks.set(round, Float64Array.from(ids, fingerprint))
  }
}

/** The first 50 bits of an id. */
function fingerprint(transactionId: string): number {
  let value = 0
  for (let index = 0; index < 10; index++) {
    const code = transactionId.charCodeAt(index)
    // Base32: A to Z, 2 to 7.
    value = value * 32 + (code >= 65 ? (code - 65) % 32 : 26 + ((code - 50) % 6))
  }
  return Number.isNaN(value) ? -1 : value
}
