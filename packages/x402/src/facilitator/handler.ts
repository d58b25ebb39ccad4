/** The facilitator over HTTP: a handler from a web `Request` to a `Response`, for any server. */
import { Bytes, Json } from '@latchkey/algorand'
import * as Prometheus from '@latchkey/system/prometheus'
import { parsePaymentPayload, parsePaymentRequirements } from '@x402/core/schemas'
import { OptionsError } from '../errors.js'
import type { PaymentPayload, PaymentRequirements } from '../wire/types.js'
import type { Facilitator } from './Facilitator.js'
import type { Caller } from './Policy.js'

/** Options of {@link createFacilitatorHandler}. */
export type FacilitatorHandlerOptions = {
  facilitator: Facilitator
  /**
   * The largest body of a request.
   *
   * @default 1 MiB
   */
  maxBodyBytes?: number | undefined
  /**
   * How long the body of a request may take to arrive.
   *
   * @default 30_000
   */
  bodyTimeoutMs?: number | undefined
  /**
   * Called with errors that are not the caller's fault.
   *
   * @default they are ignored
   */
  onError?: ((error: unknown) => void) | undefined
}

const defaultMaxBodyBytes = 1024 * 1024
const defaultBodyTimeoutMs = 30_000
const jsonHeaders = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' }

type Route = { readonly method: 'GET' | 'POST'; readonly handle: (request: Request) => Promise<Response> | Response }

/**
 * The HTTP API of a facilitator: POST /verify, POST /settle, GET /supported, GET /health and GET /metrics.
 *
 * @throws OptionsError without a facilitator
 * @example
 * const handler = createFacilitatorHandler({ facilitator })
 * const app = new Hono().all('*', (context) => handler(context.req.raw))
 */
export function createFacilitatorHandler(options: FacilitatorHandlerOptions): (request: Request) => Promise<Response> {
  const { facilitator, onError = () => {} } = options
  if (facilitator === undefined) throw new OptionsError('facilitator is not set', 'Pass a `Facilitator`.')
  const limits = {
    maxBodyBytes: options.maxBodyBytes ?? defaultMaxBodyBytes,
    bodyTimeoutMs: options.bodyTimeoutMs ?? defaultBodyTimeoutMs,
  }
  const judge = async (request: Request, operation: 'verify' | 'settle'): Promise<Response> => {
    const caller = callerOf(request)
    // Before the body is read: a caller without a key gets no memory.
    if (!facilitator.policy.isAuthorized(caller)) return json(401, { error: 'an API key is required' })
    const text = await readText(request, limits)
    if (typeof text !== 'string') return text
    const body = parseBody(text)
    if (typeof body === 'string') return json(400, { error: body })
    const { paymentPayload, paymentRequirements } = body
    return json(200, await facilitator[operation](paymentPayload, paymentRequirements, caller))
  }
  const routes = new Map<string, Route>([
    ['/verify', { method: 'POST', handle: (request) => judge(request, 'verify') }],
    ['/settle', { method: 'POST', handle: (request) => judge(request, 'settle') }],
    ['/supported', { method: 'GET', handle: () => json(200, facilitator.supported()) }],
    ['/health', { method: 'GET', handle: () => health(facilitator) }],
    ['/metrics', { method: 'GET', handle: () => metrics(facilitator) }],
  ])

  return async (request) => {
    const { pathname } = new URL(request.url)
    const route = routes.get(pathname.length > 1 && pathname.endsWith('/') ? pathname.slice(0, -1) : pathname)
    if (route === undefined) return json(404, { error: `not found; there are ${[...routes.keys()].join(', ')}` })
    if (route.method !== request.method) {
      return json(405, { error: `use ${route.method}` }, { Allow: route.method })
    }
    try {
      return await route.handle(request)
    } catch (error) {
      onError(error)
      return json(500, { error: 'the facilitator failed' })
    }
  }
}

async function health(facilitator: Facilitator): Promise<Response> {
  const problem = await facilitator.health()
  return problem === undefined ? json(200, { status: 'ok' }) : json(503, { status: 'unhealthy', reason: problem })
}

function metrics(facilitator: Facilitator): Response {
  return new Response(facilitator.metrics.text(), { headers: { 'Content-Type': Prometheus.contentType } })
}

type BodyLimits = { readonly maxBodyBytes: number; readonly bodyTimeoutMs: number }

/**
 * The text of the body, or the response that refuses it. Whatever length is announced, no more than the limit is read:
 * not every host enforces the length.
 */
async function readText(request: Request, { maxBodyBytes, bodyTimeoutMs }: BodyLimits): Promise<string | Response> {
  const tooLarge = (): Response => json(413, { error: `the body is larger than ${maxBodyBytes} bytes` })
  if (Number(request.headers.get('Content-Length') ?? 0) > maxBodyBytes) return tooLarge()
  if (request.body === null) return ''
  const reader = request.body.getReader()
  let isLate = false
  // A read that waits ends when the reader is cancelled.
  const timer = setTimeout(() => {
    isLate = true
    cancel(reader)
  }, bodyTimeoutMs)
  try {
    const text = await readAll(reader, maxBodyBytes)
    if (isLate) return json(408, { error: 'the body did not arrive in time' })
    return text ?? tooLarge()
  } catch (error) {
    // A host that enforces its own limits throws an error with a status.
    const { status } = error as { status?: unknown }
    const isOfHost = status === 408 || status === 413
    return json(isOfHost ? status : 400, { error: 'the body could not be read' })
  } finally {
    clearTimeout(timer)
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** Undefined if the body is larger than the limit; the rest is not read then. */
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

type PaymentBody = { paymentPayload: PaymentPayload; paymentRequirements: PaymentRequirements }

/** The body, or what is wrong with it. */
function parseBody(text: string): PaymentBody | string {
  const value = parseJson(text)
  if (value === undefined) return 'the body is not JSON'
  const { paymentPayload, paymentRequirements } = Json.isObject(value) ? value : {}
  if (paymentPayload === undefined || paymentRequirements === undefined) {
    return 'Missing paymentPayload or paymentRequirements'
  }
  // The form of other versions is not known; the facilitator refuses them by its code.
  if (Json.isObject(paymentPayload) && paymentPayload['x402Version'] !== 2 && Json.isObject(paymentRequirements)) {
    return { paymentPayload, paymentRequirements } as unknown as PaymentBody
  }
  const payload = parsePaymentPayload(paymentPayload)
  const requirements = parsePaymentRequirements(paymentRequirements)
  if (!payload.success || !requirements.success) return 'the body does not match the schema of the protocol'
  return {
    paymentPayload: payload.data as PaymentPayload,
    paymentRequirements: requirements.data as PaymentRequirements,
  }
}

/** Undefined for what is not JSON, and for an object with a member `__proto__`: a copy of it would have that prototype. */
function parseJson(text: string): unknown {
  try {
    let hasPrototype = false
    const value: unknown = JSON.parse(text, (name, member: unknown) => {
      hasPrototype ||= name === '__proto__'
      return member
    })
    return hasPrototype ? undefined : value
  } catch {
    return undefined
  }
}

function callerOf({ headers }: Request): Caller {
  const bearer = /^Bearer (.+)$/i.exec(headers.get('Authorization') ?? '')?.[1]
  return { apiKey: headers.get('X-API-Key') ?? bearer }
}

function json(status: number, value: unknown, headers: { readonly [name: string]: string } = {}): Response {
  return new Response(JSON.stringify(value), { status, headers: { ...jsonHeaders, ...headers } })
}
