/**
 * What a buyer knows about accounts for a moment, so that not every payment takes requests to a node. An account that changed
 * meanwhile costs no money: the payment is refused, as one is whose account changes after it was looked up.
 */
import { BoundedMap } from '@latchkey/algorand'
import { algoAssetId, type Chain } from '../chain/Chain.js'
import * as Funds from '../chain/Funds.js'

/** A person who was shown an offer decides on what is true now. */
export type FundsOptions = { readonly isFresh?: boolean | undefined }

type Balance = { left: bigint; readonly untilMs: number }

/** Others may spend from the account, too. */
const balanceMs = 3_000
/** Sellers opt out of the asset in which they are paid when they close their business. */
const receiverMs = 10 * 60_000
/** Sellers choose which accounts are looked up. */
const maxEntries = 1_000

export class FundsCache {
  readonly #balances = new BoundedMap<string, Balance>(maxEntries)
  /** Until when an account counts as opted in. */
  readonly #receivers = new BoundedMap<string, number>(maxEntries)
  readonly #nowMs: () => number

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** What is wrong with an account that is to pay, or undefined. */
  async payerProblem(
    chain: Chain,
    cost: Funds.PaymentCost,
    { isFresh = false }: FundsOptions = {},
  ): Promise<Funds.FundsProblem | undefined> {
    const { payer, assetId, amount, feeMicroAlgos } = cost
    // Who pays in ALGO, or pays the fees, needs the state of the whole account.
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

  /** What is wrong with an account that is to be paid, or undefined. */
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

  /** A payment was made: it counts against the balance that is known. */
  spend(chain: Chain, payer: string, assetId: bigint, amount: bigint): void {
    const known = this.#balances.get(keyOf(chain, payer, assetId))
    if (known !== undefined) known.left -= amount
  }
}

function keyOf({ caip2 }: Chain, address: string, assetId: bigint): string {
  return `${caip2} ${address} ${assetId}`
}
