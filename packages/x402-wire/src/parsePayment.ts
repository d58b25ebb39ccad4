/**
 * Parses payments and requirements with the schemas of `@x402/core`. Values of the usual form, for which the schemas
 * would return an equal copy, are recognized without them in a twentieth of the time.
 */
import { Bytes, Json } from '@latchkey/algorand'
import { parsePaymentPayload, parsePaymentRequirements } from '@x402/core/schemas'
import type { PaymentPayload, PaymentRequirements } from './types.js'

/** Parses a payment of any version; undefined if the value does not match the schema. */
export function parsePayload(value: unknown): PaymentPayload | undefined {
  if (isUsualPayload(value)) return value as unknown as PaymentPayload
  const parsed = parsePaymentPayload(value)
  return parsed.success ? (parsed.data as PaymentPayload) : undefined
}

/** Parses requirements of any version; undefined if the value does not match the schema. */
export function parseRequirements(value: unknown): PaymentRequirements | undefined {
  if (isUsualRequirements(value)) return value as unknown as PaymentRequirements
  const parsed = parsePaymentRequirements(value)
  return parsed.success ? (parsed.data as PaymentRequirements) : undefined
}

const payloadMembers = new Set(['x402Version', 'resource', 'accepted', 'payload', 'extensions'])
const requirementMembers = new Set(['scheme', 'network', 'amount', 'asset', 'payTo', 'maxTimeoutSeconds', 'extra'])
const resourceMembers = new Set(['url', 'description', 'mimeType'])

function isUsualPayload(value: unknown): boolean {
  if (!Json.isObject(value) || !hasOnly(value, payloadMembers)) return false
  const { x402Version, resource, accepted, payload, extensions } = value
  return (
    x402Version === 2 &&
    (resource === undefined || isUsualResource(resource)) &&
    isUsualRequirements(accepted) &&
    Json.isObject(payload) &&
    (extensions === undefined || Json.isObject(extensions))
  )
}

function isUsualRequirements(value: unknown): boolean {
  if (!Json.isObject(value) || !hasOnly(value, requirementMembers)) return false
  const { scheme, network, amount, asset, payTo, maxTimeoutSeconds, extra } = value
  return (
    isText(scheme) &&
    isText(network) &&
    network.length >= 3 &&
    network.includes(':') &&
    isText(amount) &&
    isText(asset) &&
    isText(payTo) &&
    Number.isFinite(maxTimeoutSeconds) &&
    Number(maxTimeoutSeconds) > 0 &&
    (extra === undefined || Json.isObject(extra))
  )
}

function isUsualResource(value: unknown): boolean {
  if (!Json.isObject(value) || !hasOnly(value, resourceMembers)) return false
  const { url, description = '', mimeType = '' } = value
  return isText(url) && typeof description === 'string' && typeof mimeType === 'string'
}

/** The schemas omit some of the other members. */
function hasOnly(value: Json.Members, names: ReadonlySet<string>): boolean {
  for (const name in value) if (!names.has(name)) return false
  return true
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/**
 * Decodes standard base64, with or without padding; undefined if the text has other characters. Published clients send
 * both forms, so bits past the last byte are ignored as well.
 */
export function decodeBase64(text: string): Uint8Array | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined
  return Bytes.fromBase64(text) ?? Bytes.fromBase64(canonical(text.replace(/=+$/, '')))
}

function canonical(digits: string): string {
  const rest = digits.length % 4
  if (rest === 0) return digits
  // A single digit after the last group of four has too few bits for a byte.
  if (rest === 1) return digits.slice(0, -1)
  const last = alphabet.indexOf(digits.at(-1)!) & (rest === 2 ? 0x30 : 0x3c)
  return `${digits.slice(0, -1)}${alphabet[last]}`.padEnd(digits.length + 4 - rest, '=')
}

/** The characters of `__proto__` written as JSON escapes. */
const escapedLetters = /\\u00(5f|6f|7[024])/i

/**
 * Undefined for text that is not JSON, and for objects with a member `__proto__`, which would become the prototype of a
 * copy.
 */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return hasPrototype(text, value) ? undefined : value
  } catch {
    return undefined
  }
}

/** Whether a value parsed from the text has a member `__proto__`. */
function hasPrototype(text: string, value: unknown): boolean {
  // The text is searched first, because a reviver makes parsing twelve to thirty times slower.
  const mayHavePrototype = text.includes('__proto__') || escapedLetters.test(text)
  return mayHavePrototype && hasPrototypeMember(value)
}

function hasPrototypeMember(value: unknown): boolean {
  const open: unknown[] = [value]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (Json.isObject(one) && Object.hasOwn(one, '__proto__')) return true
    if (typeof one === 'object' && one !== null) for (const member of Object.values(one)) open.push(member ?? null)
  }
  return false
}
