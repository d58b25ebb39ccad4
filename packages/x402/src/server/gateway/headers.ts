/**
 * The headers that pass through a gateway. A service may take a header for the method, path, host, scheme, user or
 * address of a request: servers of CGI, WSGI and PHP pass `SCRIPT_NAME` and `Script-Name` in variables of their own
 * protocol, and frameworks trust what they take for a proxy. There is no complete list of such names, so the names that
 * pass are listed. Each of them is written in one spelling, once, with the value that the gate has read.
 */
import type { IncomingMessage } from 'node:http'
import { OptionsError } from '../../errors.js'
import type { NodeRequest } from '../adapters/NodeMessage.js'
import { paymentOf } from '../exchange/Payment.js'
import { withoutPasses } from '../passes/PassToken.js'
import { isOverrideHeader, variableName } from '../routes/MethodOverride.js'
import { lengthHeaders } from './bodies.js'

/** Names and values of headers. */
export type HeaderPairs = readonly (readonly [string, string])[]

/** The payment that opened a request, for the service. */
const payerHeader = 'X-Payment-Payer'
const paymentHeader = 'X-Payment-Id'

/**
 * Headers of requests that mean the same to every service: about the content, its form, caching, the browser, tracing,
 * and credentials, which the service checks itself.
 */
const passing = new Set(
  [
    'accept accept-charset accept-datetime accept-encoding accept-language accept-patch',
    'access-control-request-headers access-control-request-method access-control-request-private-network',
    'authorization cookie x-api-key api-key apikey x-goog-api-key dpop',
    'a-im api-version x-api-version cache-control pragma prefer priority range',
    'content-digest content-disposition content-encoding content-language content-md5 content-range content-type digest',
    'date dnt idempotency-key x-idempotency-key last-event-id origin referer save-data user-agent',
    'if-match if-modified-since if-none-match if-range if-unmodified-since',
    'repr-digest want-content-digest want-digest want-repr-digest signature signature-agent signature-input',
    'sec-gpc sec-purpose upgrade-insecure-requests x-requested-with x-csrf-token x-csrftoken x-xsrf-token',
    'traceparent tracestate baggage b3 x-b3-flags x-b3-parentspanid x-b3-sampled x-b3-spanid x-b3-traceid',
    'x-request-id x-correlation-id x-client-request-id',
    'a2a-extensions a2a-version mcp-method mcp-name mcp-protocol-version mcp-session-id',
    'anthropic-beta anthropic-version openai-beta openai-organization openai-project x-goog-api-client',
  ].flatMap((line) => line.split(' ')),
)
/** Families of such headers: hints of browsers, and the handshake of a WebSocket. */
const passingFamilies = ['sec-ch-', 'sec-fetch-', 'sec-websocket-', 'x-stainless-']

/** Headers of one connection (RFC 9110, 7.6.1). */
const ofConnection =
  /^(CONNECTION|KEEP_ALIVE|PROXY_(CONNECTION|AUTHENTICATE|AUTHORIZATION)|TE|TRAILER|TRANSFER_ENCODING|UPGRADE|HTTP2_SETTINGS|EXPECT)$/
/** Headers of the payment protocol, in both of its versions, and those by which the service learns of a payment. */
const ofPayments = /^((X_)?PAYMENT(_.*)?|SETTLEMENT_OVERRIDES|SIGN_IN_WITH_X)$/
/** Headers of requests that an operator cannot let pass, because services trust them. */
const ofProxies = new RegExp(
  `^(${[
    'HOST|CONTENT_LENGTH|CONTENT_LOCATION|DESTINATION|FORWARDED|VIA|MAX_FORWARDS|PROXY(_.*)?|HTTPS?|HTTP_.*',
    'REQUEST_(FILENAME|LINE|METHOD|PATH|SCHEME|UR[IL])|RAW_URI|QUERY_STRING',
    'SCRIPT_.*|PATH_.*|DOCUMENT_.*|SERVER_.*|REMOTE_.*|REDIRECT_.*|AUTH_.*|GATEWAY_INTERFACE|WSGI_.*|PHP_.*|UNENCODED_URL',
    'X_(FORWARDED|ORIGINAL|REWRITE|ACCEL|SENDFILE|ARR|AZURE|AMZN_OIDC|ENVOY|WAWS|HTTP|REMOTE|REAL|PROXYUSER|WEBAUTH|SSL)(_.*)?',
    'X_(AUTHENTICATED|AUTH_REQUEST|CLIENT_CERT|CLUSTER_CLIENT|ORIGINATING|SCRIPT|HOST|SCHEME|URL)(_.*)?',
    '(.+_)?CLIENT_?IP(_.*)?|(.+_)?CONNECTING_IP.*|CF_.*|FASTLY_.*|FRONT_END_HTTPS|SSL_.*',
  ].join('|')})$`,
)
/** Headers of responses that a proxy or a client would obey by fetching the resource from another place. */
const ofDelivery = /^(X_ACCEL_REDIRECT|X_SENDFILE(_.*)?|X_LIGHTTPD_.*|X_REPROXY_.*|ALT_SVC)$/

const maxPassed = 100
const passedName = /^[A-Za-z0-9]{1,40}(-[A-Za-z0-9]{1,40})*(-\*)?$/

/** The names of headers that pass to a service. */
export class PassingHeaders {
  readonly #names: ReadonlySet<string>
  readonly #families: readonly string[]

