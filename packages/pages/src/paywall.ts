/** The page that a browser meets on a paid route: its text, its policy and its files. What it is told is strangers' text. */
import { existsSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { filesOf, type PageFile } from './files.js'

export type { PageFile } from './files.js'

/** Wallets whose connectors the page carries. */
export const paywallWallets = ['pera', 'defly', 'lute', 'exodus', 'kibisis'] as const
export type PaywallWallet = (typeof paywallWallets)[number]

export type PaywallOptions = {
  /** Of whoever sells. */
  name?: string | undefined
  /** A `data:` or `https:` address. */
  logo?: string | undefined
  /** Of the button and the links, as CSS writes colours. */
  colour?: string | undefined
  /** Custom properties of the page's own CSS, like `{ '--radius': '0' }`. */
  style?: { readonly [property: `--${string}`]: string } | undefined
  footer?: string | { readonly text: string; readonly url: string } | undefined
  /** Which to offer, in this order; all that know the network unless told. */
  wallets?: readonly PaywallWallet[] | undefined
  /**
   * A key daemon on the machine of whoever opens the page. For development: everybody who gets the page gets this token.
   * Never offered on MainNet.
   */
  kmd?: { readonly url: string; readonly token: string; readonly wallet?: string | undefined } | undefined
}

/** One way to pay, as it is shown. */
export type PaywallOffer = {
  readonly network: { readonly caip2: string; readonly name: string; readonly isReal: boolean }
  /** Without the sign, if the price is in dollars. */
  readonly dollars: string | undefined
  readonly amount: string
  readonly unit: string
  readonly decimals: number
  readonly asset: string
  readonly payTo: string
  /** Somebody else pays the fee of the network. */
  readonly isFeePaid: boolean
}

export type PaywallPage = {
  readonly title: string
  /** What is paid for, as people call it. */
  readonly address: string
  /** What was asked, by the words of the protocol. */
  readonly required: object
  /** In the order of what is asked. */
  readonly offers: readonly PaywallOffer[]
}

const maxText = 300
const maxLogo = 64 * 1024
const property = /^--[a-z][a-z0-9-]{0,40}$/
/** Nothing by which a value could end, or reach out. */
const cssValue = /^[A-Za-z0-9#%., ()/+*-]{1,120}$/

/** Throws a PaywallError for what no page could be made of. */
export function checkPaywall({ logo, colour, style = {}, footer, wallets = [], kmd }: PaywallOptions): void {
  if (
    logo !== undefined &&
    !(logo.length <= maxLogo && /^(https:\/\/|data:image\/)/.test(logo) && URL.canParse(logo))
  ) {
    throw new PaywallError(`logo is an https: address or a data:image/ one of at most ${maxLogo} characters`)
  }
  for (const [name, value] of Object.entries({ ...style, ...(colour === undefined ? {} : { '--accent': colour }) })) {
    if (!property.test(name) || !cssValue.test(value) || /url\(/i.test(value)) {
      throw new PaywallError(`${name}: ${JSON.stringify(value)} is not a custom property with a plain value`)
    }
  }
  if (typeof footer === 'object' && !isWebAddress(footer.url)) throw new PaywallError('footer.url is no web address')
  const unknown = wallets.find((wallet) => !paywallWallets.includes(wallet))
  if (unknown !== undefined) throw new PaywallError(`there is no wallet ${unknown}: ${paywallWallets.join(', ')}`)
  if (kmd !== undefined && !isWebAddress(kmd.url)) throw new PaywallError('kmd.url is no web address')
}

function isWebAddress(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
}

/** Which wallets know which public networks. On one of one's own only Lute and a key daemon do. */
const walletNetworks: { readonly [wallet in PaywallWallet]: readonly string[] | undefined } = {
  pera: ['Algorand MainNet', 'Algorand TestNet', 'Algorand BetaNet'],
  defly: ['Algorand MainNet', 'Algorand TestNet'],
  lute: undefined,
  exodus: ['Algorand MainNet'],
  kibisis: ['Algorand MainNet', 'Algorand TestNet', 'Algorand BetaNet'],
}

export type Way = { readonly wallet: PaywallWallet | 'kmd'; readonly label: string }

const labels = { pera: 'Pera', defly: 'Defly', lute: 'Lute', exodus: 'Exodus', kibisis: 'Kibisis' } as const

export function waysFor({ network }: PaywallOffer, { wallets = paywallWallets, kmd }: PaywallOptions): Way[] {
  const able = wallets.filter((wallet) => walletNetworks[wallet]?.includes(network.name) ?? true)
  const own: Way[] = kmd === undefined || network.isReal ? [] : [{ wallet: 'kmd', label: 'Local key daemon' }]
  return [...own, ...able.map((wallet): Way => ({ wallet, label: labels[wallet] }))]
}

export type RenderedPaywall = { readonly html: string; readonly policy: string }

export function paywallPage(page: PaywallPage, options: PaywallOptions = {}): RenderedPaywall {
  const ways = page.offers.map((offer) => waysFor(offer, options))
  const isKmdOffered = ways.flat().some(({ wallet }) => wallet === 'kmd')
  const { name, kmd } = options
  const data = {
    required: page.required,
    offers: page.offers.map((offer, index) => ({ ...offer, ways: ways[index] })),
    name: name ?? '',
    ...(isKmdOffered ? { kmd } : {}),
  }
  return { html: htmlOf(page, options, data), policy: policyOf(ways.flat(), options) }
}

function htmlOf(page: PaywallPage, options: PaywallOptions, data: object): string {
  const { script, style } = fileNames()
  const [first] = page.offers
  const title = clip(page.title)
  const { logo, colour } = options
  const properties = Object.entries({ ...coloursOf(colour), ...options.style })
  const brandStyle = properties.map(([key, value]) => `${key}:${value}`).join(';')
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${escapeText(`${priceOf(first!)} · ${title}`)}</title>
<link rel="icon" href="${logo === undefined ? 'data:,' : escapeText(logo)}">
<link rel="stylesheet" href="?x402-page=${style}">
${brandStyle === '' ? '' : `<style>:root{${brandStyle}}</style>`}
</head>
<body>
<main class="card">
${brandOf(options)}<h1><bdi>${escapeText(title)}</bdi></h1>
<p class="address"><bdi>${escapeText(clip(page.address))}</bdi></p>
<div data-price-block>
<p class="price" data-price>${escapeText(priceOf(first!))}</p>
<p class="terms"><span data-terms>${escapeText(first!.dollars === undefined ? `on ${first!.network.name}` : termsOf(first!))}</span> <span class="money${first!.network.isReal ? ' real' : ''}" data-money>${moneyOf(first!)}</span></p>
</div>
${page.offers.length > 1 ? choiceOf(page.offers) : ''}<div data-pay>
<noscript><p class="note">Paying from this page needs JavaScript. Programs pay by the header PAYMENT-REQUIRED: see <a href="https://x402.org">x402.org</a>.</p></noscript>
</div>
<div class="status" role="status" aria-live="polite" data-status></div>
<dl class="facts" data-facts>
<div><dt>Paid to</dt><dd class="id" data-payee title="${escapeText(first!.payTo)}">${escapeText(shortOf(first!.payTo))}</dd></div>
<div><dt>Network fee</dt><dd data-fee>${first!.isFeePaid ? 'paid for you' : 'a small fee in ALGO'}</dd></div>
</dl>
</main>
<section class="answer" data-answer hidden aria-label="What you paid for"></section>
${footerOf(options)}<script type="application/json" id="x402">${jsonText(data)}</script>
<script type="module" src="?x402-page=${script}"></script>
</body>
</html>
`
}

/** The seller's colour, and one to write on it with, if it can be told how light it is. */
function coloursOf(colour: string | undefined): { [property: string]: string } {
  if (colour === undefined) return {}
  const digits = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(colour)?.[1]
  if (digits === undefined) return { '--accent': colour }
  const [red, green, blue] = digits.match(digits.length === 3 ? /./g : /../g)!.map((one) => {
    return Number.parseInt(one.padEnd(2, one), 16)
  }) as [number, number, number]
  const isLight = 0.299 * red + 0.587 * green + 0.114 * blue > 150
  return { '--accent': colour, '--on-accent': isLight ? '#111' : '#fff' }
}

function brandOf({ name, logo }: PaywallOptions): string {
  if (name === undefined && logo === undefined) return ''
  const image = logo === undefined ? '' : `<img src="${escapeText(logo)}" alt="" width="28" height="28">`
  return `<p class="brand">${image}<bdi>${escapeText(clip(name ?? ''))}</bdi></p>\n`
}

function choiceOf(offers: readonly PaywallOffer[]): string {
  const rows = offers.map((offer, index) => {
    const input = `<input type="radio" name="offer" value="${index}"${index === 0 ? ' checked' : ''}>`
    return `<label>${input}<span>${escapeText(termsOf(offer))}</span></label>`
  })
  return `<fieldset class="choice" data-choice><legend>Pay with</legend>${rows.join('')}</fieldset>\n`
}

function footerOf({ footer }: PaywallOptions): string {
  if (footer === undefined) return ''
  const inner =
    typeof footer === 'string'
      ? escapeText(clip(footer))
      : `<a href="${escapeText(footer.url)}" rel="noreferrer">${escapeText(clip(footer.text))}</a>`
  return `<footer>${inner}</footer>\n`
}

export function priceOf({ dollars, amount, unit }: PaywallOffer): string {
  return dollars === undefined ? `${amount} ${clip(unit, 12)}` : `$${dollars}`
}

function termsOf({ amount, unit, network }: PaywallOffer): string {
  return `${amount} ${clip(unit, 12)} on ${network.name}`
}

function moneyOf({ network }: PaywallOffer): string {
  return network.isReal ? 'Real money' : 'Test money'
}

function shortOf(address: string): string {
  return `${address.slice(0, 6)}…${address.slice(-6)}`
}

const peraSites = 'https://web.perawallet.app'

/** Scripts are the page's own file and nothing else; who may be talked to follows from the wallets that are offered. */
function policyOf(ways: readonly Way[], { logo, kmd }: PaywallOptions): string {
  const has = (...wallets: Way['wallet'][]): boolean => ways.some(({ wallet }) => wallets.includes(wallet))
  const connect = [
    "'self'",
    // Their bridges are many, and named by a list that the wallet fetches; their pictures are in the script.
    ...(has('pera', 'defly') ? ['https:', 'wss:', 'data:'] : []),
    ...(has('kmd') ? [new URL(kmd!.url).origin] : []),
  ]
  const images = ["'self'", 'data:', 'blob:', ...(logo?.startsWith('https:') ? [new URL(logo).origin] : [])]
  return [
    "default-src 'none'",
    "script-src 'self'",
    // The dialogs of Pera and Defly, and pages that are paid for, bring their styles with them.
    "style-src 'self' 'unsafe-inline'",
    `img-src ${images.join(' ')}`,
    `connect-src ${connect.join(' ')}`,
    ...(has('pera') ? [`frame-src ${peraSites}`] : []),
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Not where the packages were installed from their sources without a bundler. */
export function isPaywallBuilt(): boolean {
  return existsSync(new URL('./paywall/assets/', import.meta.url))
}

type Packed = PageFile & { readonly gzip: () => Buffer }

let files: Map<string, Packed> | undefined

/** By the name that the page calls it by; the only names there are. Read when first asked for, and kept. */
export function paywallFile(name: string): Packed | undefined {
  return packed().get(name)
}

function packed(): Map<string, Packed> {
  files ??= new Map(
    [...filesOf('paywall')].map(([path, file]) => {
      let gzip: Buffer | undefined
      const pack = (): Buffer => {
        gzip ??= gzipSync(file.body, { level: 9 })
        return gzip
      }
      return [path.replace(/^assets\//, ''), { ...file, gzip: pack }]
    }),
  )
  return files
}

function fileNames(): { script: string; style: string } {
  const names = [...packed().keys()]
  const named = (ending: string): string => {
    const name = names.find((one) => one.endsWith(ending))
    if (name === undefined) throw new PaywallError(`the page has no ${ending} file: it was not built`)
    return name
  }
  return { script: named('.js'), style: named('.css') }
}

function clip(text: string, length = maxText): string {
  // Nothing that is not seen: marks that turn the writing around, and controls.
  const plain = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ').trim()
  return plain.length > length ? `${plain.slice(0, length - 1)}…` : plain
}

function escapeText(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`)
}

/** In a script that is data: nothing in it can end the element, or turn around what is read of it. */
function jsonText(value: object): string {
  return JSON.stringify(value).replace(/[<>&\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

export class PaywallError extends Error {
  override name = 'PaywallError'
}
