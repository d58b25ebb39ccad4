/** What the seller wrote into the page: what is asked for, and how it can be paid. */
export type Requirement = {
  readonly scheme: string
  readonly network: string
  readonly amount: string
  readonly asset: string
  readonly payTo: string
  readonly maxTimeoutSeconds: number
  readonly extra?: { readonly [name: string]: unknown }
}

export type Required = {
  readonly resource: { readonly url: string }
  readonly accepts: readonly Requirement[]
  readonly extensions?: unknown
}

export type WalletName = 'pera' | 'defly' | 'lute' | 'exodus' | 'kibisis' | 'kmd'

export type Offer = {
  readonly network: { readonly caip2: string; readonly name: string; readonly isReal: boolean }
  readonly dollars?: string
  readonly amount: string
  readonly unit: string
  readonly decimals: number
  readonly asset: string
  readonly payTo: string
  readonly isFeePaid: boolean
  readonly ways: readonly { readonly wallet: WalletName; readonly label: string }[]
}

export type Daemon = { readonly url: string; readonly token: string; readonly wallet?: string }

export type PageData = {
  readonly required: Required
  readonly offers: readonly Offer[]
  readonly name: string
  readonly kmd?: Daemon
}

export function readData(): PageData {
  return JSON.parse(document.getElementById('x402')!.textContent!) as PageData
}

/** The address that is paid for, as it was opened. */
export const address = location.href.replace(/#.*$/s, '')

export function priceText({ dollars, amount, unit }: Offer): string {
  return dollars === undefined ? `${amount} ${unit}` : `$${dollars}`
}

export function shortAddress(text: string): string {
  return `${text.slice(0, 6)}…${text.slice(-6)}`
}
