/**
 * The leases in a node's blocks, read once each, to find the charges of authorizations for prices by usage. The blocks
 * that were read form one range of rounds without gaps. Blocks are final, so the range is kept between searches.
 */
import { AlgodError, type LeasedTransaction } from '@latchkey/algod'
import { Bytes } from '@latchkey/algorand'
import type { LedgerClient } from '../api/NodeClient.js'
import type { Charge, OpenReservation } from './Reservations.js'

export type LeaseBlocksOptions = { readonly node: LedgerClient; readonly network: string }

/** `unknown`: the node does not have the blocks, now or ever. `later`: too many blocks for this run. */
export type Coverage = 'covered' | 'unknown' | 'later'

/** Blocks are read in pieces. After each piece, the node must still belong to the network. */
const blocksPerPiece = 50
/** Requests to the node at a time. */
const blocksAtOnce = 10
/** Per run. */
const maxBlocks = 2_000
/** Twice the longest validity, because authorizations of different ages share the range. */
const keptRounds = 2_100n

/** The node has no such block, its witnesses disagree about it, or it is too large to be read. */
const unreadable: readonly string[] = ['not_found', 'no_quorum', 'too_large']

type Found = { readonly leased: LeasedTransaction; readonly round: bigint }

export class LeaseBlocks {
  readonly #node: LedgerClient
  readonly #network: string
  /** The range that was read, both inclusive; undefined if none was. */
  #range: { readonly first: bigint; readonly last: bigint } | undefined
  /** By lease. */
  readonly #found = new Map<string, Found[]>()
  /** The number of blocks read in this run. */
  #count = 0

  constructor({ node, network }: LeaseBlocksOptions) {
    this.#node = node
    this.#network = network
  }

  isOf({ node, network }: LeaseBlocksOptions): boolean {
    return node === this.#node && network === this.#network
  }

  /** Begins a run. A ledger that is behind the range was started again, so nothing that was read counts. */
  begin(lastRound: bigint): void {
    this.#count = 0
    if (this.#range === undefined) return
    if (lastRound < this.#range.last) this.#forget()
    else this.#forgetBefore(lastRound - keptRounds)
  }

  /** Reads the blocks from one round to another that were not read yet. @throws AlgodError if no node responds */
  async cover(first: bigint, last: bigint): Promise<Coverage> {
    const range = this.#range
    // Blocks between two distant ranges are not needed.
    if (range !== undefined && (first > range.last + 1n || last < range.first - 1n)) this.#forget()
    for (;;) {
      const piece = this.#nextPiece(first, last)
      if (piece.length === 0) return 'covered'
      if (this.#count + piece.length > maxBlocks) return 'later'
      if (!(await this.#read(piece))) return 'unknown'
    }
  }

  /** The charge of the authorization in the blocks that were read. At most one transaction can match. */
  charge(reservation: OpenReservation): Charge | undefined {
    const { transactionId, uptoPayer, payee, assetId, assetAmount, firstValid, lastValid } = reservation
    const found = this.#found.get(Bytes.toBase64(transactionId))?.find(
      ({ leased, round }) =>
        leased.sender === uptoPayer &&
        // With another last valid round, the transaction does not keep the authorized one out of the ledger.
        leased.lastValid === lastValid &&
        leased.isAssetTransfer &&
        leased.receiver === payee &&
        leased.assetId === assetId &&
        leased.amount <= assetAmount &&
        round >= firstValid &&
        round <= lastValid,
    )
    return found && { amount: found.leased.amount, round: found.round }
  }

  /** The next rounds to read, adjacent to the range. */
  #nextPiece(first: bigint, last: bigint): bigint[] {
    const range = this.#range
    if (range === undefined || range.last < last) {
      const start = range === undefined ? first : range.last + 1n
      return roundsFrom(start, last)
    }
    if (range.first <= first) return []
    const start = range.first - BigInt(blocksPerPiece)
    return roundsFrom(start > first ? start : first, range.first - 1n)
  }

  /** Adds a piece to the range. Returns false if a block is unreadable or the node is now of another ledger. */
  async #read(rounds: readonly bigint[]): Promise<boolean> {
    const found: Found[] = []
    this.#count += rounds.length
    for (let start = 0; start < rounds.length; start += blocksAtOnce) {
      const some = rounds.slice(start, start + blocksAtOnce)
      const lists = await Promise.all(some.map((round) => this.#leasesOf(round)))
      for (const [index, leases] of lists.entries()) {
        if (leases === undefined) return false
        for (const leased of leases) found.push({ leased, round: some[index]! })
      }
    }
    const [first, last] = [rounds[0]!, rounds.at(-1)!]
    const { genesisHash, lastRound } = await this.#node.parameters()
    if (Bytes.toBase64(genesisHash) !== this.#network || lastRound < last) {
      this.#forget()
      return false
    }
    const range = this.#range ?? { first, last }
    this.#range = {
      first: first < range.first ? first : range.first,
      last: last > range.last ? last : range.last,
    }
    for (const one of found) {
      const { lease } = one.leased
      this.#found.set(lease, [...(this.#found.get(lease) ?? []), one])
    }
    return true
  }

  async #leasesOf(round: bigint): Promise<readonly LeasedTransaction[] | undefined> {
    try {
      return await this.#node.leasesInBlock(round)
    } catch (error) {
      if (error instanceof AlgodError && unreadable.includes(error.code)) return undefined
      throw error
    }
  }

  #forget(): void {
    this.#range = undefined
    this.#found.clear()
  }

  #forgetBefore(round: bigint): void {
    const { first, last } = this.#range!
    if (round <= first) return
    if (round > last) {
      this.#forget()
      return
    }
    this.#range = { first: round, last }
    for (const [lease, all] of this.#found) {
      const kept = all.filter((one) => one.round >= round)
      if (kept.length === 0) this.#found.delete(lease)
      else if (kept.length < all.length) this.#found.set(lease, kept)
    }
  }
}

/** At most a piece of the rounds. */
function roundsFrom(first: bigint, last: bigint): bigint[] {
  const rounds: bigint[] = []
  for (let round = first; round <= last && rounds.length < blocksPerPiece; round++) rounds.push(round)
  return rounds
}
