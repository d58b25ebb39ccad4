/** The HTTP API of the facilitator, as a handler from a web `Request` to a `Response`, for any server. */
import { Amount, Bytes, Json, Network } from '@latchkey/algorand'
import * as Prometheus from '@latchkey/system/prometheus'
import {
  type PaymentPayload,
  type PaymentRequirements,
  parseJson,
  parsePayload,
  parseRequirements,
} from '@latchkey/x402-wire'
import { OptionsError } from '../errors.js'
import { type DiscoveryEndpoint, listResources, searchResources } from './discovery/discoveryResponses.js'
import type { Facilitator } from './Facilitator.js'
import { isLongerThan } from './settle/FeePayers.js'

/** Options of {@link createFacilitatorHandler}. */
export type FacilitatorHandlerOptions = {
  facilitator: Facilitator
  /**
   * The largest request body. A payment is two transactions. A multisig transaction with all its members can take 43
   * KiB in base64, and its requirement is in the body twice.
   *
   * @default 128 KiB
   */
  maxBodyBytes?: number | undefined
  /**
   * How long the body of a request may take to arrive.
   *
   * @default 30_000
   */
  bodyTimeoutMs?: number | undefined
  /**
   * Returns the network address of the client, for `callerRequestsPerMinute`; undefined if it is not known. Behind a
   * proxy, read a header that the proxy sets and clients cannot.
   *
   * @default the address of the connection, if the server passes it and it is not a local address, such as that of a
   * proxy
   */
  clientAddress?: ((request: Request, connection: Connection) => string | undefined) | undefined
  /**
   * Called with errors that are not the caller's fault.
   *
   * @default errors are ignored
   */
  onError?: ((error: unknown) => void) | undefined
}

const defaultMaxBodyBytes = 128 * 1024
const defaultBodyTimeoutMs = 30_000
/** Prometheus gives up on a scrape after 10 seconds by default. */
const statusPatienceMs = 2_000

/** The server's information about the connection of a request. */
export type Connection = {
  readonly remoteAddress?: string | undefined
  /** Called if the request has a valid API key. A server that is full first closes connections without one. */
  readonly authenticated?: (() => void) | undefined
  /** Called with the path of the operation, for a log. Not called for other paths. */
  readonly matched?: ((route: string) => void) | undefined
  /** The id of the request in the server's log. */
  readonly requestId?: string | undefined
  /** Called with the transaction id of the payment in the request, for a log. */
  readonly concerns?: ((transactionId: string) => void) | undefined
  /**
   * Reads the body, of at most `limit` bytes. Throws an error with a status if the body is larger. Costs less than
   * reading the request's body.
   */
  readonly readBody?: ((limit: number) => Uint8Array | Promise<Uint8Array>) | undefined
  /**
   * Creates a response from a text; `headers` alternate lower-case names and values. Costs less than `new Response`.
   */
  readonly textResponse?: ((status: number, headers: readonly string[], text: string) => Response) | undefined
}

/** A request handler for any server. Without a connection, callers are not distinguished by address. */
export type FacilitatorHandler = (request: Request, connection?: Connection) => Promise<Response>

type Route = {
  readonly method: 'GET' | 'POST'
  readonly handle: (request: Request, connection: Connection) => Promise<Response> | Response
}

/**
 * The HTTP API of a facilitator: POST /verify and /settle, GET /supported, /livez, /readyz, /health and /metrics, and
 * with a catalogue GET /discovery/resources and /discovery/search.
 *
 * @throws OptionsError if no facilitator is passed
 * @example
 * const handler = createFacilitatorHandler({ facilitator })
 * const app = new Hono().all('*', (context) => handler(context.req.raw))
 */
