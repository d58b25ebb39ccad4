/** Makes a listing of the 402 of a seller, if it confirms the payment that was settled. */
import { Json, Network, VisibleText } from '@latchkey/algorand'
import { Discovery, type PaymentRequired, type PaymentRequirements } from '@latchkey/x402-wire'
import type { Listing, ListingContent } from '../store/Listings.js'
import { isBounded, isValidInfo } from './checkInfo.js'
import { addressOf, keyOf, type ListingClaim, resourceUrl, templateOf, toolKey, toolMethod } from './ListingClaim.js'

/** A payment that was settled for a resource. */
export type SettledPayment = {
  readonly payTo: string
  readonly asset: string
  /** The canonical id. */
  readonly network: string
  readonly settledMs: number
}

export type Confirmation =
  | { readonly type: 'listed'; readonly listing: Listing }
  /** The seller sells the resource, and does not describe it for catalogues. */
  | { readonly type: 'undescribed'; readonly key: string }
  /** The seller does not confirm the payment. */
  | { readonly type: 'unconfirmed' }

const unconfirmed: Confirmation = { type: 'unconfirmed' }

/** Of the seller's description as JSON. Headers of 402 responses should have less than 8 kB in all. */
const maxExtensionLength = 6 * 1024
const maxDescriptionLength = 500
const maxWordsLength = 1_000
const maxOffers = 16
const maxOffersLength = 4 * 1024

export function listingFrom(required: PaymentRequired, claim: ListingClaim, payment: SettledPayment): Confirmation {
  const { url, method, tool } = claim
  const { resource, accepts, extensions } = required
  if (!isSameResource(resourceUrl(resource?.url), url)) return unconfirmed
  if (!accepts.some((offer) => isOfPayment(offer, payment))) return unconfirmed
  const extension = Json.isObject(extensions) ? extensions[Discovery.key] : undefined
  if (!Json.isObject(extension))
    return { type: 'undescribed', key: tool === undefined ? keyOf(method, url, undefined) : claim.key }
  const described = descriptionOf(extension, claim)
  if (described === undefined) return unconfirmed
  const { template, cleaned } = described
  const content = contentOf(required, cleaned)
  if (content === undefined) return unconfirmed
  const address = addressOf(url, template)
  const { payTo, settledMs } = payment
  return {
    type: 'listed',
    listing: {
      key: tool === undefined ? keyOf(method, url, template) : toolKey(url, tool.name),
      resource: address,
      method,
      origin: url.origin,
      payTo,
      content,
      facets: facetsOf(content, method, payTo),
      words: wordsOf(address, content, tool?.name),
      firstSettledMs: settledMs,
      lastSettledMs: settledMs,
      confirmedMs: settledMs,
      settleCount: 1,
    },
  }
}

function isSameResource(named: URL | undefined, asked: URL): boolean {
  return named !== undefined && named.href === asked.href
}

function isOfPayment({ scheme, payTo, asset, network }: PaymentRequirements, payment: SettledPayment): boolean {
  return (
    (scheme === 'exact' || scheme === 'upto') &&
    payTo === payment.payTo &&
    asset === payment.asset &&
    networkFacet(network) === networkFacet(payment.network)
  )
}

type Described = { readonly template: string | undefined; readonly cleaned: Json.Members }

/** The description without hidden characters; undefined if it is not a valid one of the resource. */
function descriptionOf(extension: Json.Members, { method, url, tool }: ListingClaim): Described | undefined {
  const { info, schema } = extension
  const input = Json.isObject(info) ? info['input'] : undefined
  if (!Json.isObject(info) || !Json.isObject(input) || !Json.isObject(schema)) return undefined
  if (!isBounded(extension) || Discovery.outsideReference(schema) !== undefined) return undefined
  if (!(tool === undefined ? isOfRequest(input, method) : isOfTool(input, tool.name))) return undefined
  if (!isValidInfo(info, schema)) return undefined
  // The values of path parameters come from the request, and so from the buyer.
  const { pathParams: _, ...rest } = input
  const template = tool === undefined ? templateOf(extension['routeTemplate'], url) : undefined
  const own = {
    info: { ...info, input: rest },
    schema,
    ...(template === undefined ? {} : { routeTemplate: template }),
  }
  const json = VisibleText.replaceHidden(JSON.stringify(own), '')
  return json.length > maxExtensionLength ? undefined : { template, cleaned: JSON.parse(json) as Json.Members }
}

function isOfRequest({ type, method: described, bodyType }: Json.Members, method: string): boolean {
  if (type !== 'http' || described !== method) return false
  return bodyType === undefined || (Discovery.hasBody(method) && isBodyType(bodyType))
}

function isOfTool(input: Json.Members, name: string): boolean {
  const { type, inputSchema, transport } = input
  const isTool = type === 'mcp' && Discovery.toolNameOf(input) === name && Json.isObject(inputSchema)
  const isTransport = transport === undefined || transport === 'streamable-http' || transport === 'sse'
  return isTool && isTransport && Discovery.outsideReference(inputSchema) === undefined
}

function isBodyType(value: unknown): boolean {
  return Discovery.bodyTypes.includes(value as Discovery.BodyType)
}

/** Undefined if the offers are too large. */
function contentOf({ resource, accepts }: PaymentRequired, extension: Json.Members): ListingContent | undefined {
  const offers = accepts.slice(0, maxOffers)
  const json = VisibleText.replaceHidden(JSON.stringify(offers), '')
  if (json.length > maxOffersLength) return undefined
  const { description, mimeType, ...rest } = resource
  const text = visible(description, maxDescriptionLength)
  const isType = typeof mimeType === 'string' && /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/.test(mimeType)
  return {
    accepts: JSON.parse(json) as PaymentRequirements[],
    ...(text === '' ? {} : { description: text }),
    ...(isType ? { mimeType } : {}),
    ...Discovery.validService(rest as { [name: string]: unknown }),
    extensions: { [Discovery.key]: extension },
  }
}

function visible(text: unknown, maxLength: number): string {
  if (typeof text !== 'string') return ''
  // Cut first, because the text may be long; half of a surrogate pair is a hidden character.
  return VisibleText.replaceHidden(text.slice(0, maxLength), ' ').trim()
}

/** A term for a filter. Escaped, so that a value cannot contain another term. */
export function facet(name: string, value: string): string {
  return `${name}:${encodeURIComponent(wellFormed(value))}`
}

/** Both ids of an Algorand network give the same term. */
export function networkFacet(id: string): string {
  return facet('network', Network.normalize(id) ?? id)
}

function facetsOf({ accepts, extensions }: ListingContent, method: string, payTo: string): string[] {
  const schemes = accepts.map(({ scheme }) => facet('scheme', scheme))
  const networks = accepts.map(({ network }) => networkFacet(network))
  const names = Object.keys(extensions).map((name) => facet('extension', name))
  const kind = method === toolMethod ? [facet('type', 'mcp')] : [facet('type', 'http'), facet('method', method)]
  const own = [...kind, facet('payTo', payTo)]
  return [...new Set([...own, ...schemes, ...networks, ...names])]
}

function wordsOf(
  address: string,
  { description = '', serviceName = '', tags = [] }: ListingContent,
  toolName = '',
): string {
  const text = [toolName, serviceName, tags.join(' '), description, address].join(' ')
  return wellFormed(text.slice(0, maxWordsLength)).toLowerCase()
}

/** Without halves of surrogate pairs, which cannot be encoded. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd')
}
