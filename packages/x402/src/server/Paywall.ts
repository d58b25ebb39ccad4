/**
 * What people see who open a paid route in a browser. Programs never get it: only who asks for a page by name, and has
 * no payment to show. The page's own files are asked for at the paid address, by a query, so that they are found behind
 * every framework, prefix and proxy; they are answered here and never reach what is paid for.
 */
import { Network } from '@latchkey/algorand'
import {
  checkPaywall,
  isPaywallBuilt,
  PaywallError,
  type PaywallOffer,
  type PaywallOptions,
  paywallFile,
  paywallPage,
} from '@latchkey/pages/paywall'
import { algoAssetId, type Chain, parseAssetId } from '../chain/Chain.js'
import * as Price from '../Price.js'
import * as Headers from '../wire/Headers.js'
import type { PaymentRequired, PaymentRequirements } from '../wire/types.js'
import type { Accept } from './Requirements.js'
import { json } from './responses.js'

export type { PaywallOptions, PaywallWallet } from '@latchkey/pages/paywall'

/** A page of one's own: its text, or an answer whose status becomes 402. */
export type OwnPaywall = (page: {
  readonly request: Request
  readonly required: PaymentRequired
  readonly message?: string | undefined
}) => Response | string | Promise<Response | string>

/** What is asked for, with where it comes from. */
export type Asked = { readonly accept: Accept; readonly requirement: PaymentRequirements; readonly chain: Chain }

/** The query by which the page asks for what it needs. */
const query = 'x402-page'
const yearSeconds = 31_536_000

export class Paywall {
  readonly #options: PaywallOptions | OwnPaywall | undefined

  /** Throws a PaywallError for what no page could be made of. */
  constructor(paywall: boolean | PaywallOptions | OwnPaywall = true, onWarning: (text: string) => void = () => {}) {
    if (paywall === false) return
    const options = paywall === true ? {} : paywall
    if (typeof options === 'object') checkPaywall(options)
    if (typeof options === 'object' && !isPaywallBuilt()) {
      onWarning('the page for browsers was not built, and people get JSON as programs do: run npm run build')
      return
    }
    this.#options = options
  }

  /** Whether a person is to read the answer. */
  isFor(request: Request): boolean {
    return this.#options !== undefined && isNavigation(request)
  }

