/**
 * The resource that a payment says it is for. The buyer wrote it, so it only says where to ask: the listing itself comes
 * from the seller.
 */
import { Json } from '@latchkey/algorand'
import { Discovery, type PaymentPayload } from '@latchkey/x402-wire'
import { isBounded } from './checkInfo.js'
import type { ToolRequest } from './fetch-offer/FetchOffer.js'

export type ListingClaim = {
  /** Without query and fragment. */
  readonly url: URL
  /** The method of an HTTP request, or `MCP` for a tool. */
  readonly method: string
  /** The tool, if the resource is one. */
  readonly tool?: ToolRequest | undefined
  /** The key that the listing has if the claim is true. */
  readonly key: string
}

/** The method that listings of tools have. */
export const toolMethod = 'MCP'
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])
/** Of example arguments as JSON. */
const maxArgumentsLength = 2_048
const maxUrlLength = 2_048
/** Longer paths are not listed. */
const maxPathLength = 512

/** Undefined if the payment describes no resource that can be listed. */
export function claimOf({ resource, extensions }: PaymentPayload): ListingClaim | undefined {
  const input = Discovery.infoOf(extensions)?.['input']
  const url = resourceUrl(resource?.url)
  if (url === undefined || !Json.isObject(input)) return undefined
  if (input['type'] === 'mcp') return toolClaim(url, input)
  if (input['type'] !== 'http') return undefined
  const { method } = input
  if (typeof method !== 'string' || !methods.has(method)) return undefined
  const extension = (extensions as Json.Members)[Discovery.key] as Json.Members
  return { url, method, key: keyOf(method, url, templateOf(extension['routeTemplate'], url)) }
}

function toolClaim(url: URL, input: Json.Members): ListingClaim | undefined {
  const name = Discovery.toolNameOf(input)
  if (name === undefined) return undefined
  const { example } = input
  const isSmall = Json.isObject(example) && isBounded(example) && JSON.stringify(example).length <= maxArgumentsLength
  return {
    url,
    method: toolMethod,
    tool: { name, arguments: isSmall ? example : {} },
    key: toolKey(url, name),
  }
}

/** The key of a tool. Names of tools have no space. */
export function toolKey(url: URL, name: string): string {
  return `${keyOf(toolMethod, url, undefined)} ${name}`
}

/** The address of a resource without its query; undefined if it is not one that can be asked for. */
export function resourceUrl(text: unknown): URL | undefined {
  if (typeof text !== 'string' || text.length > maxUrlLength || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:'
  if (!isWeb || url.username !== '' || url.password !== '' || url.pathname.length > maxPathLength) return undefined
  // `example.com.` is the same machine under another origin.
  if (url.hostname === '' || url.hostname.endsWith('.')) return undefined
  url.search = ''
  url.hash = ''
  return url
}

export function keyOf(method: string, url: URL, template: string | undefined): string {
  return `${method} ${addressOf(url, template)}`
}

/** The address that a listing shows: with the template in place of the path, if the route has parameters. */
export function addressOf(url: URL, template: string | undefined): string {
  return `${url.origin}${template ?? url.pathname}`
}

const templatePattern = /^\/[a-zA-Z0-9_/:.\-~%]+$/
const maxDecodings = 5

/**
 * The template of a route, if it follows the specification and the path matches it. Otherwise a seller could describe
 * the resources of another one at the same origin.
 */
export function templateOf(value: unknown, { pathname }: URL): string | undefined {
  if (typeof value !== 'string' || value.length > maxPathLength || !templatePattern.test(value)) return undefined
  const decoded = fullyDecoded(value)
  if (decoded === undefined || decoded.includes('..') || decoded.includes('://')) return undefined
  const segments = value.split('/')
  const path = pathname.split('/')
  // A last wildcard stands for the rest of the path.
  const isOpen = /^:var\d+$/.test(segments.at(-1)!)
  const hasLength = isOpen ? path.length >= segments.length : path.length === segments.length
  const isSame = (segment: string, index: number): boolean =>
    segment.startsWith(':') || segment.toLowerCase() === path[index]?.toLowerCase()
  return hasLength && segments.some((segment) => segment.startsWith(':')) && segments.every(isSame) ? value : undefined
}

function fullyDecoded(text: string): string | undefined {
  let current = text
  for (let pass = 0; pass < maxDecodings; pass++) {
    let next: string
    try {
      next = decodeURIComponent(current)
    } catch {
      return undefined
    }
    if (next === current) return current
    current = next
  }
  return undefined
}
