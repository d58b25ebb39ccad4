/** The latest blocks, indexed by transaction. Older ones are dropped, by number and by size. */
import * as Block from './Block.js'
import type { MapKey } from './MapKey.js'

export type HistoryLimits = { readonly blocks: number; readonly bytes: number }

/** Keeps all blocks. */
export const unlimited: HistoryLimits = { blocks: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }

/** The number of rounds in which nodes look up a transaction. */
const lookupRounds = 1_000n

export type Found = { readonly block: Block.Block; readonly transaction: Block.BlockTransaction }

export class History {
  readonly #limits: HistoryLimits
  readonly #blocks = new Map<bigint, Block.Block>()
  readonly #roundOf = new Map<MapKey, bigint>()
  #bytes = 0
  #oldest = 0n
  #last: Block.Block

  constructor(limits: HistoryLimits, first: Block.Block) {
    this.#limits = limits
    this.#last = first
    this.restore([first])
  }

  get last(): Block.Block {
    return this.#last
  }

  /** Whether all blocks are kept. */
  get isArchival(): boolean {
    return this.#limits.blocks === unlimited.blocks
  }

  /** The round of the oldest kept block. */
  get oldestRound(): bigint {
    return this.#oldest
  }

  block(round: bigint): Block.Block | undefined {
    return this.#blocks.get(round)
  }

  /** Finds a transaction in every kept block, without the limit of `find`. */
  roundOf(key: MapKey): bigint | undefined {
    return this.#roundOf.get(key)
  }

  find(key: MapKey): Found | undefined {
    const round = this.#roundOf.get(key)
    if (round === undefined || round + lookupRounds < this.#last.round) return undefined
    const block = this.#blocks.get(round)
    const transaction = block?.transactions.find((one) => one.key === key)
    return block === undefined || transaction === undefined ? undefined : { block, transaction }
  }

  add(block: Block.Block): void {
    this.#blocks.set(block.round, block)
    for (const { key } of block.transactions) this.#roundOf.set(key, block.round)
    this.#bytes += Block.sizeOf(block)
    this.#last = block
    while (this.#blocks.size > this.#limits.blocks || (this.#bytes > this.#limits.bytes && this.#blocks.size > 1)) {
      this.#dropOldest()
    }
  }

  /** All blocks, oldest first. */
  blocks(): Block.Block[] {
    return [...this.#blocks.values()]
  }

  restore(blocks: readonly Block.Block[]): void {
    this.#blocks.clear()
    this.#roundOf.clear()
    this.#bytes = 0
    this.#oldest = blocks[0]!.round
    for (const block of blocks) this.add(block)
  }

  #dropOldest(): void {
    const block = this.#blocks.get(this.#oldest)!
    this.#blocks.delete(this.#oldest)
    this.#oldest++
    this.#bytes -= Block.sizeOf(block)
    for (const { key } of block.transactions) this.#roundOf.delete(key)
  }
}
