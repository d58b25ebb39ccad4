/**
 * The page for people who open a paid route in a browser. Programs never get it: only a navigation that accepts HTML
 * and carries no payment does. The page requests its files at the paid address, with a query, so that they are found
 * behind every framework, prefix and proxy. The files are served here and never reach the handler.
 */

import { Amount, Bytes, Network } from '@latchkey/algorand'
import {
  checkPaywall,
  errors,
  isPaywallBuilt,
  PaywallError,
  type PaywallOffer,
  type PaywallOptions,
  paywallFile,
  paywallPage,
  type RenderedPaywall,
} from '@latchkey/pages/paywall'
import { PaymentHeaders, type PaymentRequired, type PaymentRequirements } from '@latchkey/x402-wire'
import { type AssetInfo, algoAssetId, type Chain, parseAssetId } from '../../chain/Chain.js'
import { json } from '../gate/responses.js'
import { type Accept, priceOf } from '../routes/Requirements.js'
import { PaywallBalances } from './PaywallBalances.js'

export type { PaywallOptions, PaywallWallet } from '@latchkey/pages/paywall'

/** Creates another page: its HTML, or a response whose status becomes 402. */
export type CustomPaywall = (page: {
  readonly request: Request
  readonly required: PaymentRequired
  readonly message?: string | undefined
}) => Response | string | Promise<Response | string>

/** A requirement of a route, with the option and chain that it was built from. */
export type RouteOffer = { readonly accept: Accept; readonly requirement: PaymentRequirements; readonly chain: Chain }

/** The query parameter with which the page requests its files and data. */
const query = 'x402-page'
const yearSeconds = 31_536_000
/** The headers that some shared caches obey before `Cache-Control` (RFC 9213 and its predecessor). */
const noSharedCache = { 'CDN-Cache-Control': 'no-store', 'Surrogate-Control': 'no-store' }

export class Paywall {
  readonly #options: PaywallOptions | CustomPaywall | undefined
  readonly #balances = new PaywallBalances()

  /** Throws a PaywallError for options that cannot produce a page. */
  constructor(paywall: boolean | PaywallOptions | CustomPaywall = true, onWarning: (text: string) => void = () => {}) {
    if (paywall === false) return
    const options = paywall === true ? {} : paywall
    if (typeof options === 'object') {
      checkPaywall(options)
      if (!isPaywallBuilt()) {
        onWarning(
          `${errors.pages_not_built.message}, so browsers get the JSON response for programs: ${errors.pages_not_built.hint}`,
        )
        return
      }
    }
    this.#options = options
  }

  /** Whether a person reads the response. */
  isFor(request: Request): boolean {
    return this.#options !== undefined && isNavigation(request)
  }

