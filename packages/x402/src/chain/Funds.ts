/** Finds out whether accounts can pay or be paid. Each problem names the missing amount and the fix. */

import type { Holding } from '@latchkey/algod'
import { Amount, Network } from '@latchkey/algorand'
import { algoAssetId, type Chain } from './Chain.js'

/** Why an account cannot pay, or cannot be paid. */
export type FundsProblem = {
  readonly code:
    | 'payer_not_opted_in'
    | 'receiver_not_opted_in'
    | 'asset_frozen'
    | 'insufficient_asset'
    | 'insufficient_algos'
  /** The missing asset or amount. */
  readonly message: string
  /** How to fix it. */
  readonly hint: string
  /** The required amount in base units. */
  readonly asked?: bigint
  /** The available amount in base units. */
  readonly left?: bigint
}

/** Joins the message and the hint, for outputs without a separate hint. */
export function describe({ message, hint }: FundsProblem): string {
  return `${message}; ${hint}`
}

/** The operator is warned below this balance, which covers about a hundred groups. */
const lowMicroAlgos = 100_000n

/** Returns a warning if the balance of a fee account is low; otherwise undefined. */
export function feeBalanceProblem(chain: Chain, address: string, spendableMicroAlgos: bigint): string | undefined {
  if (spendableMicroAlgos >= lowMicroAlgos) return undefined
  const has = `has ${Amount.formatAlgos(spendableMicroAlgos)} to spend on fees`
  return `the fee account ${address} ${has}; fund it: ${fundCommand(chain, address, '1 ALGO')}`
}

/** Returns the reason why an account cannot receive the asset; undefined if it can. */
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
    hint: `opt in, which reserves 0.1 ALGO: ${optInCommand(chain, address, assetId)}`,
  }
}

/** The amounts that a payer needs. */
export type PaymentCost = { payer: string; assetId: bigint; amount: bigint; feeMicroAlgos: bigint }

/** Returns the reason why an account cannot pay; undefined if it can. */
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
  const why = `on top of its minimum balance of ${Amount.formatAlgos(minBalance)}`
  return {
    code: 'insufficient_algos',
    message: `${payer} lacks ${short} for this payment, ${why}`,
    hint: `send it ${short}: ${fundCommand(chain, payer, short)}`,
    asked,
    left,
  }
}

/** Returns the reason why a payer's holding does not cover the payment; undefined if it does. */
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
    return {
      code: 'asset_frozen',
      message: `the ${name} holding of ${payer} is frozen`,
      hint: 'pay from another account',
    }
  }
  const [has, needs] = [Amount.formatGrouped(holding.amount, decimals), Amount.formatGrouped(amount, decimals)]
  const short = Amount.format(amount - holding.amount, decimals)
  return {
    code: 'insufficient_asset',
    message: `${payer} has ${has} ${name} and needs ${needs}`,
    hint: `send it ${Amount.group(short)} ${name}: ${fundCommand(chain, payer, `${short} #${assetId}`)}`,
    asked: amount,
    left: holding.amount,
  }
}

async function spendableMicroAlgos(chain: Chain, address: string): Promise<{ microAlgos: bigint; minBalance: bigint }> {
  const account = await chain.algod.account(address)
  return { microAlgos: spendable(account), minBalance: account.minBalance }
}

/** The balance above the account's minimum balance. */
export function spendable({ microAlgos, minBalance }: { microAlgos: bigint; minBalance: bigint }): bigint {
  return microAlgos > minBalance ? microAlgos - minBalance : 0n
}

/** The command with which the holder of the key opts the account in to an asset. */
export function optInCommand(chain: Chain, address: string, assetId: bigint): string {
  return `latchkey opt-in ${assetId} --account ${address}${networkOption(chain)}`
}

/** The command that sends an account an amount, such as `0.5 ALGO` or `2 #31566704`. */
export function fundCommand(chain: Chain, address: string, amount: string): string {
  const option = networkOption(chain)
  // Commands read plain decimals.
  const plain = amount.replace(/(?<=\d),(?=\d)/g, '')
  return option === '' ? `latchkey fund ${address} '${plain}'` : `latchkey send '${plain}' ${address}${option}`
}

/** Empty for a local network, because the commands find a running network or read it from the environment. */
function networkOption({ caip2 }: Chain): string {
  const name = Network.known.find((network) => network.caip2 === caip2)?.name
  return name === undefined ? '' : ` --network ${name}`
}
