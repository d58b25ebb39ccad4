/** The balances of a wallet's accounts in the asset of the price, according to the seller's node. */
import { Amount } from '@latchkey/algorand'
import { type Offer, pageUrl } from './pageData.js'

/** The spendable funds of an account, in base units. `holding` is null if the account has not opted in to the asset. */
export type AccountFunds = {
  readonly address: string
  readonly microAlgos: string
  readonly holding: { readonly amount: string; readonly isFrozen: boolean } | null
}

export type Balance = { readonly text: string; readonly canPay: boolean }

/** Balances by address. A missing account has an unknown balance. */
export type Balances = ReadonlyMap<string, Balance>

/** The seller refuses more accounts. */
const maxAccounts = 16
/** The accounts are shown without balances after this time. */
const timeoutMs = 4_000
const maxUnitLength = 12

/** Never fails, because balances help to choose an account but are not needed to pay. */
export async function fetchBalances(offer: Offer, addresses: readonly string[], minFee: number): Promise<Balances> {
  const url = new URL(pageUrl)
  url.search = new URLSearchParams([
    ['x402-page', 'balances'],
    ['network', offer.network.caip2],
    ['asset', offer.asset],
    ...addresses.slice(0, maxAccounts).map((address) => ['account', address]),
  ]).toString()
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await fetch(url, { headers: { Accept: 'application/json' }, cache: 'no-store', signal })
    const { accounts } = (await response.json()) as { accounts: AccountFunds[] }
    return new Map(accounts.map((funds) => [funds.address, balanceOf(funds, offer, minFee)]))
  } catch {
    return new Map()
  }
}

/** Formats the balance, and checks whether it covers the price and the fee. */
export function balanceOf({ microAlgos, holding }: AccountFunds, offer: Offer, minFee: number): Balance {
  const { asset, decimals, isFeePaid } = offer
  const price = Amount.parse(offer.amount, decimals)
  const feeMicroAlgos = isFeePaid ? 0n : BigInt(minFee)
  const unit = offer.unit.slice(0, maxUnitLength)
  if (asset === '0') {
    const text = `${Amount.formatGrouped(BigInt(microAlgos), decimals)} ${unit}`
    return { text, canPay: price !== undefined && BigInt(microAlgos) >= price + feeMicroAlgos }
  }
  if (holding === null) return { text: `not opted in to ${unit}`, canPay: false }
  const text = `${Amount.formatGrouped(BigInt(holding.amount), decimals)} ${unit}`
  if (holding.isFrozen) return { text: `${text}, frozen`, canPay: false }
  const isEnough = price !== undefined && BigInt(holding.amount) >= price && BigInt(microAlgos) >= feeMicroAlgos
  return { text, canPay: isEnough }
}

/** Returns the first account that can pay, or the first one if none can. */
export function preselect(addresses: readonly string[], balances: Balances): string {
  return addresses.find((address) => balances.get(address)?.canPay === true) ?? addresses[0]!
}
