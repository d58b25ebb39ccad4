/**
 * Finds the transfers of authorizations for prices by usage on the ledger. No node knows the id of an authorization, but
 * its transfer holds the lease that the id names, so the blocks are read. Blocks are final, and each is read once.
 */
import { type Algod, AlgodError, type LeasedTransaction } from '@latchkey/algod'
import { BoundedMap, Bytes } from '@latchkey/algorand'
import { UptoPayment } from '@latchkey/x402-wire'
import type { Sale } from '../store/Sales.js'

/**
 * `absent`: none of the blocks up to the last round, or the last valid round, has the transfer. `unreadable`: no node, or
 * too few, have one of the blocks. `later`: too many blocks for one run.
 */
export type TransferSearch =
  | { readonly type: 'found'; readonly amount: bigint; readonly round: bigint }
  | { readonly type: 'absent' | 'unreadable' | 'later' }

/** Twice the longest validity, because authorizations of different ages are searched. */
const keptBlocks = 2_048
/** Anyone can fill blocks with leases. */
const maxKeptLeases = 100_000
const maxBlocksPerRun = 2_000
const blocksAtOnce = 8n

/** The node has no such block, too few nodes have it, or it is too large to be read. */
const unreadable: readonly string[] = ['not_found', 'no_quorum', 'too_large']

export class UptoTransfers {
  readonly #algod: Pick<Algod, 'leasesInBlock' | 'quorum'>
  /** The asset transfers with a lease, by round. */
  readonly #blocks: BoundedMap<bigint, readonly LeasedTransaction[]>
  #leases = 0
  #lastRound = 0n
  #reads = 0

  constructor(algod: Pick<Algod, 'leasesInBlock' | 'quorum'>) {
    this.#algod = algod
    this.#blocks = new BoundedMap(keptBlocks, ({ length }) => {
      this.#leases -= length
    })
  }

  /** Begins a run, in which a limited number of blocks is read. */
  beginRun(): void {
    this.#reads = 0
  }

  /** @throws AlgodError if no node responds */
  async find(sale: Sale, lastRound: bigint): Promise<TransferSearch> {
    if (lastRound < this.#lastRound) this.#forget()
    this.#lastRound = lastRound
    const [first, last] = [BigInt(Math.max(sale.firstValid, 1)), BigInt(sale.lastValid)]
    const end = last < lastRound ? last : lastRound
    for (let start = first; start <= end; start += blocksAtOnce) {
      const rounds: bigint[] = []
      for (let round = start; round < start + blocksAtOnce && round <= end; round++) rounds.push(round)
      if (this.#reads + rounds.length > maxBlocksPerRun) return { type: 'later' }
      const blocks = await Promise.all(rounds.map((round) => this.#read(round)))
      for (const [index, leases] of blocks.entries()) {
        if (leases === undefined) return { type: 'unreadable' }
        const transfer = leases.find((one) => isTransferOf(sale, one))
        if (transfer !== undefined) return { type: 'found', amount: transfer.amount, round: rounds[index]! }
      }
    }
    return { type: 'absent' }
  }

  async #read(round: bigint): Promise<readonly LeasedTransaction[] | undefined> {
    const known = this.#blocks.touch(round)
    if (known !== undefined) return known
    this.#reads++
    try {
      const leases = await this.#algod.leasesInBlock(round, this.#algod.quorum)
      const transfers = leases.filter(({ isAssetTransfer }) => isAssetTransfer)
      if (this.#leases + transfers.length <= maxKeptLeases) {
        this.#leases += transfers.length
        this.#blocks.set(round, transfers)
      }
      return transfers
    } catch (error) {
      if (error instanceof AlgodError && unreadable.includes(error.code)) return undefined
      throw error
    }
  }

  /** A ledger that is behind was reset, as development networks are. */
  #forget(): void {
    this.#blocks.clear()
    this.#leases = 0
  }
}

/**
 * Whether a transaction is the transfer of the authorization. The buyer can use the lease for another transaction, and with
 * another last valid round the authorized transfer can still follow.
 */
function isTransferOf(
  { transactionId, payer, payTo, asset, amount, lastValid }: Sale,
  leased: LeasedTransaction,
): boolean {
  return (
    leased.sender === payer &&
    leased.lease === Bytes.toBase64(UptoPayment.leaseOfId(transactionId)) &&
    leased.lastValid === BigInt(lastValid) &&
    leased.isAssetTransfer &&
    leased.receiver === payTo &&
    leased.assetId === BigInt(asset) &&
    leased.amount <= BigInt(amount)
  )
}
