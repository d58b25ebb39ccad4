/**
 * A request to a paid route, read once at the door. The price, the claim, the pass and the facilitator go by this
 * reading, so that no two of them can see different requests. A claim is bound to the resource and the buyer.
 */

import { Bytes, Hash } from '@latchkey/algorand'
import { PaymentHeaders, type Proof, passHeader } from '@latchkey/x402-wire'
import { OptionsError } from '../../errors.js'
import { withoutPasses } from '../passes/PassToken.js'
import type { ClaimLease } from '../store/Claims.js'
import { overridesOf } from './MethodOverride.js'

/** The path of a request, as known to an adapter. */
export type RequestPath = {
  /** The whole path that the router matches, with every prefix. */
  readonly path: string
  /**
   * How many segments of the path precede the place where the gate is mounted. Keys may be relative to each of them.
   *
   * @default 0
   */
  readonly depth?: number | undefined
  /** The path as it was sent, if the router matches another. */
  readonly sent?: string | undefined
  /**
   * The request target with its query, in each form that a handler can read. All of them are checked.
   *
   * @default the URL of the request
   */
  readonly targets?: readonly string[] | undefined
  /**
   * Whether a prefix may have been removed that the adapter cannot see.
   *
   * @default false
   */
  readonly isPrefixUnknown?: boolean | undefined
}

export type GateRequest = {
  /** For functions of the seller, which choose prices, and for the signal. */
  readonly request: Request
  /** Correlates the logs of the seller and of its facilitators. */
  readonly id: string
  readonly method: string
  readonly url: Readonly<URL>
  readonly path: RequestPath
  /** Methods that a program behind the gate may use instead of the request's own. */
  readonly overrides: readonly string[]
  /** Whether the method is safe, as well as every method that a program behind the gate may use instead. */
  readonly isSafe: boolean
  readonly isUpgrade: boolean
  /** The header with the payment; null if the request does not pay. */
  readonly payment: string | null
  /** The header with a pass. */
  readonly pass: string | null
  readonly authorization: string | null
  readonly cookie: string | null
  /** The address of the client if it is known, and the one that the first proxy saw if there is a proxy. */
  readonly clientAddress: string | undefined
  readonly forwardedFor: string | undefined
  /** The values of the headers that the price may depend on. */
  readonly pricedBy: readonly (string | null)[]
  /**
   * Everything in the request that a price may depend on. Leaves out the port, which differs between replicas on one
   * machine.
   */
  readonly quoteBinding: string
}

/** The parts of a route that decide what is read. */
export type ReadRoute = { readonly key: string; readonly varyBy?: readonly string[] | undefined }

const defaultVaryBy = ['Authorization', 'Cookie']

export function read(
  request: Request,
  { key, varyBy = defaultVaryBy }: ReadRoute,
  path: RequestPath,
  clientAddress?: string | undefined,
): GateRequest {
  const { method, headers } = request
  const url = new URL(request.url)
  const overrides = overridesOf(request)
  const pricedBy = varyBy.map((name) => {
    const value = headers.get(name)
    return value !== null && /^cookie$/i.test(name) ? withoutPasses(value) : value
  })
  const pricedMethod = method === 'HEAD' ? 'GET' : method
  return {
    request,
    id: idOf(headers),
    method,
    url,
    path,
    overrides,
    isSafe: [method, ...overrides].every((one) => /^(GET|HEAD)$/i.test(one)),
    isUpgrade: isUpgradeRequest(request),
    payment: headers.get(PaymentHeaders.paymentSignature),
    pass: headers.get(passHeader),
    authorization: headers.get('Authorization'),
    cookie: headers.get('Cookie'),
    clientAddress,
    forwardedFor: forwardedForOf(headers),
    pricedBy,
    quoteBinding: JSON.stringify([key, pricedMethod, url.hostname, url.pathname, url.search, pricedBy]),
  }
}

/** The path and its form as sent, because a handler may read a path with dots differently than a URL does. */
export function pathsOf({ path: { path, sent = path } }: Pick<GateRequest, 'path'>): [string, string] {
  return [path, sent]
}

/**
 * Whether a request asks to switch its connection to another protocol, such as WebSocket, whose messages are its
 * answer.
 */