export function createFacilitatorHandler(options: FacilitatorHandlerOptions): FacilitatorHandler {
  const { facilitator, onError = () => {}, clientAddress = connectionAddress } = options
  if (facilitator === undefined) throw new OptionsError('facilitator is not set', 'Pass a `Facilitator`.')
  const limits = {
    maxBodyBytes: options.maxBodyBytes ?? defaultMaxBodyBytes,
    bodyTimeoutMs: options.bodyTimeoutMs ?? defaultBodyTimeoutMs,
  }
  const judge = async (request: Request, connection: Connection, operation: 'verify' | 'settle'): Promise<Response> => {
    const caller = {
      apiKey: apiKeyOf(request),
      address: clientAddress(request, connection),
      requestId: connection.requestId,
      header: (name: string) => request.headers.get(name),
      onPayment: connection.concerns,
    }
    // Checked before the body is read, so that a caller without a key uses no memory.
    if (!facilitator.policy.isAuthorized(caller)) return json(401, { error: 'an API key is required' })
    if (facilitator.policy.requiresKey) connection.authenticated?.()
    const refusal = refuseBrowser(request) ?? refuseOtherType(request)
    if (refusal !== undefined) return refusal
    const text = await readText(request, limits, connection.readBody)
    if (typeof text !== 'string') return text
    const body = parseBody(text)
    if (typeof body === 'string') return json(400, { error: body })
    const { paymentPayload, paymentRequirements, claimant } = body
    const result = await facilitator[operation](paymentPayload, paymentRequirements, { ...caller, claimant })
    return json(200, result, {}, connection.textResponse)
  }
  const routes = new Map<string, Route>([
    ['/verify', { method: 'POST', handle: (request, connection) => judge(request, connection, 'verify') }],
    ['/settle', { method: 'POST', handle: (request, connection) => judge(request, connection, 'settle') }],
    ['/supported', { method: 'GET', handle: () => supported(facilitator) }],
    // Reports on the process only, because an external problem is no reason to restart it.
    ['/livez', { method: 'GET', handle: () => json(200, { status: 'ok' }) }],
    ['/readyz', { method: 'GET', handle: () => readiness(facilitator) }],
    ['/health', { method: 'GET', handle: () => health(facilitator) }],
    ['/metrics', { method: 'GET', handle: () => metrics(facilitator) }],
  ])
  const { catalogue } = facilitator
  const find = catalogue?.find.bind(catalogue)
  if (find !== undefined) {
    const serve = (endpoint: DiscoveryEndpoint): Route => ({
      method: 'GET',
      handle: async (request, connection) => {
        // No API key is needed, so a key here proves nothing.
        const isAdmitted = facilitator.policy.admitCaller({ address: clientAddress(request, connection) })
        if (!isAdmitted) return json(429, { error: 'too many requests in this minute' })
        const { status, body } = await endpoint(new URL(request.url).searchParams, find)
        return json(status, body, {}, connection.textResponse)
      },
    })
    routes.set('/discovery/resources', serve(listResources))
    routes.set('/discovery/search', serve(searchResources))
  }

  return async (request, connection = {}) => {
    const { pathname } = new URL(request.url)
    const path = pathname.length > 1 && pathname.endsWith('/') ? pathname.slice(0, -1) : pathname
    const route = routes.get(path)
    if (route !== undefined) connection.matched?.(path)
    if (route === undefined)
      return json(404, { error: `not found; the endpoints are ${[...routes.keys()].join(', ')}` })
    if (route.method !== request.method) {
      return json(405, { error: `use ${route.method}` }, { Allow: route.method })
    }
    try {
      return await route.handle(request, connection)
    } catch (error) {
      onError(error)
      return json(500, { error: 'the facilitator failed' })
    }
  }
}

async function health(facilitator: Facilitator): Promise<Response> {
  const { problem, networks, warnings } = await facilitator.status()
  const states = networks.map(({ network, lastRound, feeMicroAlgos }) => ({
    network,
    name: Network.displayName(network),
    lastRound: Number(lastRound),
    ...(feeMicroAlgos === undefined ? {} : { feeBalance: balanceText(feeMicroAlgos) }),
  }))
  const rest = { networks: states, ...(warnings.length === 0 ? {} : { warnings }) }
  if (problem === undefined) return json(200, { status: 'ok', ...rest })
  return json(503, { status: 'unhealthy', reason: problem, ...rest })
}

/** Without thousands separators, because programs read it. */
function balanceText(microAlgos: bigint): string {
  return `${Amount.format(microAlgos, Amount.algoDecimals)} ALGO`
}

