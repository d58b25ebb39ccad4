/**
 * Decides whether the payer is at fault for a charge that was not settled. A code of a facilitator alone proves nothing:
 * the facilitator or the seller can be the cause. The ledger proves that a payer has withdrawn its authorization.
 */
import type { Chain } from '../../chain/Chain.js'
import { type TransferSearch, UptoTransfers } from '../sales/UptoTransfers.js'
import type { Sale } from '../store/Sales.js'
import type { LedgerPayment } from './Payment.js'

/**
 * The cause of a failed settlement, by its code. `ledger`: the ledger rejects the transfer, for a reason that is not the
 * facilitator's. `seller`: the facilitator, the seller, or the time that they took. `unknown`: the ledger must be asked.
 */
export type FailureCause = 'ledger' | 'seller' | 'unknown'

/** Reasons of the seller or its facilitator: the authorization was verified with the same terms before the work. */
const sellerCodes =
  /^(facilitator_.*|settlement_pending|unexpected_.*|duplicate_settlement|payment_already_(claimed|used)|invalid_payment_requirements|invalid_upto_avm_(payload|scheme|program|lease|invalid_signature|[a-z]+_mismatch|settlement_exceeds_amount|payload_validity))$/

export function failureCause(code: string): FailureCause {
  if (code === 'invalid_upto_avm_simulation_failed') return 'ledger'
  return sellerCodes.test(code) ? 'seller' : 'unknown'
}

/** A charge that was not settled. */
export type FailedCharge = { readonly payment: LedgerPayment; readonly sale: Sale; readonly charge: bigint }

/**
 * What the ledger proves. `charged`: the transfer is in a block. `withdrawn`: it is not, and the payer spent the money,
 * changed its key, or used the lease. `blocked`: the receiver cannot be paid, or the asset is frozen. `nothing`: the
 * transfer seems possible, or the authorization has expired.
 */
export type Evidence = 'charged' | 'withdrawn' | 'blocked' | 'nothing'

export class Withdrawals {
  /** Keyed by network. */
  readonly #transfers = new Map<string, UptoTransfers>()
  #searches: Promise<unknown> = Promise.resolve()

  /** Begins a run, in which a limited number of blocks is read. */
  beginRun(): void {
    for (const transfers of this.#transfers.values()) transfers.beginRun()
  }

  /**
   * Searches the blocks for the transfer, one search at a time, so that each block is read once.
   *
   * @throws AlgodError if no node responds
   */
  find({ caip2, algod }: Chain, sale: Sale, lastRound: bigint): Promise<TransferSearch> {
    const transfers = this.#transfers.get(caip2) ?? new UptoTransfers(algod)
    this.#transfers.set(caip2, transfers)
    const search = this.#searches.then(() => transfers.find(sale, lastRound))
    this.#searches = search.catch(() => {})
    return search
  }

  /**
   * Asks the ledger, whatever a facilitator says. After the authorization has expired, its payer may use its money as it
   * likes.
   *
   * @throws AlgodError if no node responds
   */
  async evidence(chain: Chain, { payment, sale, charge }: FailedCharge): Promise<Evidence> {
    const { terms, signer } = payment.authorization!
    const { payer, payTo, assetId, lastValid } = terms
    const [held, received] = [await chain.algod.holding(payer, assetId), await chain.algod.holding(payTo, assetId)]
    const { authAddress = payer } = await chain.algod.account(payer)
    // The blocks are read after the balance: a payer that was charged has less, and is not at fault.
    const { lastRound } = await chain.algod.parameters()
    const found = await this.find(chain, sale, lastRound)
    if (found.type === 'found') return 'charged'
    if (received === undefined || received.isFrozen || held?.isFrozen) return 'blocked'
    // A node that is behind the one that reported the balance may not have the block of the charge yet.
    if (found.type !== 'absent' || (held?.round ?? 0n) > lastRound) return 'nothing'
    if (found.isVoided) return 'withdrawn'
    const isShort = held === undefined || held.amount < charge
    return lastRound <= lastValid && (isShort || authAddress !== signer) ? 'withdrawn' : 'nothing'
  }
}
