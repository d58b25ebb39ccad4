/** Searches of the ledger, block by block, for payments that nodes do not find by an id. */
import { BoundedMap } from '@latchkey/algorand'

/** The searches that are continued where they broke off. An older one starts again. */
const maxSearches = 1_000
/** How many blocks are requested concurrently. */
const blocksAtOnce = 16n

/**
 * Calls for the same payment share one search, and a search that a node broke off continues at the blocks that could not
 * be read. Otherwise nodes that fail now and then would end every search before its last block.
 */
export class BlockSearches {
  readonly #running = new Map<string, Promise<unknown>>()
  /** The first block that was not searched yet, by payment. */
  readonly #next = new BoundedMap<string, bigint>(maxSearches)

  /**
   * Returns the first thing that is found in blocks; undefined if it is in none of them.
   *
   * @param blocks the first and the last round; the ledger must be past the last one
   * @param read looks into the block of a round, always for the same thing with one id
   * @throws whatever `read` throws
   */
  find<T>(
    id: string,
    blocks: readonly [first: bigint, last: bigint],
    read: (round: bigint) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const running = this.#running.get(id) as Promise<T | undefined> | undefined
    if (running !== undefined) return running
    const search = this.#search(id, blocks, read).finally(() => this.#running.delete(id))
    this.#running.set(id, search)
    return search
  }

  async #search<T>(
    id: string,
    [first, last]: readonly [bigint, bigint],
    read: (round: bigint) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    for (let next = this.#next.get(id) ?? first; next <= last; next += blocksAtOnce) {
      this.#next.set(id, next)
      const rounds: bigint[] = []
      for (let round = next; round < next + blocksAtOnce && round <= last; round++) rounds.push(round)
      const found = (await Promise.all(rounds.map(read))).find((one) => one !== undefined)
      if (found === undefined) continue
      this.#next.delete(id)
      return found
    }
    this.#next.delete(id)
    return undefined
  }
}
