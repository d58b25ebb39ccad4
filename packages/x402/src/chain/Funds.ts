/** Who is short of what: said of the right account, with what is missing and how to mend it. */

import * as Price from '../Price.js'
import { algoAssetId, type Chain } from './Chain.js'

/** Enough for a good many groups; below it the operator should hear of it. */
const lowMicroAlgos = 100_000n

/** What is wrong with an account that is to pay fees, or undefined. */
export async function feeAccountFault(chain: Chain, address: string): Promise<string | undefined> {
  const { microAlgos, minBalance } = await chain.algod.account(address)
  const free = microAlgos - minBalance
  if (free >= lowMicroAlgos) return undefined
  const has = `has ${Price.text(free < 0n ? 0n : free, 6)} ALGO to spend on fees`
  return `the fee account ${address} ${has}; send it some`
}

/** What is wrong with an account that is to be paid, or undefined. */
export async function receiverFault(chain: Chain, address: string, assetId: bigint): Promise<string | undefined> {
  if (assetId === algoAssetId) return undefined
  if ((await chain.algod.holding(address, assetId)) !== undefined) return undefined
  const { name } = await chain.asset(assetId)
  const mend = `it has to opt in: send 0 of asset ${assetId} from ${address} to itself, with 0.1 ALGO to spare`
  return `${address} cannot be paid in ${name}: it is not opted in to asset ${assetId}; ${mend}`
}

export type Payment = { payer: string; assetId: bigint; amount: bigint; feeMicroAlgos: bigint }

/** What is wrong with an account that is to pay, or undefined. */
export async function payerFault(chain: Chain, payment: Payment): Promise<string | undefined> {
  const { payer, assetId, amount, feeMicroAlgos } = payment
  const { name, decimals } = await chain.asset(assetId)
  if (assetId !== algoAssetId) {
    const holding = await chain.algod.holding(payer, assetId)
    if (holding === undefined) {
      return `${payer} holds no ${name}: it is not opted in to asset ${assetId}; opt in, then buy or receive some`
    }
    if (holding.isFrozen) return `the ${name} of ${payer} is frozen`
    if (holding.amount < amount) {
      const [has, needs] = [Price.text(holding.amount, decimals), Price.text(amount, decimals)]
      const short = Price.text(amount - holding.amount, decimals)
      return `${payer} has ${has} ${name} and needs ${needs}: send it ${short} more`
    }
  }
  const { microAlgos, minBalance } = await chain.algod.account(payer)
  const needed = feeMicroAlgos + (assetId === algoAssetId ? amount : 0n)
  const free = microAlgos - minBalance
  if (needed <= (free < 0n ? 0n : free)) return undefined
  const short = needed - (free < 0n ? 0n : free)
  const why = `keeping its minimum balance of ${Price.text(minBalance, 6)}`
  return `${payer} is short of ${Price.text(short, 6)} ALGO for this, ${why}: send it that much`
}
