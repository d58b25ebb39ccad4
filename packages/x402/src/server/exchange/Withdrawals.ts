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
 * What the ledger proves. `withdrawn`: the payer spent the money, changed its key, or used the lease. `blocked`: the
 * receiver cannot be paid, or the asset is frozen. `nothing`: the transfer seems possible.
 */
export type Evidence = 'withdrawn' | 'blocked' | 'nothing'

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
   * Asks the ledger, while the authorization is valid. After that, its payer may use its money as it likes.
   *
   * @throws AlgodError if no node responds
   */
  async evidence(chain: Chain, { payment, sale, charge }: FailedCharge): Promise<Evidence> {
    const { terms, signer } = payment.authorization!
    const { payer, payTo, assetId } = terms
    const [held, received] = [await chain.algod.holding(payer, assetId), await chain.algod.holding(payTo, assetId)]
    if (received === undefined || received.isFrozen || held?.isFrozen) return 'blocked'
    if (held === undefined || held.amount < charge) return 'withdrawn'
    const { authAddress = payer } = await chain.algod.account(payer)
    if (authAddress !== signer) return 'withdrawn'
    // Not a round that was read a moment ago: the payer may have used the lease since.
    const { lastRound } = await chain.algod.parameters()
    const found = await this.find(chain, sale, lastRound)
    return found.type === 'absent' && found.isVoided ? 'withdrawn' : 'nothing'
  }
}
