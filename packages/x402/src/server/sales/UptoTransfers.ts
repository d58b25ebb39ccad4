/**
 * Finds the transfers of authorizations for prices by usage on the ledger. No node knows the id of an authorization, but
 * its transfer holds the lease that the id names, so the blocks are read. Blocks are final, and each is read once.
 */
import { type Algod, AlgodError, type LeasedTransaction } from '@latchkey/algod'
import { BoundedMap, Bytes } from '@latchkey/algorand'
import { UptoPayment } from '@latchkey/x402-wire'
import type { Sale } from '../store/Sales.js'

/**
 * `absent`: none of the blocks up to the last round, or the last valid round, has the transfer. `isVoided`: another
 * transaction of the payer has used its lease. `unreadable`: no node, or
 * too few, have one of the blocks. `later`: too many blocks for one run.
 */
export type TransferSearch =
  | { readonly type: 'found'; readonly amount: bigint; readonly round: bigint }
  | { readonly type: 'absent'; readonly isVoided: boolean }
  | { readonly type: 'unreadable' | 'later' }

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
  /** The transactions with a lease, by round. */
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
    let isVoided = false
    for (let start = first; start <= end; start += blocksAtOnce) {
      const rounds: bigint[] = []
      for (let round = start; round < start + blocksAtOnce && round <= end; round++) rounds.push(round)
      if (this.#reads + rounds.length > maxBlocksPerRun) return { type: 'later' }
      const blocks = await Promise.all(rounds.map((round) => this.#read(round)))
      for (const [index, leases] of blocks.entries()) {
        if (leases === undefined) return { type: 'unreadable' }
        const transfer = leases.find((one) => isTransferOf(sale, one))
        if (transfer !== undefined) return { type: 'found', amount: transfer.amount, round: rounds[index]! }
        isVoided ||= leases.some((one) => isLeaseOf(sale, one))
      }
    }
    return { type: 'absent', isVoided }
  }

  async #read(round: bigint): Promise<readonly LeasedTransaction[] | undefined> {
    const known = this.#blocks.touch(round)
    if (known !== undefined) return known
    this.#reads++
    try {
      const leases = await this.#algod.leasesInBlock(round, this.#algod.quorum)
      if (this.#leases + leases.length <= maxKeptLeases) {
        this.#leases += leases.length
        this.#blocks.set(round, leases)
      }
      return leases
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
function isTransferOf(sale: Sale, leased: LeasedTransaction): boolean {
  const { payTo, asset, amount, lastValid } = sale
  return (
    isLeaseOf(sale, leased) &&
    leased.lastValid === BigInt(lastValid) &&
    leased.isAssetTransfer &&
    leased.receiver === payTo &&
    leased.assetId === BigInt(asset) &&
    leased.amount <= BigInt(amount)
  )
}

function isLeaseOf({ transactionId, payer }: Sale, { sender, lease }: LeasedTransaction): boolean {
  return sender === payer && lease === Bytes.toBase64(UptoPayment.leaseOfId(transactionId))
}
