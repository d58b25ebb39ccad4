/**
 * Caches account balances for a short time, so that not every payment sends requests to a node. A stale entry costs no
 * money: the payment is refused, as it would be if the account changed after the lookup.
 */
import { BoundedMap } from '@latchkey/algorand'
import { algoAssetId, type Chain } from '../../chain/Chain.js'
import * as Funds from '../../chain/Funds.js'

/** `isFresh` skips the cache, for offers that are shown to a person. */
export type FundsOptions = { readonly isFresh?: boolean | undefined }

type Balance = { left: bigint; readonly untilMs: number }

/** Short, because others may spend from the account too. */
const balanceMs = 3_000
/** Sellers opt out of the asset they are paid in when they close their business. */
const receiverMs = 10 * 60_000
/** Bounded, because sellers choose which accounts are looked up. */
const maxEntries = 1_000

export class FundsCache {
  readonly #balances = new BoundedMap<string, Balance>(maxEntries)
  /** The time until which an account counts as opted in. */
  readonly #receivers = new BoundedMap<string, number>(maxEntries)
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** Returns the reason why an account cannot pay; undefined if it can. */
  async payerProblem(
    chain: Chain,
    cost: Funds.PaymentCost,
    { isFresh = false }: FundsOptions = {},
  ): Promise<Funds.FundsProblem | undefined> {
    const { payer, assetId, amount, feeMicroAlgos } = cost
    // Payments in ALGO, and payers that pay their own fees, need the state of the whole account.
    if (isFresh || assetId === algoAssetId || feeMicroAlgos > 0n) return Funds.payerProblem(chain, cost)
    const key = keyOf(chain, payer, assetId)
    const known = this.#balances.get(key)
    if (known !== undefined && this.#nowMs() < known.untilMs && amount <= known.left) return undefined
    const untilMs = this.#nowMs() + balanceMs
    const holding = await chain.algod.holding(payer, assetId)
    const problem = await Funds.holdingProblem(chain, cost, holding)
    if (problem === undefined) this.#balances.set(key, { left: holding!.amount, untilMs })
    else this.#balances.delete(key)
    return problem
  }

  /** Returns the reason why an account cannot be paid; undefined if it can. */
  async receiverProblem(
    chain: Chain,
    address: string,
    assetId: bigint,
    { isFresh = false }: FundsOptions = {},
  ): Promise<Funds.FundsProblem | undefined> {
    if (isFresh) return Funds.receiverProblem(chain, address, assetId)
    const key = keyOf(chain, address, assetId)
    if (this.#nowMs() < (this.#receivers.get(key) ?? Number.NEGATIVE_INFINITY)) return undefined
    const untilMs = this.#nowMs() + receiverMs
    const problem = await Funds.receiverProblem(chain, address, assetId)
    if (problem === undefined) this.#receivers.set(key, untilMs)
    else this.#receivers.delete(key)
    return problem
  }

  /** Deducts a payment from the cached balance. */
  spend(chain: Chain, payer: string, assetId: bigint, amount: bigint): void {
    const known = this.#balances.get(keyOf(chain, payer, assetId))
    if (known !== undefined) known.left -= amount
  }
}

function keyOf({ caip2 }: Chain, address: string, assetId: bigint): string {
  return `${caip2} ${address} ${assetId}`
}
