/** The responses of the gate itself, and the headers that it adds to those of handlers. */

import { Bytes } from '@latchkey/algorand'
import {
  PaymentHeaders,
  type PaymentRequired,
  passHeader,
  passStatusHeader,
  type SettleResponse,
} from '@latchkey/x402-wire'
import type { HeldAnswer } from '../store/Claims.js'

/** Names and values of headers. */
export type HeaderList = readonly (readonly [string, string])[]

export function paymentRequired(required: PaymentRequired, message?: string, more: HeaderList = []): Response {
  const help = 'Pay one of `accepts` and send the payment in the header PAYMENT-SIGNATURE; see https://x402.org'
  const headers = [[PaymentHeaders.paymentRequired, PaymentHeaders.encode(required)] as const, ...more]
  return json(402, { ...required, message: message ?? help }, headers)
}

export function notSettled(receipt: SettleResponse, required: PaymentRequired): Response {
  const { errorReason: error = 'settlement_failed', errorMessage: message } = receipt
  return paymentRequired({ ...required, error }, message, [
    [PaymentHeaders.paymentResponse, PaymentHeaders.encode(receipt)],
  ])
}

/** Not a 402, because a buyer that is asked to pay again might do so. */
export function pending(receipt: SettleResponse, status: 502 | 503): Response {
  const { errorReason: error, errorMessage: message, transaction } = receipt
  return retryLater(status, { error, message, transaction }, [
    [PaymentHeaders.paymentResponse, PaymentHeaders.encode(receipt)],
  ])
}

/** A hook of the seller refuses the request. */
export function forbidden(error: string, message?: string | undefined): Response {
  return json(403, message === undefined ? { error } : { error, message })
}

/** The buyer names a purchase that is not this request, or not at this price. */
export function otherPurchase(): Response {
  const message = 'this payment identifier belongs to another request or price; nothing was charged'
  return json(409, { error: 'payment_identifier_conflict', message })
}

/** The answer to a purchase is no longer kept, and the purchase is not charged again. */
export function endedPurchase(transaction: string): Response {
  const message = 'this purchase is complete, and its response is no longer kept; nothing was charged again'
  return json(409, { error: 'payment_identifier_used', message, transaction })
}

/** An earlier request of the same purchase is being served. */
export function purchaseInProgress(): Response {
  const message = 'an earlier request of this purchase is being served; send the request again: it is not charged twice'
  return retryLater(503, { error: 'payment_identifier_in_progress', message })
}

export function invalidIdentifier(isMissing: boolean): Response {
  if (isMissing) {
    const message = 'this route requires the extension payment-identifier with `info.id`; nothing was charged'
    return json(400, { error: 'payment_identifier_required', message })
  }
  const message =
    'the payment identifier is not 16 to 128 letters, digits, hyphens and underscores; nothing was charged'
  return json(400, { error: 'payment_identifier_invalid', message })
}

/** For errors after which it is not known whether a payment in the request was already settled. */
export const sendAgain = 'if you sent a payment, send the same one again: it is not charged twice'

/** 503: the facilitator or the node does not respond. 502: the facilitator does not follow the protocol. */
export function unavailable(status: 502 | 503): Response {
  const why =
    status === 502 ? 'the facilitator does not follow the protocol' : 'payments cannot be accepted at the moment'
  return retryLater(status, { error: `${why}; ${sendAgain}` })
}

function retryLater(status: number, value: object, more: HeaderList = []): Response {
  return json(status, value, [['Retry-After', '5'], ...more])
}

/** The handler took longer than its payment is valid. */
export function tooLate(isSettled: boolean): Response {
  const error = isSettled
    ? 'the handler took too long; the payment is settled'
    : 'the payment expired before the handler finished; nothing was charged'
  return json(504, { error })
}

export function preflight(): Response {
  return new Response(null, { status: 204 })
}

export function json(status: number, value: object, more: HeaderList = []): Response {
  const headers = [['Content-Type', 'application/json'], ['Cache-Control', 'no-store'], ...more] as [string, string][]
  return new Response(`${JSON.stringify(value)}\n`, { status, headers })
}

/**
 * The same response with other headers, all passed at construction: some servers replace `Response` by a class that
 * loses headers set later (`@hono/node-server` 1.x, after its body is read).
 */
export function changed(response: Response, change: (headers: Headers) => void): Response {
  const headers = new Headers(response.headers)
  change(headers)
  return remade(response, response.body, headers)
}

/** A response with the status of another. */
export function remade(
  { status, statusText }: Response,
  body: ReadableStream | Uint8Array<ArrayBuffer> | null,
  headers: Headers,
): Response {
  return new Response(body, { status, statusText, headers })
}

/** The headers of a response that a hook granted free: shared caches must not serve it to others. */
export const grantedHeaders: HeaderList = [['Cache-Control', 'private']]

/** The headers of a paid response: the receipt, and the restriction to its buyer. */
export function paidHeaders(receipt: SettleResponse): HeaderList {
  return [
    [PaymentHeaders.paymentResponse, PaymentHeaders.encode(receipt)],
    ['Cache-Control', 'private'],
  ]
}

