/** Reads one entry of a catalogue, whose text was written by strangers. */
import { Json, VisibleText } from '@latchkey/algorand'
import { Discovery, type PaymentRequirements, parseRequirements } from '@latchkey/x402-wire'

/** A resource in a catalogue, as its seller or the catalogue describes it. */
export type FoundResource = {
  /** The address, with `:name` for parameters of the path. */
  readonly url: string
  readonly type: 'http' | 'mcp'
  /** The method of an HTTP request. */
  readonly method: string | undefined
  /** The name of a tool, for `type` `mcp`. */
  readonly toolName: string | undefined
  /** The prices that the catalogue shows. The seller's 402 has the current ones. */
  readonly offers: readonly PaymentRequirements[]
  readonly description: string
  readonly serviceName: string
  readonly tags: readonly string[]
  readonly mimeType: string
  /** The described input and output, in the form of the extension `bazaar`. */
  readonly info: { readonly [name: string]: unknown } | undefined
  /** The number of settled payments, if the catalogue counts them. */
  readonly settleCount: number | undefined
  /** The address of the facilitator that lists the resource. */
  readonly facilitator: string
}

const maxUrlLength = 2_048
const maxDescription = 500
const maxName = 100
const maxOffers = 16
const maxInfo = { depth: 32, parts: 2_000, length: 16 * 1024 }

/** Undefined for an entry that does not name a resource and a price. */
export function readResource(item: unknown, facilitator: string): FoundResource | undefined {
  if (!Json.isObject(item)) return undefined
  const url = urlOf(item['resource']) ?? urlOf(item['resourceUrl'])
  const offers = offersOf(item['accepts'])
  if (url === undefined || offers.length === 0) return undefined
  const info = infoOf(item)
  const input = Json.isObject(info?.['input']) ? info['input'] : {}
  const type = item['type'] === 'mcp' || input['type'] === 'mcp' ? 'mcp' : 'http'
  const method = input['method'] ?? item['method']
  const isMethod = typeof method === 'string' && /^[A-Z]{1,10}$/.test(method)
  const { serviceName = '', tags = [] } = Discovery.validService(item as { [name: string]: unknown })
  const { settleCount, mimeType } = item
  return {
    url,
    type,
    method: type === 'http' && isMethod ? method : undefined,
    toolName: type === 'mcp' ? visible(input['toolName'] ?? input['tool'], maxName) || undefined : undefined,
    offers,
    description: visible(item['description'], maxDescription),
    serviceName,
    tags,
    mimeType: visible(mimeType, maxName),
    info,
    settleCount: Number.isSafeInteger(settleCount) && Number(settleCount) >= 0 ? Number(settleCount) : undefined,
    facilitator,
  }
}

function urlOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > maxUrlLength || !URL.canParse(value)) return undefined
  const url = new URL(value)
  if (!/^(https?|mcp):$/.test(url.protocol) || url.username !== '' || url.password !== '') return undefined
  // Names outside ASCII are in Punycode then, so that no letter looks like another.
  return /^[!-~]+$/.test(url.href) ? url.href : undefined
}

function offersOf(value: unknown): PaymentRequirements[] {
  const list = Array.isArray(value) ? value.slice(0, maxOffers) : []
  return list.map(offerOf).filter((offer) => offer !== undefined)
}

function offerOf(value: unknown): PaymentRequirements | undefined {
  if (!isBounded(value)) return undefined
  const offer = parseRequirements(value)
  const { amount, asset, payTo, network, scheme } = (offer ?? {}) as { [name: string]: unknown }
  const isReadable = [asset, payTo, network, scheme].every((text) => typeof text === 'string' && isPlain.test(text))
  return isReadable && typeof amount === 'string' && /^[0-9]{1,40}$/.test(amount) ? offer : undefined
}

const isPlain = /^[!-~]{1,200}$/

function infoOf(item: Json.Members): Json.Members | undefined {
  const info = Discovery.infoOf(item['extensions']) ?? item['discoveryInfo']
  return Json.isObject(info) && isBounded(info) ? info : undefined
}

/** Whether a value can be handled as JSON without effort. Does not recurse, because the value may be deep. */
function isBounded(value: unknown): boolean {
  const open: (readonly [value: unknown, depth: number])[] = [[value, 1]]
  let [parts, length] = [0, 0]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const [one, depth] = next
    length += typeof one === 'string' ? one.length : 8
    if (++parts > maxInfo.parts || length > maxInfo.length) return false
    if (typeof one !== 'object' || one === null) continue
    if (depth > maxInfo.depth) return false
    for (const [name, member] of Object.entries(one)) {
      length += name.length
      open.push([member, depth + 1])
      if (open.length > maxInfo.parts) return false
    }
  }
  return true
}

function visible(value: unknown, maxLength: number): string {
  return typeof value === 'string' ? VisibleText.replaceHidden(value.slice(0, maxLength), ' ').trim() : ''
}