  /** @throws OptionsError for a name that cannot pass */
  constructor(added: readonly string[] = []) {
    if (!Array.isArray(added) || added.length > maxPassed) {
      throw new OptionsError(`passHeaders is not a list of at most ${maxPassed} names`)
    }
    for (const name of added) checkPassed(name)
    const lower = added.map((name) => name.toLowerCase())
    this.#names = new Set([...passing, ...lower.filter((name) => !name.endsWith('*'))])
    this.#families = [...passingFamilies, ...lower.flatMap((name) => (name.endsWith('*') ? name.slice(0, -1) : []))]
  }

  /** Whether a header passes. A name passes only in letters, digits and hyphens, which no server replaces. */
  has(name: string): boolean {
    const lower = name.toLowerCase()
    if (this.#names.has(lower)) return true
    const family = this.#families.find((start) => lower.startsWith(start))
    return family !== undefined && /^[a-z0-9]+(-[a-z0-9]+)*$/.test(lower.slice(family.length)) && !isTrusted(lower)
  }

  /**
   * Whether a request declares a header that passes to belong to the connection. The gate would read the header, and the
   * service would not.
   */
  isHidden({ headers }: NodeRequest): boolean {
    const listed = (headers.connection ?? '').split(',').map((name) => name.trim().replace(/[^A-Za-z0-9]/g, '-'))
    return listed.some((name) => this.has(name))
  }

  /** The headers of a request to the service: those that pass, then those of the gateway. */
  forRequest(request: NodeRequest, base: URL, own: HeaderPairs): string[] {
    const { headers, socket } = request as IncomingMessage
    const payment = paymentOf(request as IncomingMessage)
    const isTls = (socket as { encrypted?: boolean } | null)?.encrypted === true
    const ownNames = new Set(own.map(([name]) => variableName(name)))
    const forwarded: [string, string | undefined][] = [
      ['X-Forwarded-For', socket?.remoteAddress],
      ['X-Forwarded-Host', headers.host ?? (headers[':authority'] as string | undefined)],
      ['X-Forwarded-Proto', isTls ? 'https' : 'http'],
    ]
    const written: (readonly [string, string | undefined])[] = [
      ['Host', base.host],
      ...this.#passed(request as IncomingMessage, ownNames),
      // The operator's value replaces that of the client, who chooses the host.
      ...forwarded.filter(([name]) => !ownNames.has(variableName(name))),
      [payerHeader, payment?.payer],
      [paymentHeader, payment?.transactionId],
      ...own,
      ...lengthHeaders(request),
    ]
    return written.flatMap(([name, value]) => (value === undefined ? [] : [name, value]))
  }

  /** Repeated headers are on one line, as Node and the gate read them. */
  #passed({ headers, rawHeaders }: IncomingMessage, own: ReadonlySet<string>): HeaderPairs {
    const passed = new Map<string, readonly [string, string]>()
    for (let index = 0; index < rawHeaders.length; index += 2) {
      const name = rawHeaders[index]!
      const lower = name.toLowerCase()
      if (passed.has(lower) || !this.has(lower) || own.has(variableName(lower))) continue
      const value = withoutPayment(lower, headers[lower])
      if (value !== undefined) passed.set(lower, [name, value])
    }
    return [...passed.values()]
  }
}

/** A payment may also be a credential, or a pass in a cookie. */
function withoutPayment(name: string, value: string | readonly string[] | undefined): string | undefined {
  if (value === undefined || typeof value !== 'string') return undefined
  if (name === 'authorization' && /^\s*payment(\s|$)/i.test(value)) return undefined
  return name === 'cookie' ? (withoutPasses(value) ?? undefined) : value
}

function isTrusted(name: string): boolean {
  const variable = variableName(name)
  return [ofConnection, ofPayments, ofProxies].some((pattern) => pattern.test(variable)) || isOverrideHeader(name)
}

function checkPassed(name: unknown): void {
  const isName = typeof name === 'string' && name.length <= 100 && passedName.test(name)
  // Every header that a proxy sets starts like these.
  const isTooWide = isName && /^(x|http|proxy|remote|client|server|request)-\*$/i.test(name)
  if (isName && !isTooWide && !isTrusted(name.replace(/-\*$/, '')) && !isTrusted(name.replace(/\*$/, 'name'))) return
  throw new OptionsError(
    `passHeaders cannot contain ${JSON.stringify(name)}`,
    'Write names like "X-Acme-Version" or "X-Acme-*". Names that services trust, and names of payments, cannot pass.',
  )
}

/** The headers of a response that pass to the client. */
export function responseHeaders({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): HeaderPairs {
  const pairs = rawHeaders.flatMap((name, index) => (index % 2 === 0 ? [[name, rawHeaders[index + 1]!] as const] : []))
  const named = pairs.filter(([name]) => /^connection$/i.test(name)).flatMap(([, value]) => value.split(','))
  const listed = new Set(named.map((name) => variableName(name.trim())))
  return pairs.filter(([name]) => {
    const variable = variableName(name)
    return !listed.has(variable) && ![ofConnection, ofPayments, ofDelivery].some((pattern) => pattern.test(variable))
  })
}

/** @throws OptionsError for headers that the operator cannot set */
export function checkOwnHeaders(headers: HeaderPairs): void {
  const seen = new Set<string>()
  for (const [name, value] of headers) {
    const variable = variableName(name)
    const isValid = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/.test(name) && /^[\x20-\x7e]{1,8000}$/.test(value)
    const isWritten = [ofConnection, ofPayments, /^(CONTENT_LENGTH|HOST)$/].some((pattern) => pattern.test(variable))
    if (!isValid || isWritten || isOverrideHeader(name)) {
      throw new OptionsError(`the header ${JSON.stringify(name)} cannot be sent to the upstream`)
    }
    // Services read the first one, the last one, or both.
    if (seen.has(variable)) throw new OptionsError(`the header ${JSON.stringify(name)} is given twice`)
    seen.add(variable)
  }
}
