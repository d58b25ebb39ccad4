/**
 * The documents by which crawlers and agents find paid routes: `/openapi.json` with the price of each operation, and
 * `/.well-known/x402`, the short list that older crawlers read. Both are generated from the routes of the gate.
 */
import { Amount } from '@latchkey/algorand'
import { type Discovery, type Money, Prices } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import { type Accept, priceOf, type UpToPrice, usagePrice } from './Requirements.js'
import type { RouteDiscovery } from './RouteDiscovery.js'

/** How a gate presents its routes to crawlers. */
export type DiscoveryOptions = {
  /** The title of the API. */
  readonly title: string
  /**
   * The version of the API.
   *
   * @default '1.0.0'
   */
  readonly version?: string | undefined
  /**
   * A description of the API.
   *
   * @default none
   */
  readonly description?: string | undefined
  /**
   * Advice for agents that use the API: what it is good for, and in which order to call its routes.
   *
   * @default none
   */
  readonly guidance?: string | undefined
  /**
   * The e-mail address of the seller, with which catalogues confirm who owns the API.
   *
   * @default none
   */
  readonly contactEmail?: string | undefined
}

/** The price of a route in dollars. */
export type DollarPrice =
  | { readonly type: 'fixed'; readonly amount: string }
  /** A function chooses the price. */
  | { readonly type: 'dynamic'; readonly min: string; readonly max: string }
  /** The route is paid in another asset. */
  | { readonly type: 'other' }

/** The options of a route that the documents show. */
export type ShownRoute = Pick<Discovery.Service, 'tags'> & {
  readonly description?: string | undefined
  readonly mimeType?: string | undefined
  readonly priceRange?: { readonly min: Money; readonly max: Money } | undefined
}

/** A route with its description and its price. */
export type ListedRoute = {
  readonly key: string
  /** The segments that precede the path of the route. */
  readonly prefix: string
  readonly route: ShownRoute
  readonly discovery: RouteDiscovery
  readonly price: DollarPrice
}

export const openApiPath = '/openapi.json'
export const wellKnownPath = '/.well-known/x402'

const allMethods = ['get', 'post', 'put', 'patch', 'delete']

/** How long clients and proxies may keep the documents. */
const cacheSeconds = 300

/**
 * The response to a request for one of the documents; undefined for other requests. The documents contain the origin of
 * the server. If the seller has not set it, it comes from the Host header, and no cache may keep the response: a client
 * could otherwise have others pay at a host of its choice.
 *
 * @param publicOrigin the origin that the seller has set
 */
export function documentFor(
  { method, url, path }: { readonly method: string; readonly url: string; readonly path: string },
  options: DiscoveryOptions,
  listed: () => readonly ListedRoute[],
  publicOrigin: string | undefined,
): Response | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  const origin = publicOrigin ?? new URL(url).origin
  const write = {
    [openApiPath]: () => openApi(options, listed(), origin),
    [wellKnownPath]: () => wellKnown(listed(), origin),
  }
  const document = write[path.replace(/\?.*$/s, '') as keyof typeof write]?.()
  if (document === undefined) return undefined
  const caching = publicOrigin === undefined ? 'no-store' : `public, max-age=${cacheSeconds}`
  const headers = { 'Content-Type': 'application/json', 'Cache-Control': caching }
  return new Response(method === 'HEAD' ? null : `${JSON.stringify(document)}\n`, { headers })
}

/** The price of a route in dollars, if it can be paid in the network's dollar. */
export function dollarPrice(route: ShownRoute, accepts: readonly { accept: Accept; chain: Chain }[]): DollarPrice {
  for (const { accept, chain } of accepts) {
    const { extra } = accept
    const price = priceOf(accept)
    const usage = usagePrice(accept)
    if (typeof price === 'function') {
      const { min, max } = route.priceRange ?? { min: '0', max: undefined }
      if (max !== undefined) return { type: 'dynamic', min: dollars(min), max: dollars(max) }
      continue
    }
    const dollar = chain.dollarAssetId?.toString()
    if (typeof price === 'object') {
      if (price.asset === dollar) return listed(dollars(Amount.format(BigInt(price.amount), 6)), usage)
    } else if (extra?.asset === undefined || String(extra.asset) === dollar) {
      return listed(dollars(price), usage)
    }
  }
  return { type: 'other' }
}

/** A price by usage is listed with its range. */
function listed(amount: string, usage: UpToPrice | undefined): DollarPrice {
  return usage === undefined ? { type: 'fixed', amount } : { type: 'dynamic', min: dollars('0'), max: amount }
}

function dollars(price: Money): string {
  const { whole, fraction } = Prices.parse(price)
  return `${whole}.${fraction.padEnd(6, '0')}`
}