/** Lists every check with its result, and since when it applies. The texts are for the public. */
async function readiness(facilitator: Facilitator): Promise<Response> {
  const { isReady, checks, warnings, feeAccounts } = await facilitator.status(statusPatienceMs)
  const results = checks.map(({ name, network, isOk, sinceMs, problem }) => ({
    name,
    ...(network === undefined ? {} : { network }),
    status: isOk ? 'ok' : 'failed',
    since: new Date(sinceMs).toISOString(),
    ...(problem === undefined ? {} : { reason: problem }),
  }))
  const accounts = feeAccounts.map(({ network, address, problem, sinceMs, feeMicroAlgos }) => ({
    network,
    address,
    status: problem === undefined ? 'ok' : 'failed',
    since: new Date(sinceMs).toISOString(),
    ...(feeMicroAlgos === undefined ? {} : { balance: balanceText(feeMicroAlgos) }),
    ...(problem === undefined ? {} : { reason: problem }),
  }))
  const status = isReady ? 'ready' : 'not ready'
  return json(isReady ? 200 : 503, { status, checks: results, feeAccounts: accounts, warnings })
}

/** With several fee accounts, those that can pay now come first, because a seller may query only once. */
async function supported(facilitator: Facilitator): Promise<Response> {
  if (facilitator.feePayers.size > 1) await isLongerThan(statusPatienceMs, facilitator.status())
  return json(200, facilitator.supported())
}

/**
 * Updates the gauges first, because Prometheus reads them here and not from /health. A slow node does not delay the
 * rest.
 */
async function metrics(facilitator: Facilitator): Promise<Response> {
  await isLongerThan(statusPatienceMs, facilitator.status())
  return new Response(facilitator.metrics.text(), { headers: { 'Content-Type': Prometheus.contentType } })
}

type PaymentBody = {
  readonly paymentPayload: PaymentPayload
  readonly paymentRequirements: PaymentRequirements
  readonly claimant: string | undefined
}

/** A hash of the gate and the resource, in the form that gates send. */
const claimantPattern = /^[A-Za-z0-9_-]{1,128}$/

/** Returns the body, or the reason why it is invalid. */
function parseBody(text: string): PaymentBody | string {
  const value = parseJson(text)
  if (value === undefined) return 'the body is not JSON'
  const { paymentPayload, paymentRequirements, claimant } = Json.isObject(value) ? value : {}
  if (paymentPayload === undefined || paymentRequirements === undefined) {
    return 'Missing paymentPayload or paymentRequirements'
  }
  if (claimant !== undefined && (typeof claimant !== 'string' || !claimantPattern.test(claimant))) {
    return 'claimant is not a string of at most 128 letters, digits, - and _'
  }
  // The form of other versions is not known. The facilitator refuses them with its own code.
  if (Json.isObject(paymentPayload) && paymentPayload['x402Version'] !== 2 && Json.isObject(paymentRequirements)) {
    return { paymentPayload, paymentRequirements, claimant } as unknown as PaymentBody
  }
  const payload = parsePayload(paymentPayload)
  const requirements = parseRequirements(paymentRequirements)
  if (payload === undefined || requirements === undefined) return "the body does not match the protocol's schema"
  return { paymentPayload: payload, paymentRequirements: requirements, claimant }
}

/**
 * A page of another site can send a form or a text without a preflight, from the address and network of its visitor,
 * even to a facilitator on the visitor's own machine. Sellers are servers and send neither header.
 */
function refuseBrowser({ headers, url }: Request): Response | undefined {
  const site = headers.get('Sec-Fetch-Site')
  const origin = headers.get('Origin')
  const isOwnSite = site === null || site === 'same-origin' || site === 'none'
  const isOwnOrigin = origin === null || (URL.canParse(origin) && new URL(origin).host === new URL(url).host)
  if (isOwnSite && isOwnOrigin) return undefined
  return json(403, { error: 'pages of other sites may not use this facilitator' })
}

/** Browsers send other types than JSON across sites without a preflight. */
function refuseOtherType({ headers }: Request): Response | undefined {
  const type = (headers.get('Content-Type') ?? '').split(';', 1)[0]!.trim().toLowerCase()
  if (type === 'application/json') return undefined
  return json(415, { error: 'the Content-Type must be application/json' }, { Accept: 'application/json' })
}

