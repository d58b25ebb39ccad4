/**
 * The extension `payment-secret`: a payment carries the hash of a secret that only its buyer has, and each repeat
 * carries the secret. A payment is readable on the ledger as soon as it is sent, so the payment alone does not prove
 * who paid.
 */
import { Bytes, Hash, Json } from '@latchkey/algorand'
import type { PaymentPayload } from './parsePayment.js'

/** The key of this extension in `extensions`. */
export const key = 'payment-secret'
const algorithm = 'sha-256'
const secretBytes = 32
/** The form of 32 bytes in base64url. */
const digits = '^[A-Za-z0-9_-]{43}$'
const isText = new RegExp(digits)

/** The proof of the buyer in a payment. */
export type Proof = {
  /** The hash of the buyer's secret in base64url; undefined for a buyer without a secret. */
  readonly hash: string | undefined
  /** Whether the payment also carries the matching secret. */
  readonly isProven: boolean
}

/** The declaration that a seller adds to `extensions` of a PaymentRequired. */
export function declaration(): { readonly [key]: object } {
  const text = { type: 'string', pattern: digits }
  const schema = {
    type: 'object',
    properties: { algorithm: { const: algorithm }, hash: text, secret: text },
    required: ['algorithm'],
  }
  return { [key]: { info: { algorithm }, schema } }
}

/** Whether the seller declared the extension in a known form. */
export function isDeclared(extensions: unknown): boolean {
  const extension = Json.isObject(extensions) ? extensions[key] : undefined
  const info = Json.isObject(extension) ? extension['info'] : undefined
  return Json.isObject(info) && info['algorithm'] === algorithm
}

/** Creates a secret, and the hash that a payment carries. */
export function create(): { readonly secret: Uint8Array; readonly hash: string } {
  const secret = Bytes.random(secretBytes)
  return { secret, hash: hashOf(secret) }
}

/** The hash of a secret, in base64url. */
export function hashOf(secret: Uint8Array): string {
  return Bytes.toBase64Url(Hash.sha256(secret))
}

/** Adds the hash of a secret to a payment. The payment is unchanged if the seller did not declare the extension. */
export function add(payload: PaymentPayload, hash: string): PaymentPayload {
  return isDeclared(payload.extensions) ? withInfo(payload, { hash }) : payload
}

/**
 * Adds the secret and its hash to a repeated payment. The payment is unchanged if the seller did not declare the
 * extension.
 */
export function reveal(payload: PaymentPayload, secret: Uint8Array): PaymentPayload {
  if (!isDeclared(payload.extensions)) return payload
  return withInfo(payload, { hash: hashOf(secret), secret: Bytes.toBase64Url(secret) })
}

/** Reads what a payment proves about its buyer. Returns the reason if the extension is malformed. */
export function read({ extensions }: PaymentPayload): Proof | string {
  const extension = (extensions as Json.Members | null | undefined)?.[key]
  if (extension === undefined) return { hash: undefined, isProven: false }
  const info = Json.isObject(extension) ? extension['info'] : undefined
  if (!Json.isObject(info)) return `extensions.${key} has no info`
  const { hash, secret } = info
  if (hash === undefined && secret === undefined) return { hash: undefined, isProven: false }
  // Do not serve a payment without its secret because it names another algorithm.
  if (info['algorithm'] !== algorithm) return `the algorithm of extensions.${key} is not ${algorithm}`
  const expected = bytesOf(hash)
  if (expected === undefined) return `the hash of extensions.${key} is not the base64url of 32 bytes`
  if (secret === undefined) return { hash: hash as string, isProven: false }
  const shown = bytesOf(secret)
  if (shown === undefined) return `the secret of extensions.${key} is not the base64url of 32 bytes`
  if (!Bytes.equalConstantTime(Hash.sha256(shown), expected))
    return `the secret of extensions.${key} does not match its hash`
  return { hash: hash as string, isProven: true }
}

/** The secret in a payment, in base64url; undefined if there is none. */
export function secretIn({ extensions }: PaymentPayload): string | undefined {
  const extension = (extensions as Json.Members | null | undefined)?.[key]
  const info = Json.isObject(extension) ? extension['info'] : undefined
  const secret = Json.isObject(info) ? info['secret'] : undefined
  return typeof secret === 'string' && isText.test(secret) ? secret : undefined
}

/** Removes the secret from a payment before it is sent to a facilitator. */
export function strip(payload: PaymentPayload): PaymentPayload {
  const extension = (payload.extensions as Json.Members | null | undefined)?.[key]
  const info = Json.isObject(extension) ? extension['info'] : undefined
  if (!Json.isObject(info) || !('secret' in info)) return payload
  const { secret: _, ...rest } = info
  return { ...payload, extensions: { ...payload.extensions, [key]: { ...(extension as object), info: rest } } }
}

function withInfo(payload: PaymentPayload, members: object): PaymentPayload {
  const extension = payload.extensions![key] as { info: object }
  const info = { ...extension.info, ...members }
  return { ...payload, extensions: { ...payload.extensions, [key]: { ...extension, info } } }
}

function bytesOf(text: unknown): Uint8Array | undefined {
  const bytes = typeof text === 'string' && isText.test(text) ? Bytes.fromBase64Url(text) : undefined
  return bytes?.length === secretBytes ? bytes : undefined
}