  /** The response to the page's request for a file or for parameters; undefined for every other request. */
  async assetResponse(
    request: Request,
    accepts: readonly { accept: Accept; chain: Chain }[],
  ): Promise<Response | undefined> {
    if (this.#options === undefined || !isRead(request) || !request.url.includes(query)) return undefined
    const { searchParams } = new URL(request.url)
    const name = searchParams.get(query)
    if (name === null) return undefined
    if (name === 'params') return parameters(accepts)
    if (name === 'balances') {
      const chains = accepts.map(({ chain }) => chain)
      return this.#balances.response(searchParams, chains)
    }
    const file = typeof this.#options === 'function' ? undefined : fileResponse(name, request)
    return file ?? json(404, { error: 'the paywall has no such file' })
  }

  async page(request: Request, required: PaymentRequired, offers: readonly RouteOffer[]): Promise<Response> {
    // A person gets every price once. Programs that read the header get it with each id of its network.
    const shown = { ...required, accepts: offers.map(({ requirement }) => requirement) }
    const response =
      typeof this.#options === 'function'
        ? await customPage(this.#options, request, shown)
        : render(this.#options ?? {}, shown, await Promise.all(offers.map(offerOf)))
    response.headers.set(PaymentHeaders.paymentRequired, PaymentHeaders.encode(required))
    response.headers.append('Vary', 'Accept')
    response.headers.set('X-Content-Type-Options', 'nosniff')
    return response
  }
}

function isRead({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** Whether a browser opens the address, according to its headers. */
function isNavigation(request: Request): boolean {
  const { headers } = request
  if (!isRead(request) || headers.has(PaymentHeaders.paymentSignature) || headers.has('X-PAYMENT')) return false
  // Browsers send these headers to secure origins. Not every request for HTML is a navigation.
  if ((headers.get('Sec-Fetch-Mode') ?? 'navigate') !== 'navigate') return false
  if ((headers.get('Sec-Fetch-Dest') ?? 'document') !== 'document') return false
  const html = weightOf(headers.get('Accept') ?? '', 'text/html')
  return html > 0 && html >= weightOf(headers.get('Accept') ?? '', 'application/json')
}

/** The weight of a media type (RFC 9110, 12.4.2). Wildcards do not count, because programs send them. */
function weightOf(accept: string, type: string): number {
  const ranges = accept.slice(0, 2_000).split(',')
  const named = ranges.find((range) => range.split(';')[0]!.trim().toLowerCase() === type)
  if (named === undefined) return 0
  const [, weight = '1'] = /;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*(?:;|$)/i.exec(named) ?? []
  return Number(weight)
}

function fileResponse(name: string, request: Request): Response | undefined {
  const file = paywallFile(name)
  if (file === undefined) return undefined
  const { body, encoding } = file.bodyFor(request.headers.get('Accept-Encoding'))
  return new Response(new Uint8Array(body), {
    headers: {
      'Content-Type': file.type,
      // The name of a file changes with its content. But a shared cache may leave the query out of its key, and would
      // then serve the file as the paid response, or the other way round. Only the browser may store the file.
      'Cache-Control': file.isImmutable ? `private, max-age=${yearSeconds}, immutable` : 'no-store',
      ...noSharedCache,
      'X-Content-Type-Options': 'nosniff',
      Vary: 'Accept-Encoding',
      ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
    },
  })
}

/** The parameters of a transaction, from the seller's nodes, so that the page needs no other server. */
async function parameters(accepts: readonly { accept: Accept; chain: Chain }[]): Promise<Response> {
  const chains = [...new Set(accepts.map(({ chain }) => chain))]
  const networks = await Promise.allSettled(
    chains.map(async (chain) => {
      const { genesisId, genesisHash, lastRound, minFee, feePerByte } = await chain.parameters()
      const named = accepts.filter((one) => one.chain === chain).flatMap(({ accept }) => assetsOf(accept, chain))
      return {
        caip2: chain.caip2,
        genesisId,
        genesisHash: Bytes.toBase64(genesisHash),
        lastRound: Number(lastRound),
        minFee: Number(minFee),
        feePerByte: Number(feePerByte),
        assets: Object.fromEntries(await Promise.all([...new Set(named)].map((id) => assetInfo(chain, id)))),
      }
    }),
  )
  const known = networks.filter((one) => one.status === 'fulfilled').map(({ value }) => value)
  if (known.length > 0) return json(200, { networks: known })
  const response = json(503, { error: 'no node responds; nothing was charged' })
  response.headers.set('Retry-After', '5')
  return response
}

/** The assets that are known without a request to price. */
function assetsOf(accept: Accept, chain: Chain): bigint[] {
  const { extra } = accept
  const price = priceOf(accept)
  const fixed = typeof price === 'object' ? price.asset : extra?.asset
  const id = fixed === undefined ? chain.dollarAssetId : parseAssetId(String(fixed))
  return id === undefined ? [] : [id]
}

async function assetInfo(chain: Chain, assetId: bigint): Promise<[string, object]> {
  const { name, decimals } = await chain.asset(assetId)
  return [assetId.toString(), { unitName: name, decimals }]
}

async function offerOf({ accept, requirement, chain }: RouteOffer): Promise<PaywallOffer> {
  const assetId = parseAssetId(requirement.asset) ?? algoAssetId
  const isDollars = assetId === chain.dollarAssetId || requirement.asset === String(accept.extra?.asset)
  return describeOffer(requirement, chain, await chain.asset(assetId), isDollars)
}

/** Formats a requirement for people. */
export function describeOffer(
  requirement: PaymentRequirements,
  chain: Chain,
  { decimals, name: unit }: Pick<AssetInfo, 'decimals' | 'name'>,
  isDollars: boolean,
): PaywallOffer {
  const amount = Amount.format(BigInt(requirement.amount), decimals)
  return {
    network: { caip2: chain.caip2, ...networkName(chain) },
    dollars: isDollars ? withCents(amount) : undefined,
    amount,
    unit,
    decimals,
    asset: requirement.asset,
    payTo: requirement.payTo,
    isFeePaid: requirement.extra?.['feePayer'] !== undefined,
    ...(requirement.scheme === 'upto' ? { isUpTo: true } : {}),
  }
}

const names: { readonly [name: string]: string } = {
  mainnet: 'Algorand MainNet',
  testnet: 'Algorand TestNet',
  betanet: 'Algorand BetaNet',
}

function networkName({ caip2, genesisHash }: Chain): { name: string; isReal: boolean } {
  const known = Network.known.find((network) => network.caip2 === caip2)
  // A local network may use the id of a public one.
  const isPublic = known?.genesisHash === Bytes.toBase64(genesisHash)
  if (known === undefined || !isPublic) return { name: 'a local network', isReal: false }
  return { name: names[known.name]!, isReal: known === Network.mainnet }
}

/** Formats dollars: `0.5` becomes `0.50`, and `0.001` stays. */
function withCents(amount: string): string {
  const [whole, fraction = ''] = amount.split('.')
  return fraction === '' ? whole! : `${whole}.${fraction.padEnd(2, '0')}`
}

/** Renders the page of a resource. */
export function renderPage(
  options: PaywallOptions,
  required: PaymentRequired,
  offers: readonly PaywallOffer[],
): RenderedPaywall {
  const { url, description = '' } = required.resource
  const { host, pathname, search } = new URL(url)
  const title = description === '' ? pathname : description
  return paywallPage({ title, address: `${host}${pathname}${search}`, url, required, offers }, options)
}

function render(options: PaywallOptions, required: PaymentRequired, offers: readonly PaywallOffer[]): Response {
  const { html, policy } = renderPage(options, required, offers)
  return new Response(html, {
    status: 402,
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy,
      'X-Frame-Options': 'DENY',
      'Referrer-Policy': 'no-referrer',
    },
  })
}

const isCacheHeader = (name: string): boolean =>
  /cache-control$|^surrogate-|^expires$|^(etag|last-modified)$/i.test(name)

async function customPage(paywall: CustomPaywall, request: Request, required: PaymentRequired): Promise<Response> {
  const page = await paywall({ request, required })
  if (typeof page === 'string') {
    return new Response(page, { status: 402, headers: { 'Content-Type': 'text/html; charset=utf-8' } })
  }
  if (!(page instanceof Response)) throw new PaywallError('invalid_paywall_page')
  // Copy the headers first: if `Response` is replaced, reading the body may lose some.
  const headers = new Headers(page.headers)
  const response = new Response(page.body, { status: 402, headers })
  // The page may be made for everyone, but it is at the address of the paid response, so it must not be cached.
  for (const name of [...response.headers.keys()].filter(isCacheHeader)) response.headers.delete(name)
  return response
}