function apiKeyOf({ headers }: Request): string | undefined {
  return headers.get('X-API-Key') ?? /^Bearer (.+)$/i.exec(headers.get('Authorization') ?? '')?.[1]
}

/** A local proxy connects for all of its clients, so its address does not distinguish them. */
function connectionAddress(_request: Request, { remoteAddress }: Connection): string | undefined {
  return typeof remoteAddress !== 'string' || /^(127\.|::1$|::ffff:127\.)/i.test(remoteAddress)
    ? undefined
    : remoteAddress
}

type BodyLimits = { readonly maxBodyBytes: number; readonly bodyTimeoutMs: number }

/**
 * Returns the text of the body, or the response that refuses it. Reads no more than the limit for any announced length,
 * because not every host enforces the length.
 */
async function readText(
  request: Request,
  { maxBodyBytes, bodyTimeoutMs }: BodyLimits,
  readBody?: ReadBody | undefined,
): Promise<string | Response> {
  if (Number(request.headers.get('Content-Length') ?? 0) > maxBodyBytes) return tooLarge(maxBodyBytes)
  if (readBody !== undefined) return readBytes(readBody, maxBodyBytes, bodyTimeoutMs)
  if (request.body === null) return ''
  const reader = request.body.getReader()
  let isLate = false
  // Cancelling the reader ends a pending read.
  const timer = setTimeout(() => {
    isLate = true
    cancel(reader)
  }, bodyTimeoutMs)
  try {
    const text = await readAll(reader, maxBodyBytes)
    return isLate ? late() : (text ?? tooLarge(maxBodyBytes))
  } catch (error) {
    return unreadable(error)
  } finally {
    clearTimeout(timer)
  }
}

/** Reads a body of at most the limit. Throws an error with a status if the body is larger. */
type ReadBody = (limit: number) => Uint8Array | Promise<Uint8Array>

const utf8 = new TextDecoder()

/** Reads through the host, which enforces the limit. Most bodies arrive with the head and need no timer. */
async function readBytes(read: ReadBody, maxBodyBytes: number, timeoutMs: number): Promise<string | Response> {
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    const body = read(maxBodyBytes)
    if (body instanceof Uint8Array) return utf8.decode(body)
    const timeUp = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, undefined)
    })
    const bytes = await Promise.race([body, timeUp])
    if (bytes !== undefined) return utf8.decode(bytes)
    body.catch(() => {})
    return late()
  } catch (error) {
    return (error as { status?: unknown }).status === 413 ? tooLarge(maxBodyBytes) : unreadable(error)
  } finally {
    clearTimeout(timer)
  }
}

function tooLarge(maxBodyBytes: number): Response {
  return json(413, { error: `the body is larger than ${maxBodyBytes} bytes` })
}

function late(): Response {
  return json(408, { error: 'the body did not arrive in time' })
}

/** A host that enforces its own limits throws an error with a status. */
function unreadable(error: unknown): Response {
  const { status } = error as { status?: unknown }
  if (status === 408) return late()
  if (status === 503) return json(503, { error: 'too many bodies arrive at the same time; repeat the request later' })
  return json(status === 413 ? 413 : 400, { error: 'the body could not be read' })
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** Undefined if the body is larger than the limit; the rest is then not read. */
async function readAll(reader: Reader, maxBodyBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes += read.value.length
    if (bytes > maxBodyBytes) {
      cancel(reader)
      return undefined
    }
    chunks.push(read.value)
  }
  return new TextDecoder().decode(Bytes.concat(chunks))
}

function cancel(reader: Reader): void {
  void reader.cancel().catch(() => {})
}

const jsonHeaders = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }
type Headers = { readonly [name: string]: string }
type TextResponse = (status: number, headers: readonly string[], text: string) => Response

/** @param textResponse creates the response if the host has a cheaper way */
function json(status: number, value: unknown, headers: Headers = {}, textResponse?: TextResponse): Response {
  const text = JSON.stringify(value)
  const all = { ...jsonHeaders, ...headers }
  if (textResponse === undefined) return new Response(text, { status, headers: all })
  return textResponse(
    status,
    Object.entries(all).flatMap(([name, one]) => [name.toLowerCase(), one]),
    text,
  )
}
