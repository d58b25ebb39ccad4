/** Which account lacks what: named with the amount that is missing and how to fix it. */

import type { Holding } from '@latchkey/algod'
import { Amount } from '@latchkey/algorand'
import { algoAssetId, type Chain } from './Chain.js'
import { fundCommand, optInCommand } from './cures.js'

export { fundCommand, optInCommand } from './cures.js'

/** Why an account cannot pay, or cannot be paid. */
export type FundsProblem = {
  readonly code:
    | 'payer_not_opted_in'
    | 'receiver_not_opted_in'
    | 'asset_frozen'
    | 'insufficient_asset'
    | 'insufficient_algos'
  /** What is missing. */
  readonly message: string
  /** How to fix it. */
  readonly hint: string
  /** How much is needed, in base units. */
  readonly asked?: bigint
  /** How much of it is there, in base units. */
  readonly left?: bigint
}

/** The problem in one text, where there is no place for a hint. */
export function describe({ message, hint }: FundsProblem): string {
  return `${message}; ${hint}`
}

/** Enough for about a hundred groups; the operator is warned below it. */
const lowMicroAlgos = 100_000n

/** What is wrong with the balance of an account that pays fees, or undefined. */
export function feeBalanceProblem(chain: Chain, address: string, spendableMicroAlgos: bigint): string | undefined {
  if (spendableMicroAlgos >= lowMicroAlgos) return undefined
  const has = `has ${Amount.formatAlgos(spendableMicroAlgos)} to spend on fees`
  return `the fee account ${address} ${has}; send it some: ${fundCommand(chain, address, '1 ALGO')}`
}

/** What is wrong with an account that is to be paid, or undefined. */
export async function receiverProblem(
  chain: Chain,
  address: string,
  assetId: bigint,
): Promise<FundsProblem | undefined> {
  if (assetId === algoAssetId) return undefined
  if ((await chain.algod.holding(address, assetId)) !== undefined) return undefined
  const { name } = await chain.asset(assetId)
  return {
    code: 'receiver_not_opted_in',
    message: `${address} cannot be paid in ${name}: it is not opted in to asset ${assetId}`,
    hint: `opt in, with 0.1 ALGO to spare: ${optInCommand(chain, address, assetId)}`,
  }
}

/** What a payer needs. */
export type PaymentCost = { payer: string; assetId: bigint; amount: bigint; feeMicroAlgos: bigint }

/** What is wrong with an account that is to pay, or undefined. */
export async function payerProblem(chain: Chain, cost: PaymentCost): Promise<FundsProblem | undefined> {
  const { payer, assetId, amount, feeMicroAlgos } = cost
  if (assetId !== algoAssetId) {
    const problem = await holdingProblem(chain, cost, await chain.algod.holding(payer, assetId))
    if (problem !== undefined) return problem
  }
  const asked = feeMicroAlgos + (assetId === algoAssetId ? amount : 0n)
  if (asked === 0n) return undefined
  const { microAlgos: left, minBalance } = await spendableMicroAlgos(chain, payer)
  if (asked <= left) return undefined
  const short = Amount.formatAlgos(asked - left)
  const why = `keeping its minimum balance of ${Amount.formatAlgos(minBalance)}`
  return {
    code: 'insufficient_algos',
    message: `${payer} is short of ${short} for this, ${why}`,
    hint: `send it ${short}: ${fundCommand(chain, payer, short)}`,
    asked,
    left,
  }
}

/** What is wrong with what an account that is to pay has of the asset, or undefined. */
export async function holdingProblem(
  chain: Chain,
  { payer, assetId, amount }: PaymentCost,
  holding: Holding | undefined,
): Promise<FundsProblem | undefined> {
  if (holding !== undefined && !holding.isFrozen && holding.amount >= amount) return undefined
  const { name, decimals } = await chain.asset(assetId)
  if (holding === undefined) {
    const message = `${payer} holds no ${name}: it is not opted in to asset ${assetId}`
    const hint = `opt in, then buy or receive some: ${optInCommand(chain, payer, assetId)}`
    return { code: 'payer_not_opted_in', message, hint }
  }
  if (holding.isFrozen) {
    return { code: 'asset_frozen', message: `the ${name} of ${payer} is frozen`, hint: 'pay from another account' }
  }
  const [has, needs] = [Amount.format(holding.amount, decimals), Amount.format(amount, decimals)]
  const short = Amount.format(amount - holding.amount, decimals)
  return {
    code: 'insufficient_asset',
    message: `${payer} has ${has} ${name} and needs ${needs}`,
    hint: `send it ${short} ${name}: ${fundCommand(chain, payer, `${short} #${assetId}`)}`,
    asked: amount,
    left: holding.amount,
  }
}

async function spendableMicroAlgos(chain: Chain, address: string): Promise<{ microAlgos: bigint; minBalance: bigint }> {
  const account = await chain.algod.account(address)
  return { microAlgos: spendable(account), minBalance: account.minBalance }
}

/** What an account can spend, keeping its minimum balance. */
export function spendable({ microAlgos, minBalance }: { microAlgos: bigint; minBalance: bigint }): bigint {
  return microAlgos > minBalance ? microAlgos - minBalance : 0n
}
