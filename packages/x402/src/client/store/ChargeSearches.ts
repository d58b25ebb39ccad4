/**
 * Finds the charges of authorizations on the ledger. No node knows the id of an authorization, so up to 1,000 blocks are
 * read for the transaction with its lease.
 */
import type { Algod } from '@latchkey/algod'
import { BoundedMap } from '@latchkey/algorand'
import { UptoPayment } from '@latchkey/x402-wire'
import { blocksAtOnce, type Payment, type PaymentState, settledRounds } from './Payments.js'

/** An authorization of the payment log, and the account that made it. */
export type AuthorizedPayment = Pick<
  Payment,
  'transactionId' | 'payTo' | 'asset' | 'amount' | 'firstValid' | 'lastValid'
> & {
  readonly payer: string
}

/** The state of an authorization, and its charge in base units if it is settled. */
export type AuthorizationState = { readonly state: PaymentState; readonly amount?: bigint }

/** The searches that are continued where they broke off. An older one starts again. */
const maxSearches = 1_000

/**
 * Calls for the same authorization share one search, and a search that a node broke off continues at the blocks that could
 * not be read. Otherwise nodes that fail now and then would end every search before its last block.
 */
export class ChargeSearches {
  readonly #running = new Map<string, Promise<AuthorizationState>>()
  /** The first block that was not searched yet, by authorization. */
  readonly #next = new BoundedMap<string, bigint>(maxSearches)

  /**
   * Finds the outcome of an authorization: the transfer that the seller reports, if the ledger has it and it is the
   * authorized one, or, after the last valid round, the transaction with its lease in any block.
   *
   * @param settlement the transaction that the seller reports
   * @throws AlgodError if no node responds, or too few have the blocks
   */
  async find(payment: AuthorizedPayment, algod: Algod, settlement?: string | undefined): Promise<AuthorizationState> {
    const { transactionId } = payment
    const amount = settlement === undefined ? undefined : await amountOf(payment, algod, settlement)
    if (amount !== undefined) return { state: 'settled', amount }
    const running = this.#running.get(transactionId)
    if (running !== undefined) return running
    const search = this.#search(payment, algod).finally(() => this.#running.delete(transactionId))
    this.#running.set(transactionId, search)
    return search
  }

  async #search(payment: AuthorizedPayment, algod: Algod): Promise<AuthorizationState> {
    const { transactionId, payer, payTo } = payment
    const [firstValid, lastValid] = [BigInt(payment.firstValid), BigInt(payment.lastValid)]
    if ((await algod.lastRound()) <= lastValid + settledRounds) return { state: 'open' }
    const lease = UptoPayment.leaseOfId(transactionId)
    for (let block = this.#next.get(transactionId) ?? firstValid + 1n; block <= lastValid; block += blocksAtOnce) {
      this.#next.set(transactionId, block)
      const last = block + blocksAtOnce - 1n < lastValid ? block + blocksAtOnce - 1n : lastValid
      const rounds = Array.from({ length: Number(last - block) + 1 }, (_, index) => block + BigInt(index))
      const found = await Promise.all(rounds.map((round) => algod.leaseInBlock(round, payer, lease)))
      const used = found.find((one) => one !== undefined)
      if (used === undefined) continue
      this.#next.delete(transactionId)
      // The lease was used by another transaction of the buyer, so the authorization was never settled.
      const isCharge = used.receiver === payTo && used.assetId === BigInt(payment.asset)
      return isCharge ? { state: 'settled', amount: used.amount } : { state: 'expired' }
    }
    this.#next.delete(transactionId)
    return { state: 'expired' }
  }
}

/** The amount of the transaction that the seller reports; undefined if it is not the confirmed transfer. */
async function amountOf(payment: AuthorizedPayment, algod: Algod, settlement: string): Promise<bigint | undefined> {
  if (!/^[A-Z2-7]{52}$/.test(settlement)) return undefined
  const { payer, payTo } = payment
  const lease = UptoPayment.leaseOfId(payment.transactionId)
  const [assetId, maxAmount] = [BigInt(payment.asset), BigInt(payment.amount)]
  const { state, transaction } = await algod.transactionDetails(settlement)
  if (transaction === undefined || state.type !== 'confirmed') return undefined
  const isIts = UptoPayment.isTransfer({ payer, payTo, assetId, maxAmount, lease }, transaction)
  return isIts ? (transaction.aamt ?? 0n) : undefined
}
