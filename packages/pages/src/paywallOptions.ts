/** The seller's options for the paywall, and which wallets they offer on a network. */
import { PaywallError } from './errors.js'

/** The wallets that the paywall has connectors for. */
export const paywallWallets = ['pera', 'defly', 'lute', 'exodus', 'kibisis'] as const

/** The name of a wallet that the paywall has a connector for. */
export type PaywallWallet = (typeof paywallWallets)[number]

/** The appearance of the paywall, and the wallets that it offers. */
export type PaywallOptions = {
  /** The name of the seller. */
  readonly name?: string | undefined
  /** A `data:image/` or `https:` URL. */
  readonly logo?: string | undefined
  /** The CSS colour of buttons and links. */
  readonly colour?: string | undefined
  /** Custom properties of the page's CSS, such as `{ '--radius': '0' }`. */
  readonly style?: { readonly [property: `--${string}`]: string } | undefined
  /** A text or a link below the page. */
  readonly footer?: string | { readonly text: string; readonly url: string } | undefined
  /**
   * The wallets to offer, in this order. Wallets that do not support the network are omitted.
   *
   * @default all of {@link paywallWallets}
   */
  readonly wallets?: readonly PaywallWallet[] | undefined
  /**
   * A key daemon on the machine of the person who opens the page. For development only: the page contains the token, so
   * everyone who opens it gets the token. Never offered on MainNet.
   */
  readonly kmd?: { readonly url: string; readonly token: string; readonly wallet?: string | undefined } | undefined
}

const maxLogoLength = 64 * 1024
const propertyName = /^--[a-z][a-z0-9-]{0,40}$/
/** Excludes characters that could end the declaration, and functions that load a resource. */
const propertyValue = /^[A-Za-z0-9#%., ()/+*-]{1,120}$/

/**
 * Validates the options before a page is rendered with them.
 *
 * @throws PaywallError
 */
export function checkPaywall({ logo, colour, style = {}, footer, wallets = [], kmd }: PaywallOptions): void {
  if (logo !== undefined && !isLogo(logo)) throw new PaywallError('invalid_paywall_logo')
  for (const [name, value] of Object.entries({ ...style, ...(colour === undefined ? {} : { '--accent': colour }) })) {
    if (!propertyName.test(name) || !propertyValue.test(value) || /url\(/i.test(value)) {
      const property = `${name}: ${JSON.stringify(value)}`
      throw new PaywallError('invalid_paywall_style', `${property} is not a CSS custom property with a plain value`)
    }
  }
  if (typeof footer === 'object' && !isHttpUrl(footer.url)) throw new PaywallError('invalid_paywall_footer')
  const unknown = wallets.find((wallet) => !paywallWallets.includes(wallet))
  if (unknown !== undefined) {
    const names = paywallWallets.join(', ')
    throw new PaywallError('unknown_paywall_wallet', `the paywall has no connector for the wallet ${unknown}: ${names}`)
  }
  if (kmd !== undefined && !isHttpUrl(kmd.url)) throw new PaywallError('invalid_paywall_kmd')
}

function isLogo(url: string): boolean {
  return url.length <= maxLogoLength && /^(https:\/\/|data:image\/)/.test(url) && URL.canParse(url)
}

function isHttpUrl(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}

/** The networks that each wallet supports; undefined if it supports any, including local networks. */
const walletNetworks: { readonly [wallet in PaywallWallet]: readonly string[] | undefined } = {
  pera: ['Algorand MainNet', 'Algorand TestNet', 'Algorand BetaNet'],
  defly: ['Algorand MainNet', 'Algorand TestNet'],
  lute: undefined,
  exodus: ['Algorand MainNet'],
  kibisis: ['Algorand MainNet', 'Algorand TestNet', 'Algorand BetaNet'],
}

const labels = { pera: 'Pera', defly: 'Defly', lute: 'Lute', exodus: 'Exodus', kibisis: 'Kibisis' } as const

/** A wallet that the page offers. */
export type WalletOption = { readonly wallet: PaywallWallet | 'kmd'; readonly label: string }

/** The wallets to offer on a network, the local daemon first. */
export function walletOptions(
  network: { readonly name: string; readonly isReal: boolean },
  { wallets = paywallWallets, kmd }: PaywallOptions,
): WalletOption[] {
  const supported = wallets.filter((wallet) => walletNetworks[wallet]?.includes(network.name) ?? true)
  const local: WalletOption[] =
    kmd === undefined || network.isReal ? [] : [{ wallet: 'kmd', label: 'Local key daemon' }]
  return [...local, ...supported.map((wallet): WalletOption => ({ wallet, label: labels[wallet] }))]
}

/** One of the seller's offers, formatted for people. */
export type PaywallOffer = {
  /** `isReal`: the network's assets have real value. */
  readonly network: { readonly caip2: string; readonly name: string; readonly isReal: boolean }
  /** The price in dollars without the sign; undefined if the price is in another unit. */
  readonly dollars: string | undefined
  /** The amount as a decimal. */
  readonly amount: string
  /** The unit name of the asset. */
  readonly unit: string
  readonly decimals: number
  /** The id of the asset, 0 for ALGO. */
  readonly asset: string
  /** The address that receives the payment. */
  readonly payTo: string
  /** Whether the facilitator pays the network fee. */
  readonly isFeePaid: boolean
  /**
   * Whether the amount is the maximum of a price by usage. Wallets do not sign these, so that programs pay them.
   *
   * @default false
   */
  readonly isUpTo?: boolean | undefined
}

/** An offer with the wallets that can pay it. */
export type WalletOffer = PaywallOffer & { readonly wallets: readonly WalletOption[] }
