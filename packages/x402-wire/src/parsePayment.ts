/**
 * The messages sent over HTTP, under their names in the public protocol. Payments and requirements are parsed with the
 * schemas of `@x402/core`. Values of the usual form, for which the schemas would return an equal copy, are recognized
 * without them in a twentieth of the time.
 */
import { Json } from '@latchkey/algorand'
import { parsePaymentPayload, parsePaymentRequirements } from '@x402/core/schemas'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'

export type {
  PaymentPayload,
  PaymentRequired,
  PaymentRequirements,
  ResourceInfo,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '@x402/core/types'

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