/** The OpenAPI document of the paid routes. */
export function openApi(
  { title, version = '1.0.0', description, guidance, contactEmail }: DiscoveryOptions,
  routes: readonly ListedRoute[],
  origin: string,
): object {
  const paths: { [path: string]: { [method: string]: object } } = {}
  for (const listed of routes) {
    const { methods, path, parameters } = placeOf(listed)
    paths[path] ??= {}
    for (const method of methods) paths[path][method] ??= operationOf(listed, method, parameters)
  }
  return {
    openapi: '3.1.0',
    info: {
      title,
      version,
      ...(description === undefined ? {} : { description }),
      ...(guidance === undefined ? {} : { 'x-guidance': guidance }),
      ...(contactEmail === undefined ? {} : { contact: { email: contactEmail } }),
    },
    servers: [{ url: origin }],
    paths,
  }
}

/** The list of paid routes for older crawlers. */
export function wellKnown(routes: readonly ListedRoute[], origin: string): object {
  const resources = routes.flatMap((listed) => {
    const { methods, path } = placeOf(listed)
    return methods.map((method) => (method === 'get' ? `${origin}${path}` : `${method.toUpperCase()} ${path}`))
  })
  return { version: 1, resources: [...new Set(resources)], openapi: `${origin}${openApiPath}` }
}

type Place = { readonly methods: readonly string[]; readonly path: string; readonly parameters: readonly string[] }

/** The methods and the path of a route, as OpenAPI writes them. */
function placeOf({ key, prefix, discovery }: ListedRoute): Place {
  const method = /^\s*([A-Za-z]+)\s/.exec(key)?.[1]?.toLowerCase()
  const segments = discovery.template.map((segment) => segment.replace(/^:(.+)$/, '{$1}'))
  const parameters = discovery.template.filter((segment) => segment.startsWith(':')).map((name) => name.slice(1))
  const methods = method === undefined ? allMethods : [method]
  return { methods, path: `${prefix}/${segments.join('/')}`, parameters }
}

function operationOf(listed: ListedRoute, method: string, parameters: readonly string[]): object {
  const { route, discovery, price } = listed
  const described = discovery.description ?? {}
  const success = { description: 'The response to a paid request', ...contentOf(route, described.output) }
  return {
    operationId: operationId(method, discovery.template),
    summary: route.description || `${method.toUpperCase()} ${listed.key.replace(/^\s*[A-Za-z]+\s+/, '')}`,
    ...(route.tags === undefined ? {} : { tags: route.tags }),
    // A payment is not a security scheme of OpenAPI. Crawlers read the empty list as "no key is required".
    security: [],
    parameters: [...pathParameters(parameters, described), ...queryParameters(described)],
    ...(described.body === undefined || !['post', 'put', 'patch'].includes(method) ? {} : bodyOf(described)),
    responses: { '200': success, '402': { description: 'Payment required' } },
    'x-payment-info': { ...listedPrice(price), protocols: [{ x402: {} }] },
  }
}

function listedPrice(price: DollarPrice): object {
  if (price.type === 'other') return {}
  const { type, ...amounts } = price
  return { price: { mode: type, currency: 'USD', ...amounts } }
}

function operationId(method: string, template: readonly string[]): string {
  const words = template.map((segment) => segment.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_|_$/g, ''))
  return [method, ...words].filter((word) => word !== '').join('_')
}

function pathParameters(names: readonly string[], { path }: Discovery.Description): object[] {
  return names.map((name) => ({ name, in: 'path', required: true, schema: propertiesOf(path)[name] ?? textSchema }))
}

const textSchema = { type: 'string' }

function queryParameters({ query, example }: Discovery.Description): object[] {
  const required = Array.isArray(query?.['required']) ? (query['required'] as unknown[]) : []
  return Object.entries(propertiesOf(query)).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
    ...(example?.query?.[name] === undefined ? {} : { example: example.query[name] }),
  }))
}

function propertiesOf(schema: Discovery.JsonSchema | undefined): { readonly [name: string]: unknown } {
  const properties = schema?.['properties']
  return typeof properties === 'object' && properties !== null ? (properties as { [name: string]: unknown }) : {}
}

const mediaTypes = { json: 'application/json', 'form-data': 'multipart/form-data', text: 'text/plain' }

function bodyOf({ body, bodyType = 'json', example }: Discovery.Description): object {
  const content = { [mediaTypes[bodyType]]: { schema: body, example: example?.body } }
  return { requestBody: { required: true, content } }
}

function contentOf({ mimeType }: ShownRoute, output: Discovery.Description['output']): object {
  if (output === undefined) return {}
  const { schema = {}, example } = output
  const media = { schema, ...(example === undefined ? {} : { example }) }
  return { content: { [mimeType || 'application/json']: media } }
}
