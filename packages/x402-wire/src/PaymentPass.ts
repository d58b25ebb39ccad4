/**
 * The extension `payment-pass`: one payment opens a route several times. The 402 declares the extension, and the
 * response to the payment carries a pass. Later requests present the pass with the secret of the payment (extension
 * `payment-secret`).
 */
import { Json } from '@latchkey/algorand'

/** The key of this extension in `extensions`. */
export const key = 'payment-pass'
/** In a response: a pass. In a request: the pass and the buyer's secret, or `cookie` if a page requests a cookie. */
export const passHeader = 'PAYMENT-PASS'
/** In a response: what remains of the pass, such as `until=1767225600, requests=9`. */
export const passStatusHeader = 'PAYMENT-PASS-STATUS'
/** The value of {@link passHeader} with which a page of the same origin requests a cookie. */
export const cookieRequest = 'cookie'

/** A pass has about 600 characters. */
export const maxPassLength = 2_048
/** The longest validity of a pass: 366 days. */
export const maxPassMinutes = 366 * 24 * 60
/** The maximum number of requests that a pass opens. */
export const maxPassRequests = 1_000_000_000

/**
 * The requests that a pass opens: all requests of its route, those to its path, or those that match in everything the
 * price depends on.
 */
export type PassScope = 'route' | 'path' | 'request'

/** The seller's terms for passes, as declared in a 402. */
export type PassTerms = {
  /** Identifies the requests that the pass opens. Opaque to buyers. */
  readonly scope: string
  readonly opens: PassScope
  /** How long the pass is valid. */
  readonly minutes: number
  /** How many requests the payment opens, including the paid one; undefined if requests are not counted. */
  readonly requests: number | undefined
}

/** The remaining validity of a pass. */
export type PassStatus = {
  /** When the pass expires, in milliseconds since 1970. */
  readonly untilMs: number
  /** How many more requests the pass opens; undefined if requests are not counted. */
  readonly requestsLeft: number | undefined
}

const isScope = /^[A-Za-z0-9_-]{43}$/
const isPass = /^1\.[A-Za-z0-9_-]{1,1900}\.[A-Za-z0-9_-]{43}$/

/** The declaration that a seller adds to `extensions` of a PaymentRequired. */
export function declaration({ scope, opens, minutes, requests }: PassTerms): { readonly [key]: object } {
  const number = { type: 'number', exclusiveMinimum: 0 }
  const schema = {
    type: 'object',
    properties: {
      version: { const: 1 },
      scope: { type: 'string' },
      opens: { enum: ['route', 'path', 'request'] },
      minutes: number,
      requests: number,
    },
    required: ['version', 'scope', 'opens', 'minutes'],
  }
  const counted = requests === undefined ? {} : { requests }
  return { [key]: { info: { version: 1, scope, opens, minutes, ...counted }, schema } }
}

/** Reads the terms that a seller declares; undefined if there are none, or their form is not known. */
export function readTerms(extensions: unknown): PassTerms | undefined {
  const extension = Json.isObject(extensions) ? extensions[key] : undefined
  const info = Json.isObject(extension) ? extension['info'] : undefined
  if (!Json.isObject(info) || info['version'] !== 1) return undefined
  const { scope, opens, minutes, requests } = info
  if (typeof scope !== 'string' || !isScope.test(scope)) return undefined
  if (opens !== 'route' && opens !== 'path' && opens !== 'request') return undefined
  if (typeof minutes !== 'number' || !(minutes > 0 && minutes <= maxPassMinutes)) return undefined
  if (requests !== undefined && !isCount(requests)) return undefined
  return { scope, opens, minutes, requests: requests as number | undefined }
}

/** Reads the pass in a response; undefined if there is none that can be sent again. */
export function readPass(headers: Headers): string | undefined {
  const pass = headers.get(passHeader)
  return pass !== null && isPassText(pass) ? pass : undefined
}

/** Whether a text has the form of a pass, without the holder's secret. */
export function isPassText(text: string): boolean {
  return text.length <= maxPassLength && isPass.test(text)
}

/** Formats the remaining validity of a pass as the value of {@link passStatusHeader}. */
export function formatStatus({ untilMs, requestsLeft }: PassStatus): string {
  const until = `until=${Math.floor(untilMs / 1000)}`
  return requestsLeft === undefined ? until : `${until}, requests=${requestsLeft}`
}

/** Reads the remaining validity of a pass from a response; undefined if the response does not report it. */
export function readStatus(headers: Headers): PassStatus | undefined {
  const [, until, requests] =
    /^until=([0-9]{1,11})(?:, requests=([0-9]{1,10}))?$/.exec(headers.get(passStatusHeader) ?? '') ?? []
  if (until === undefined) return undefined
  return { untilMs: Number(until) * 1000, requestsLeft: requests === undefined ? undefined : Number(requests) }
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) > 0 && (value as number) <= maxPassRequests
}
