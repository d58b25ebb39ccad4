/** The HTML of the paywall. Titles, units and addresses come from third parties and are always escaped. */
import { Amount } from '@latchkey/algorand'
import { clip, escapeJson, escapeText } from './escape.js'
import { passTerms } from './passTerms.js'
import { helpElement } from './paywallHelp.js'
import type { PaywallOffer, PaywallOptions, WalletOffer } from './paywallOptions.js'

/** The content of the paywall. */
export type PaywallPage = {
  readonly title: string
  /** The paid URL, formatted for people. */
  readonly address: string
  /** The paid URL, for a command that pays it. Without it no command is shown. */
  readonly url?: string | undefined
  /** The content of the header PAYMENT-REQUIRED. */
  readonly required: object
  /** One offer for each entry of `required.accepts`, in the same order. At least one. */
  readonly offers: readonly PaywallOffer[]
}

export type HtmlPage = Omit<PaywallPage, 'offers'> & { readonly offers: readonly WalletOffer[] }

export type HtmlOptions = PaywallOptions & {
  /** The names of the page's files, and the styles that it contains. */
  readonly files: {
    readonly script: string
    readonly style: string
    readonly logos: string
    readonly firstStyles: string
  }
  /** The data for the script. */
  readonly data: object
}

const maxUnitLength = 12