export function isUpgradeRequest({ headers }: Request): boolean {
  const upgrade = headers.get('Upgrade')
  if (upgrade === null) return false
  const protocols = upgrade.split(',').map((one) => one.trim().toLowerCase())
  // Some clients offer HTTP/2 with every request, and servers continue with HTTP/1.1.
  return protocols.some((protocol) => protocol !== '' && protocol !== 'h2c')
}

/** The form that servers of `@latchkey/http` accept: no characters that affect a log, and too short for a secret. */
const plainId = /^[A-Za-z0-9][A-Za-z0-9_-]{0,35}$/

/** The request's `X-Request-Id`, from a proxy or the seller's server, if it is plain; otherwise a new id. */
function idOf(headers: Headers): string {
  const sent = headers.get('X-Request-Id')
  return sent !== null && plainId.test(sent) ? sent : newId().slice(0, 16)
}

/**
 * A random id of 32 hexadecimal digits, not a secret. Node generates UUIDs for 128 calls at a time, but random bytes
 * for each call.
 */
export function newId(): string {
  return crypto.randomUUID().replaceAll('-', '')
}

/**
 * The address that the first proxy saw, if there is one. Behind several proxies the connection comes from a different
 * one each time, and a buyer that repeats its payment would be refused. The address can be forged, but an observer of
 * the ledger does not know it.
 */
function forwardedForOf(headers: Headers): string | undefined {
  const first = headers.get('X-Forwarded-For')?.split(',')[0]?.trim()
  return first === '' ? undefined : first
}

/**
 * A digest of the resource and the buyer. The buyer is identified by the hash of its secret. A buyer without a secret
 * is identified by everything in the request that an observer of the ledger does not know.
 *
 * @param terms the values that the price or the pass depends on, so that a payment for one set of values opens no other
 */
export function bindingOf(request: GateRequest, { hash }: Proof, terms: readonly string[] = []): string {
  const { payment, authorization, cookie, forwardedFor, clientAddress, overrides } = request
  // Each address has its own position, so that without a proxy the header cannot forge the address of a connection.
  const addresses = forwardedFor === undefined ? [null, clientAddress ?? null] : [forwardedFor, null]
  const buyer = hash ?? [payment, authorization, withoutPasses(cookie), ...addresses]
  // A program behind the gate may run the handler of another method.
  const parts = [overrides, terms].filter(({ length }) => length > 0)
  return digest([resourceOf(request), buyer, ...parts])
}

/** The value that a facilitator binds a payment to: the claims of a seller, and the resource. */
export function claimantOf(storeId: string, request: GateRequest): string {
  return digest([storeId, resourceOf(request)])
}

export function proofOf({ hash, isProven }: Proof): ClaimLease['proof'] {
  if (hash === undefined) return 'none'
  return isProven ? 'secret' : 'hash'
}

/** Leaves out the host, because a server has several names, and replicas behind a proxy have others. */
export function resourceOf({ method, url: { pathname, search } }: GateRequest): string {
  return `${method} ${pathname}${search}`
}

export function digest(value: unknown): string {
  return Bytes.toBase64Url(Hash.sha256(Bytes.fromUtf8(JSON.stringify(value))))
}

/** The parts of a request that the gate sees, without the body. */
type RequestParts = { readonly method: string; readonly headers: Headers; readonly signal: AbortSignal }

/** Like {@link newRequest}; undefined for a URL that no request can have, such as one with credentials. */
export function tryNewRequest(url: string, parts: RequestParts): Request | undefined {
  try {
    return newRequest(url, parts)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/** Creates a web `Request` with any method, including methods that `fetch` does not send. */
export function newRequest(url: string, { method, headers, signal }: RequestParts): Request {
  if (!/^(connect|trace|track)$/i.test(method)) return new Request(url, { method, headers, signal })
  return Object.defineProperty(new Request(url, { headers, signal }), 'method', { value: method })
}

/**
 * Rejects a promise of a gate, which would fail with every request.
 *
 * @throws OptionsError
 */
export function checkGate(gate: { readonly decide: unknown }): void {
  if (typeof gate?.decide === 'function') return
  throw new OptionsError('gate is not a Gate', 'Pass the gate that `await Gate.open(...)` returned.')
}