  /** What a page of a route asked for besides the route itself; undefined if it is a request like any other. */
  async aside(request: Request, accepts: readonly { accept: Accept; chain: Chain }[]): Promise<Response | undefined> {
    if (this.#options === undefined || !isRead(request) || !request.url.includes(query)) return undefined
    const name = new URL(request.url).searchParams.get(query)
    if (name === null) return undefined
    if (name === 'params') return parameters(accepts)
    const file = typeof this.#options === 'function' ? undefined : fileAnswer(name, request)
    return file ?? json(404, { error: 'the page has no such file' })
  }

  async page(request: Request, required: PaymentRequired, asked: readonly Asked[]): Promise<Response> {
    const response =
      typeof this.#options === 'function'
        ? await ownPage(this.#options, request, required)
        : render(this.#options ?? {}, required, await Promise.all(asked.map(offerOf)))
    response.headers.set(Headers.paymentRequired, Headers.encode(required))
    response.headers.append('Vary', 'Accept')
    response.headers.set('X-Content-Type-Options', 'nosniff')
    return response
  }
}

function isRead({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD'
}

/** A browser that opens the address, by all that it says of itself. */
function isNavigation(request: Request): boolean {
  const { headers } = request
  if (!isRead(request) || headers.has(Headers.paymentSignature) || headers.has('X-PAYMENT')) return false
  // Browsers say where an answer goes, to addresses they hold safe: not every request for HTML is a page that is seen.
  if ((headers.get('Sec-Fetch-Mode') ?? 'navigate') !== 'navigate') return false
  if ((headers.get('Sec-Fetch-Dest') ?? 'document') !== 'document') return false
  const html = weightOf(headers.get('Accept') ?? '', 'text/html')
  return html > 0 && html >= weightOf(headers.get('Accept') ?? '', 'application/json')
}

/** RFC 9110, 12.4.2; of what is named by its own name; by stars is how programs ask. */
function weightOf(accept: string, type: string): number {
  const ranges = accept.slice(0, 2_000).split(',')
  const named = ranges.find((range) => range.split(';')[0]!.trim().toLowerCase() === type)
  if (named === undefined) return 0
  const [, weight = '1'] = /;\s*q\s*=\s*([01](?:\.[0-9]{0,3})?)\s*(?:;|$)/i.exec(named) ?? []
  return Number(weight)
}

function fileAnswer(name: string, request: Request): Response | undefined {
  const file = paywallFile(name)
  if (file === undefined) return undefined
  const isPacked = /(^|,)\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*(,|$))[^,]*)?(,|$)/i.test(
    request.headers.get('Accept-Encoding') ?? '',
  )
  return new Response(new Uint8Array(isPacked ? file.gzip() : file.body), {
    headers: {
      'Content-Type': file.type,
      // Named by its content; and the same for everybody.
      'Cache-Control': file.isImmutable ? `public, max-age=${yearSeconds}, immutable` : 'no-store',
      'X-Content-Type-Options': 'nosniff',
      Vary: 'Accept-Encoding',
      ...(isPacked ? { 'Content-Encoding': 'gzip' } : {}),
    },
  })
}

/** What a payment is made from, by the seller's own nodes: whoever pays needs no other. */
async function parameters(accepts: readonly { accept: Accept; chain: Chain }[]): Promise<Response> {
  const chains = [...new Set(accepts.map(({ chain }) => chain))]
  const networks = await Promise.allSettled(
    chains.map(async (chain) => {
      const { genesisId, genesisHash, lastRound, minFee, feePerByte } = await chain.parameters()
      const named = accepts.filter((one) => one.chain === chain).flatMap(({ accept }) => assetsOf(accept, chain))
      return {
        caip2: chain.caip2,
        genesisId,
        genesisHash: Buffer.from(genesisHash).toString('base64'),
        lastRound: Number(lastRound),
        minFee: Number(minFee),
        feePerByte: Number(feePerByte),
        assets: Object.fromEntries(await Promise.all([...new Set(named)].map((id) => assetFacts(chain, id)))),
      }
    }),
  )
  const known = networks.filter((one) => one.status === 'fulfilled').map(({ value }) => value)
  if (known.length > 0) return json(200, { networks: known })
  const response = json(503, { error: 'no node answers just now; nothing was charged' })
  response.headers.set('Retry-After', '5')
  return response
}

/** Those that are known before anybody asks what a request costs. */
function assetsOf({ price, extra }: Accept, chain: Chain): bigint[] {
  const fixed = typeof price === 'object' ? price.asset : extra?.asset
  const id = fixed === undefined ? chain.dollarAssetId : parseAssetId(String(fixed))
  return id === undefined ? [] : [id]
}

async function assetFacts(chain: Chain, assetId: bigint): Promise<[string, object]> {
  const { name, decimals } = await chain.asset(assetId)
  return [assetId.toString(), { unitName: name, decimals }]
}

async function offerOf({ accept, requirement, chain }: Asked): Promise<PaywallOffer> {
  const assetId = parseAssetId(requirement.asset) ?? algoAssetId
  const { decimals, name: unit } = await chain.asset(assetId)
  const amount = Price.text(BigInt(requirement.amount), decimals)
  const isDollars = assetId === chain.dollarAssetId || requirement.asset === String(accept.extra?.asset)
  return {
    network: { caip2: chain.caip2, ...networkName(chain) },
    dollars: isDollars ? withCents(amount) : undefined,
    amount,
    unit,
    decimals,
    asset: requirement.asset,
    payTo: requirement.payTo,
    isFeePaid: requirement.extra['feePayer'] !== undefined,
  }
}

const names: { readonly [name: string]: string } = {
  mainnet: 'Algorand MainNet',
  testnet: 'Algorand TestNet',
  betanet: 'Algorand BetaNet',
}

function networkName({ caip2, genesisHash }: Chain): { name: string; isReal: boolean } {
  const known = Network.known.find((network) => network.caip2 === caip2)
  // A local network may go by another's name.
  const isItself = known?.genesisHash === Buffer.from(genesisHash).toString('base64')
  if (known === undefined || !isItself) return { name: 'a local network', isReal: false }
  return { name: names[known.name]!, isReal: known === Network.mainnet }
}

/** As dollars are written: `0.5` is `0.50`, and `0.001` stays. */
function withCents(amount: string): string {
  const [whole, fraction = ''] = amount.split('.')
  return fraction === '' ? whole! : `${whole}.${fraction.padEnd(2, '0')}`
}

function render(options: PaywallOptions, required: PaymentRequired, offers: readonly PaywallOffer[]): Response {
  const { url, description = '' } = required.resource
  const { host, pathname, search } = new URL(url)
  const title = description === '' ? pathname : description
  const { html, policy } = paywallPage({ title, address: `${host}${pathname}${search}`, required, offers }, options)
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

async function ownPage(own: OwnPaywall, request: Request, required: PaymentRequired): Promise<Response> {
  const made = await own({ request, required })
  if (typeof made === 'string') {
    return new Response(made, { status: 402, headers: { 'Content-Type': 'text/html; charset=utf-8' } })
  }
  if (!(made instanceof Response)) throw new PaywallError('invalid_paywall_page')
  return new Response(made.body, { status: 402, headers: made.headers })
}
