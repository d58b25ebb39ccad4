/** Amounts in the notation of models: dollars, Algos, or base units of any other asset. */
import { UptoProgram } from '@latchkey/algorand'
import { type AgentLimitUse, SpendLimit } from '@latchkey/kmd-client'
import type { Chain, Offer, Payment } from '@latchkey/x402/client'
import { ToolError } from './ToolError.js'

export type AssetAmount = { readonly assetId: bigint; readonly amount: bigint }

/** `$0.10`, `0.5 ALGO`, `1500 asset 123`. */
export function amountText({ assetId, amount }: AssetAmount, chain: Chain): string {
  return SpendLimit.formatAmount({ assetId, amount }, { dollarAssetId: chain.dollarAssetId })
}

/** @throws ToolError */
export function readMax(text: string, chain: Chain): AssetAmount {
  try {
    return SpendLimit.parseAmount(text, { dollarAssetId: chain.dollarAssetId })
  } catch (error) {
    throw new ToolError('invalid_max', (error as Error).message, { cause: error })
  }
}

/** A quoted price. Exactly this amount is paid, or for a price by usage, at most. */
export type Quote = {
  readonly pay_to: string
  /** In base units, decimal; for a price by usage, the maximum. */
  readonly amount: string
  /** `0` means ALGO. */
  readonly asset_id: string
  readonly network: string
  /** The price in readable form: `$0.01`, or `up to $0.50`. */
  readonly price: string
}

export function quoteOf({ requirement, amount, asset, chain }: Offer): Quote {
  return {
    pay_to: requirement.payTo,
    amount: `${amount}`,
    asset_id: `${asset.assetId}`,
    network: chain.caip2,
    price: `${requirement.scheme === 'upto' ? 'up to ' : ''}${amountText({ assetId: asset.assetId, amount }, chain)}`,
  }
}

export function isSameQuote(a: Quote, b: Quote): boolean {
  const members = ['pay_to', 'amount', 'asset_id', 'network', 'price'] as const
  return members.every((name) => a[name] === b[name])
}

/** A limit of the agent and its remainder. */
export type Left = {
  readonly limit: string
  readonly left: string
  /** When more becomes available, in ISO 8601. Null if that never happens, or if the full limit is available. */
  readonly resets_at: string | null
}

export function leftOf({ limit, left, resetsAtMs }: AgentLimitUse, chain: Chain): Left {
  const isCount = limit.type === 'count'
  return {
    // The daemon may not know the dollar asset of a local network.
    limit: SpendLimit.format(limit, { dollarAssetId: chain.dollarAssetId }),
    left: isCount ? `${left} payments` : amountText({ assetId: limit.assetId, amount: left }, chain),
    resets_at: resetsAtMs === undefined ? null : new Date(resetsAtMs).toISOString(),
  }
}

/** Formats the amount of a payment in the log. A price by usage has a maximum, and its charge once it is known. */
export function assetAmountOf(
  { asset, amount, charge, transactionId }: Pick<Payment, 'asset' | 'amount' | 'charge' | 'transactionId'>,
  chain: Chain,
): string {
  const text = (units: string): string => amountText({ assetId: BigInt(asset), amount: BigInt(units) }, chain)
  if (!isAuthorizationId(transactionId)) return text(amount)
  return charge === undefined ? `up to ${text(amount)}` : `${text(charge.amount)} of up to ${text(amount)}`
}

/** Whether the id of a payment is that of an authorization for a price by usage. */
export function isAuthorizationId(id: string): boolean {
  return UptoProgram.leaseOfId(id) !== undefined
}
