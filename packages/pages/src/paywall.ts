/** The page that a browser shows on a paid route: its HTML, its content security policy and its files. */
import * as BuiltFiles from '#built-files'
import { PagesError } from './errors.js'
import type { PageFile } from './PageFile.js'
import { type PaywallPage, paywallHtml } from './paywallHtml.js'
import { type PaywallOptions, paywallWallets, type WalletOption, walletOptions } from './paywallOptions.js'

export { type ErrorCode, errors, PagesError, PaywallError, type PaywallErrorCode } from './errors.js'
export type { EncodedBody, PageFile } from './PageFile.js'
export type { PaywallPage } from './paywallHtml.js'
export {
  checkPaywall,
  type PaywallOffer,
  type PaywallOptions,
  type PaywallWallet,
  paywallWallets,
} from './paywallOptions.js'

/** A paywall as a server sends it. */
export type RenderedPaywall = {
  readonly html: string
  /** The value of the header `Content-Security-Policy`. */
  readonly policy: string
}

/**
 * Renders the page for a price.
 *
 * @throws PagesError with the code `pages_not_built`.
 *
 * @example
 * const { html, policy } = paywallPage({ title, address, required, offers }, { name: 'Weather Inc' })
 * return new Response(html, { status: 402, headers: { 'Content-Type': 'text/html', 'Content-Security-Policy': policy } })
 */
export function paywallPage(page: PaywallPage, options: PaywallOptions = {}): RenderedPaywall {
  const files = fileNames()
  const offers = page.offers.map((offer) => {
    const wallets = offer.isUpTo ? [] : walletOptions(offer.network, options)
    return { ...offer, wallets: wallets.map((option) => ({ ...option, file: files.wallets[option.wallet] })) }
  })
  const offered = offers.flatMap(({ wallets }) => wallets)
  const isKmdOffered = offered.some(({ wallet }) => wallet === 'kmd')
  const { name = '', kmd } = options
  const data = { required: page.required, offers, name, ...(isKmdOffered ? { kmd } : {}) }
  return {
    html: paywallHtml({ ...page, offers }, { ...options, files, data }),
    policy: paywallPolicy(offered, options),
  }
}

/**
 * Whether the files of the page are available. They are missing in a clone that was not built, and without a file
 * system.
 */
export function isPaywallBuilt(): boolean {
  return BuiltFiles.isBuilt('paywall')
}

let files: ReadonlyMap<string, PageFile> | undefined

/**
 * Returns a file by the name that the page uses, or undefined if there is none. Files are read once, on the first call.
 *
 * @throws PagesError with the code `pages_not_built`.
 */
export function paywallFile(name: string): PageFile | undefined {
  return allFiles().get(name)
}

function allFiles(): ReadonlyMap<string, PageFile> {
  files ??= new Map([...BuiltFiles.read('paywall')].map(([path, file]) => [path.replace(/^assets\//, ''), file]))
  return files
}

type FileNames = {
  readonly script: string
  readonly style: string
  /** The styles that the page itself contains, as text. */
  readonly firstStyles: string
  /** The image with the logos of the wallets. */
  readonly logos: string
  /** The code of each wallet, which is loaded when the wallet is chosen. */
  readonly wallets: { readonly [wallet in WalletOption['wallet']]: string }
}

let names: FileNames | undefined

function fileNames(): FileNames {
  const find = (start: string, end: string): string => {
    const found = [...allFiles().keys()].find((name) => name.startsWith(`${start}-`) && name.endsWith(end))
    if (found === undefined) throw new PagesError('pages_not_built')
    return found
  }
  names ??= {
    script: find('paywall', '.js'),
    style: find('paywall', '.css'),
    firstStyles: new TextDecoder().decode(allFiles().get(find('first', '.css'))!.body),
    logos: find('paywall', '.svg'),
    wallets: Object.fromEntries(
      [...paywallWallets, 'kmd'].map((wallet) => [wallet, find(`wallet-${wallet}`, '.js')]),
    ) as FileNames['wallets'],
  }
  return names
}

const peraOrigin = 'https://web.perawallet.app'

/**
 * The content security policy: allows scripts from the page's own file only. The other origins depend on the offered
 * wallets.
 */
function paywallPolicy(offered: readonly WalletOption[], { logo, kmd }: PaywallOptions): string {
  const has = (...wallets: WalletOption['wallet'][]): boolean => offered.some(({ wallet }) => wallets.includes(wallet))
  const connect = [
    "'self'",
    // Both wallets fetch a list of bridge servers, so their hosts are not known in advance. Their images are data:
    // URLs.
    ...(has('pera', 'defly') ? ['https:', 'wss:', 'data:'] : []),
    ...(has('kmd') ? [new URL(kmd!.url).origin] : []),
  ]
  const images = ["'self'", 'data:', 'blob:', ...(logo?.startsWith('https:') ? [new URL(logo).origin] : [])]
  return [
    "default-src 'none'",
    "script-src 'self'",
    // The dialogs of Pera and Defly, and paid pages, contain inline styles.
    "style-src 'self' 'unsafe-inline'",
    `img-src ${images.join(' ')}`,
    `connect-src ${connect.join(' ')}`,
    ...(has('pera') ? [`frame-src ${peraOrigin}`] : []),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
