/** The data that the server writes into the page: payment requirements and offers. */
import { Amount } from '@latchkey/algorand'
import type { PaywallOffer, WalletOption as WalletChoice } from '../src/paywallOptions.js'

export type PaymentRequirement = {
  readonly scheme: string
  readonly network: string
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra?: { readonly [name: string]: unknown }
}

export type PaymentRequired = {
  readonly resource: { readonly url: string }
  readonly accepts: readonly PaymentRequirement[]
  readonly extensions?: unknown
}

export type WalletId = WalletChoice['wallet']

/** A wallet that the page offers. `file` is the name of the file with its code. */
export type WalletOption = WalletChoice & { readonly file: string }

/** The wallet within a sentence. */
export function walletName({ wallet, label }: WalletOption): string {
  return wallet === 'kmd' ? 'your local key daemon' : label
}

export type Offer = PaywallOffer & { readonly wallets: readonly WalletOption[] }

/** A key daemon on the person's own machine. */
export type LocalDaemon = { readonly url: string; readonly token: string; readonly wallet?: string }

export type PageData = {
  readonly required: PaymentRequired
  readonly offers: readonly Offer[]
  readonly name: string
  readonly kmd?: LocalDaemon
}

export function readPageData(): PageData {
  return JSON.parse(document.getElementById('x402')!.textContent!) as PageData
}

/** The paid URL, without a fragment. */
export const pageUrl = location.href.replace(/#.*$/s, '')

export function formatPrice({ dollars, amount, unit, isUpTo }: Offer): string {
  const price = dollars === undefined ? `${Amount.group(amount)} ${unit}` : `$${Amount.group(dollars)}`
  return isUpTo ? `up to ${price}` : price
}

export function shortAddress(address: string): string {
  return `${address.slice(0, 6)}…${address.slice(-6)}`
}
