/**
 * Our payment page as a `PaywallProvider` of the published packages. Their servers take the page as one text, from a
 * function that cannot wait. The page requests its files and the parameters of a transaction at its own address, so a
 * server answers those requests before its payment middleware.
 */

import { PagesError, type PaywallOffer } from '@latchkey/pages/paywall'
import type { PaymentRequired, PaymentRequirements } from '@latchkey/x402-wire'
import { type AssetInfo, algoAssetId, type Chain, chainList, parseAssetId } from '../chain/Chain.js'
import { warn } from '../errors.js'
import { describeOffer, Paywall, type PaywallOptions, renderPage } from '../server/paywall/Paywall.js'

/** The part of the published packages' settings that the page uses. */
export type PaywallConfig = { readonly appName?: string | undefined; readonly [name: string]: unknown }

/** The interface of the published packages. */
export type PaywallProvider = {
  generateHtml: (paymentRequired: PaymentRequired, config?: PaywallConfig) => string
}

/** Options of {@link AlgorandPaywall.open}. */
export type AlgorandPaywallOptions = PaywallOptions & {
  /** The networks that the page takes payments on. */
  readonly chains: Chain | readonly Chain[]
  /** Shows prices that are not on these networks. Without it, such a price gets a short text. */
  readonly others?: PaywallProvider | undefined
  /**
   * Called with errors that are not the buyer's fault.
   *
   * @default writes a warning to the console
   */
  readonly onError?: ((error: unknown) => void) | undefined
}

/**
 * The payment page for servers of the published packages.
 *
 * @example
 * const paywall = await AlgorandPaywall.open({ chains: chain, name: 'Weather Inc' })
 */
export class AlgorandPaywall implements PaywallProvider {
  readonly #options: AlgorandPaywallOptions
  readonly #chains: readonly Chain[]
  readonly #paywall: Paywall
  readonly #assets = new Map<string, AssetInfo>()
  readonly #onError: (error: unknown) => void

  private constructor(options: AlgorandPaywallOptions) {
    this.#options = options
    this.#chains = chainList(options.chains)
    this.#onError = options.onError ?? warn
    this.#paywall = new Paywall(options, () => {
      throw new PagesError('pages_not_built')
    })
  }

  /**
   * Checks the options, and reads the assets that dollars are paid in.
   *
   * @throws PaywallError for options that cannot produce a page
   * @throws PagesError with the code `pages_not_built`
   * @throws OptionsError if no chain is passed
   * @throws AlgodError if no node responds
   */
  static async open(options: AlgorandPaywallOptions): Promise<AlgorandPaywall> {
    const paywall = new AlgorandPaywall(options)
    for (const chain of paywall.#chains) {
      await paywall.#lookUp(chain, algoAssetId)
      if (chain.dollarAssetId !== undefined) await paywall.#lookUp(chain, chain.dollarAssetId)
    }
    return paywall
  }

  /** Renders the page of a price: each offer of the scheme `exact` on one of the networks, once. */
  generateHtml(paymentRequired: PaymentRequired, config: PaywallConfig = {}): string {
    const offers = this.#offers(paymentRequired.accepts)
    if (offers.length === 0) return this.#options.others?.generateHtml(paymentRequired, config) ?? noOffer
    const { chains: _, others: __, onError: ___, ...own } = this.#options
    const options =
      own.name === undefined && typeof config.appName === 'string' ? { ...own, name: config.appName } : own
    const required = { ...paymentRequired, accepts: offers.map(({ requirement }) => requirement) }
    const { html, policy } = renderPage(
      options,
      required,
      offers.map(({ offer }) => offer),
    )
    return withPolicy(html, policy)
  }

  /**
   * Responds to the page's requests for its files, the parameters of a transaction and balances; undefined for every
   * other request.
   */
  async respond(request: Request): Promise<Response | undefined> {
    const accepts = this.#chains.map((chain) => ({
      accept: { network: chain.caip2, price: '$0.01', payTo: '' },
      chain,
    }))
    return this.#paywall.assetResponse(request, accepts)
  }

  #offers(accepts: readonly PaymentRequirements[]): { requirement: PaymentRequirements; offer: PaywallOffer }[] {
    const shown = new Map<string, { requirement: PaymentRequirements; offer: PaywallOffer }>()
    for (const requirement of accepts) {
      const chain = this.#chains.find((one) => one.matches(requirement.network))
      const assetId = parseAssetId(requirement.asset)
      const isPayable = requirement.scheme === 'exact' && /^[1-9][0-9]{0,19}$/.test(requirement.amount)
      if (chain === undefined || assetId === undefined || !isPayable) continue
      // Both ids of a network name the same price.
      const key = [chain.caip2, assetId, requirement.amount, requirement.payTo].join(' ')
      if (shown.has(key)) continue
      const isDollars = assetId === chain.dollarAssetId
      shown.set(key, { requirement, offer: describeOffer(requirement, chain, this.#infoOf(chain, assetId), isDollars) })
    }
    return [...shown.values()]
  }

  /** An asset that is not known yet is shown in base units, and looked up for the next page. */
  #infoOf(chain: Chain, assetId: bigint): AssetInfo {
    const known = this.#assets.get(assetKey(chain, assetId))
    if (known !== undefined) return known
    this.#lookUp(chain, assetId).catch(this.#onError)
    return { assetId, decimals: 0, name: `#${assetId}` }
  }

  async #lookUp(chain: Chain, assetId: bigint): Promise<void> {
    this.#assets.set(assetKey(chain, assetId), await chain.asset(assetId))
  }
}

const assetKey = (chain: Chain, assetId: bigint): string => `${chain.caip2} ${assetId}`

const noOffer = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Payment required</title></head>
<body><p>This price cannot be paid on this page. Programs can pay by using the header PAYMENT-REQUIRED: see
<a href="https://x402.org">x402.org</a>.</p></body></html>
`

/** The published servers set no header of their own, so the page carries its policy. */
function withPolicy(html: string, policy: string): string {
  // Browsers ignore this directive in a page, with an error in their console.
  const usable = policy.replace(/; frame-ancestors [^;]*/, '')
  const element = `<meta http-equiv="Content-Security-Policy" content="${usable.replaceAll('"', '&quot;')}">`
  return html.replace('<meta charset="utf-8">', `<meta charset="utf-8">\n${element}`)
}
