/** What the accounts of a wallet hold of the asset that is paid in, as the seller's node knows it. */
import { Amount } from '@latchkey/algorand'
import { type Offer, pageUrl } from './pageData.js'

/** What an account can spend, in base units. `holding` is null if the account has not opted in to the asset. */
export type AccountFunds = {
  readonly address: string
  readonly microAlgos: string
  readonly holding: { readonly amount: string; readonly isFrozen: boolean } | null
}

export type Balance = { readonly text: string; readonly canPay: boolean }

/** By address. An account that is not in it has an unknown balance. */
export type Balances = ReadonlyMap<string, Balance>

/** The seller refuses more. */
const maxAccounts = 16
/** The accounts are shown without balances after this time. */
const timeoutMs = 4_000
const maxUnitLength = 12

/** Never fails: a balance helps to choose, and is not needed to pay. */
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

/** The balance in words, and whether it is enough for the price and the fee. */
export function balanceOf({ microAlgos, holding }: AccountFunds, offer: Offer, minFee: number): Balance {
  const { asset, decimals, isFeePaid } = offer
  const price = Amount.parse(offer.amount, decimals)
  const feeMicroAlgos = isFeePaid ? 0n : BigInt(minFee)
  const unit = offer.unit.slice(0, maxUnitLength)
  if (asset === '0') {
    const text = `${Amount.format(BigInt(microAlgos), decimals)} ${unit}`
    return { text, canPay: price !== undefined && BigInt(microAlgos) >= price + feeMicroAlgos }
  }
  if (holding === null) return { text: `not opted in to ${unit}`, canPay: false }
  const text = `${Amount.format(BigInt(holding.amount), decimals)} ${unit}`
  if (holding.isFrozen) return { text: `${text}, frozen`, canPay: false }
  const isEnough = price !== undefined && BigInt(holding.amount) >= price && BigInt(microAlgos) >= feeMicroAlgos
  return { text, canPay: isEnough }
}

/** The first account that can pay; without one, the first. */
export function preselect(addresses: readonly string[], balances: Balances): string {
  return addresses.find((address) => balances.get(address)?.canPay === true) ?? addresses[0]!
}