export function paywallHtml(page: HtmlPage, options: HtmlOptions): string {
  const { logo, files } = options
  const title = clip(page.title)
  const [first] = page.offers
  const { network, payTo, isFeePaid, dollars } = first!
  const pass = passTerms(page.required)
  const terms = dollars === undefined ? `on ${network.name}` : formatTerms(first!)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>${escapeText(`${formatPrice(first!)} · ${title}`)}</title>
<link rel="icon" href="${logo === undefined ? 'data:,' : escapeText(logo)}">
${styleElement(options)}
</head>
<body>
<main class="card">
${brandElement(options)}<h1><bdi>${escapeText(title)}</bdi></h1>
<p class="address"><bdi>${escapeText(clip(page.address))}</bdi></p>
<div data-price-block>
<p class="price" data-price>${escapeText(formatPrice(first!))}</p>
<p class="terms"><span data-terms>${escapeText(terms)}</span> <span class="money${network.isReal ? ' real' : ''}" data-money>${network.isReal ? 'Real money' : 'Test money'}</span></p>
</div>
${page.offers.length > 1 ? offersElement(page.offers) : ''}<div data-pay>
${walletsElement(first!)}
<noscript><style>.needs-script{display:none}</style><p class="note">Paying on this page needs JavaScript. Programs can pay by using the header PAYMENT-REQUIRED: see <a href="https://x402.org">x402.org</a>.</p></noscript>
</div>
<div class="status" role="status" aria-live="polite" data-status><p class="late needs-script">The page has not fully loaded. If this message stays, <a href="">reload the page</a>.</p></div>
${page.offers.map((offer, index) => helpElement(offer, { index, url: page.url })).join('\n')}
<dl class="facts" data-facts>
<div class="payee"><dt>Paid to</dt><dd class="id" data-payee>${escapeText(payTo)}</dd></div>
${pass === undefined ? '' : `<div><dt>One payment opens it</dt><dd data-pass>${escapeText(pass)}</dd></div>\n`}<div><dt>Network fee</dt><dd data-fee>${isFeePaid ? 'paid for you' : 'a small fee in ALGO'}</dd></div>
</dl>
</main>
<section class="paid-content" data-content hidden aria-label="Paid content"></section>
${footerElement(options)}<script type="application/json" id="x402">${escapeJson(options.data)}</script>
<link rel="stylesheet" href="?x402-page=${files.style}">
<script type="module" src="?x402-page=${files.script}"></script>
</body>
</html>
`
}

/** The price of an offer: `$0.01`, `2.5 ALGO` if it is not in dollars, or `up to $0.50` for a price by usage. */
export function formatPrice({ dollars, amount, unit, isUpTo }: PaywallOffer): string {
  const units = `${Amount.group(amount)} ${clip(unit, maxUnitLength)}`
  return `${isUpTo ? 'up to ' : ''}${dollars === undefined ? units : `$${Amount.group(dollars)}`}`
}

function formatTerms({ amount, unit, network, isUpTo }: PaywallOffer): string {
  return `${isUpTo ? 'up to ' : ''}${Amount.group(amount)} ${clip(unit, maxUnitLength)} on ${network.name}`
}

/**
 * The styles of the first paint, which then needs no request; the seller's colours; and the URL of the logos, which
 * nothing waits for.
 */
function styleElement({ colour, style, files }: HtmlOptions): string {
  const properties = Object.entries({ ...accentColours(colour), ...style })
  const root =
    properties.length === 0 ? '' : `:root{${properties.map(([name, value]) => `${name}:${value}`).join(';')}}`
  return `<style>${files.firstStyles.trim()}</style>
<style>${root}.logo{background-image:url("?x402-page=${files.logos}")}</style>`
}

/** The accent colour, and a text colour with enough contrast if the accent is given in hexadecimal. */
function accentColours(colour: string | undefined): { [property: string]: string } {
  if (colour === undefined) return {}
  const digits = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(colour)?.[1]
  if (digits === undefined) return { '--accent': colour }
  const [red, green, blue] = digits.match(digits.length === 3 ? /./g : /../g)!.map((channel) => {
    return Number.parseInt(channel.padEnd(2, channel), 16)
  }) as [number, number, number]
  const isLight = 0.299 * red + 0.587 * green + 0.114 * blue > 150
  return { '--accent': colour, '--on-accent': isLight ? '#111' : '#fff' }
}

function brandElement({ name, logo }: PaywallOptions): string {
  if (name === undefined && logo === undefined) return ''
  const image = logo === undefined ? '' : `<img src="${escapeText(logo)}" alt="" width="28" height="28">`
  return `<p class="brand">${image}<bdi>${escapeText(clip(name ?? ''))}</bdi></p>\n`
}

/** The script has the same text. */
const byUsage =
  'The seller charges what is used, and never more. Wallets cannot sign a price by usage yet: pay from a terminal or a program.'

/**
 * Renders the same markup as the script. The buttons are in place immediately and become usable once the script has
 * loaded.
 */
function walletsElement({ wallets, network, isUpTo }: WalletOffer): string {
  if (isUpTo) return `<p class="note">${byUsage}</p>`
  if (wallets.length === 0) return `<p class="note">No supported wallet can pay on ${escapeText(network.name)}.</p>`
  const kind = wallets.length === 1 ? 'main' : 'plain'
  const buttons = wallets.map(({ wallet, label }) => {
    const logo = `<span class="logo" data-wallet="${wallet}"></span>`
    return `<button type="button" class="${kind} wallet" disabled>${logo}${escapeText(label)}</button>`
  })
  return `<h2 class="needs-script">Pay from</h2><div class="wallets needs-script">${buttons.join('')}</div>`
}

function offersElement(offers: readonly PaywallOffer[]): string {
  const labels = offers.map((offer, index) => {
    const input = `<input type="radio" name="offer" value="${index}"${index === 0 ? ' checked' : ''}>`
    return `<label>${input}<span>${escapeText(formatTerms(offer))}</span></label>`
  })
  return `<fieldset class="offers" data-offers><legend>Pay with</legend>${labels.join('')}</fieldset>\n`
}

function footerElement({ footer }: PaywallOptions): string {
  if (footer === undefined) return ''
  const content =
    typeof footer === 'string'
      ? escapeText(clip(footer))
      : `<a href="${escapeText(footer.url)}" rel="noreferrer">${escapeText(clip(footer.text))}</a>`
  return `<footer>${content}</footer>\n`
}