/** Headers of one connection or one delivery, which are created again for the next. */
const ofDelivery =
  /^(connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|content-length|date|payment-response)$/i

/** An answer in the form in which it is held. */
export function heldAnswer(answer: HeldAnswer): HeldAnswer {
  return { ...answer, headers: answer.headers.filter(([name]) => !ofDelivery.test(name)) }
}

/** The replacement for an answer that was lost. */
export function lostAnswer(transaction: string): HeldAnswer {
  const message = 'the request was started, but its response was lost; it does not run again and is not charged again'
  const body = Bytes.fromUtf8(`${JSON.stringify({ error: 'response_lost', message, transaction })}\n`)
  return { status: 500, headers: [['Content-Type', 'application/json']], body }
}

/** A response from a held answer, with the headers of its payment. */
export function held({ status, headers, body }: HeldAnswer, paid: HeaderList): Response {
  const own = new Headers(headers as [string, string][])
  addTo(own, paid)
  // Set before construction: if `Response` is replaced, headers that are set later are lost or joined.
  const isEmpty = body.length === 0 || [204, 205, 304].includes(status)
  return new Response(isEmpty ? null : (body as Uint8Array<ArrayBuffer>), { status, headers: own })
}

/** Adds the headers of the gate to those of a web response. */
export function addTo(target: Headers, headers: HeaderList): void {
  for (const [name, value] of [...sharedCacheHeaders([...target.keys()], headers), ...headers]) {
    if (/^set-cookie$/i.test(name)) target.append(name, value)
    else target.set(name, mergeHeader(name, target.get(name) ?? undefined, value))
  }
}

/** Headers that shared caches obey instead of Cache-Control, with the value that prevents caching. */
const sharedCache: readonly (readonly [RegExp, string])[] = [
  [/^([a-z0-9-]+-)?cdn-cache-control$/i, 'no-store'],
  [/^(surrogate|edge|x-litespeed-cache|akamai-cache)-control$/i, 'no-store'],
  [/^(x-accel-expires|expires)$/i, '0'],
]

/** Replacements for such headers of a handler, if `headers` make the response private. */
export function sharedCacheHeaders(names: readonly string[], headers: HeaderList): HeaderList {
  if (!headers.some(([name, value]) => name === 'Cache-Control' && value === 'private')) return []
  return names.flatMap((name) =>
    sharedCache.flatMap(([pattern, value]) => (pattern.test(name) ? [[name, value] as const] : [])),
  )
}

/** The headers that a browser needs in order to pay: it may send and read the headers of payments and passes. */
export function corsHeaders(request: Request, cors: boolean | readonly string[]): HeaderList {
  const origin = request.headers.get('Origin')
  if (origin === null || cors === false) return []
  if (cors !== true && !cors.includes(origin)) return [['Vary', 'Origin']]
  const headers: [string, string][] = [
    ['Access-Control-Allow-Origin', cors === true ? '*' : origin],
    ['Vary', 'Origin'],
    ['Access-Control-Expose-Headers', exposed],
  ]
  if (request.method === 'OPTIONS') {
    headers.push(
      ['Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE'],
      ['Access-Control-Allow-Headers', allowedHeaders(request)],
      ['Access-Control-Max-Age', '600'],
    )
  }
  return headers
}

/** The headers that a script of another origin may read: the price, the receipt, and a pass. */
const exposed = [PaymentHeaders.paymentRequired, PaymentHeaders.paymentResponse, passHeader, passStatusHeader].join(
  ', ',
)
const maxHeaders = 50

function allowedHeaders(request: Request): string {
  const requested = (request.headers.get('Access-Control-Request-Headers') ?? '').split(',')
  const names = [
    PaymentHeaders.paymentSignature,
    passHeader,
    'Content-Type',
    ...requested.slice(0, maxHeaders).map((name) => name.trim()),
  ]
  return [...new Set(names.filter((name) => /^[A-Za-z0-9-]{1,64}$/.test(name)))].join(', ')
}

/** Combines two values of a header: lists are joined, other values are replaced. */
export function mergeHeader(name: string, before: string | undefined, value: string): string {
  if (before === undefined || before === '') return value
  if (/^cache-control$/i.test(name)) return makePrivate(before)
  if (!/^(vary|access-control-expose-headers)$/i.test(name)) return value
  const list = before.split(',').map((one) => one.trim())
  const has = (item: string): boolean => list.some((other) => other.toLowerCase() === item.toLowerCase())
  return [...list, ...value.split(', ').filter((one) => !has(one))].join(', ')
}

/** A shared cache must not send a paid response to other clients. */
function makePrivate(cacheControl: string): string {
  const kept = (cacheControl.match(/(?:[^,"]|"[^"]*"?)+/g) ?? [])
    .map((one) => one.trim())
    // With a list of fields, `private` applies only to those.
    .filter((one) => one !== '' && !/^(public|private|s-maxage)(\s*=.*)?$/is.test(one))
  return ['private', ...kept].join(', ')
}
