/**
 * Looks for transactions in blocks that are too old for a lookup by id. A single search reads one block after the other
 * for all wanted transactions, so an expired payment needs no extra blocks while others are searched.
 */
import type { Algod } from '@latchkey/algod'
import { BoundedMap } from '@latchkey/algorand'

type Wanted = {
  readonly transactionId: string
  next: bigint
  readonly to: bigint
  readonly resolve: (round: bigint | undefined) => void
  readonly reject: (error: unknown) => void
}

/** Twice the longest validity. */
const maxBlocks = 2_048
/** Each fingerprint takes 8 bytes. */
const maxFingerprints = 1_000_000

export class BlockSearch {
  readonly #algod: Algod
  readonly #wanted = new Set<Wanted>()
  /** Fingerprints of the transactions in a block. A match is compared with the block itself. */
  readonly #blocks: BoundedMap<bigint, Float64Array>
  #fingerprints = 0
  #isRunning = false

  constructor(algod: Algod) {
    this.#algod = algod
    this.#blocks = new BoundedMap(maxBlocks, ({ length }) => {
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
