/** Clients of facilitators for sellers: in this process, or over HTTP with limits on time and size. */
import * as Tracing from '@latchkey/algod/tracing'
import { Bytes, Json } from '@latchkey/algorand'
import { createTransport, Server, type Transport, TransportError } from '@latchkey/http-client'
import type {
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '@latchkey/x402-wire'
import { OptionsError, PartyError } from '../../errors.js'
import type { Facilitator } from '../../facilitator/Facilitator.js'

/** The gate's information for a facilitator in addition to the payment. */
export type FacilitatorCallOptions = {
  /**
   * Identifies the gate and the resource that claim the payment. A facilitator that binds payments refuses it to others
   * with `payment_already_claimed`. 1 to 128 letters, digits, `-` and `_`.
   *
   * @default none
   */
  readonly claimant?: string | undefined
  /**
   * The id of the request that the payment is for. Sent as `X-Request-Id`, so that the facilitator logs it too.
   *
   * @default none
   */
  readonly requestId?: string | undefined
}

/** A facilitator that a gate can use. */
export type FacilitatorClient = {
  /** The name for messages: the address, or a description. */
  readonly name: string
  /**
   * Whether the facilitator's report that a payment is settled is trusted. For others, the ledger is queried.
   *
   * @default false
   */
  readonly isTrusted?: boolean | undefined
  /** Returns whether a payment would be settled. */
  readonly verify: (
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    options?: FacilitatorCallOptions,
  ) => Promise<VerifyResponse>
  /** Settles a payment. */
  readonly settle: (
    payload: PaymentPayload,
    requirements: PaymentRequirements,
    options?: FacilitatorCallOptions,
  ) => Promise<SettleResponse>
  /** The networks and fee payers that the facilitator serves. */
  readonly supported: () => Promise<SupportedResponse> | SupportedResponse
}

/**
 * Creates a client for a facilitator in this process, without HTTP.
 *
 * @throws OptionsError if no facilitator is passed
 */
export function localFacilitator(facilitator: Facilitator): FacilitatorClient {
  if (facilitator === undefined) throw new OptionsError('facilitator is not set', 'Pass a `Facilitator`.')
  return {
    name: 'in this process',
    isTrusted: true,
    verify: (payload, requirements, options) => facilitator.verify(payload, requirements, options),
    settle: (payload, requirements, options) => facilitator.settle(payload, requirements, options),
    supported: () => facilitator.supported(),
  }
}

/** Options of {@link httpFacilitator}. */
export type HttpFacilitatorOptions = {
  /** The address of the facilitator. */
  url: string
  /**
   * The API key, sent as `Authorization: Bearer ...`.
   *
   * @default none
   */
  apiKey?: string | undefined
  /**
   * How long /verify and /settle may take.
   *
   * @default 40_000
   */
  timeoutMs?: number | undefined
  /**
   * Set this for your own facilitator, to save a request to the node with every payment.
   *
   * @default false
   */
  isTrusted?: boolean | undefined
  /**
   * Sends the requests.
   *
   * @default kept connections on Node, unless `fetch` was replaced or given a dispatcher, such as a proxy; `globalThis.fetch` elsewhere
   */
  fetch?: typeof fetch | undefined
}

const defaultTimeoutMs = 40_000
const supportedTimeoutMs = 5_000
const maxResponseBytes = 256 * 1024
/** A settlement takes as long as a block, and each holds a connection for that time. */
const maxConnections = 1_024

/**
 * Creates a client for a facilitator over HTTP.
 *
 * @throws {@link FacilitatorError} for an address that cannot be used; its methods throw it if the facilitator does not
 * respond, or does not follow the protocol
 */
export function httpFacilitator(options: HttpFacilitatorOptions): FacilitatorClient {
  const { apiKey, timeoutMs = defaultTimeoutMs, isTrusted = false, fetch } = options
  const url = baseUrl(options.url)
  const send = fetch === undefined ? sendByTransport(url) : sendByFetch(url, fetch)
  const key = apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` }
  const common = { Accept: 'application/json', ...key }
  const call = async (path: string, body: object | undefined, limitMs: number, id?: string): Promise<Json.Members> => {
    const headers: { [name: string]: string } = { ...common }
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    if (id !== undefined) headers['X-Request-Id'] = id
    if (Tracing.isOn()) {
      Tracing.inject((name, value) => {
        headers[name] = value
      })
    }
    const request =
      body === undefined
        ? { path, method: 'GET' as const, headers }
        : { path, method: 'POST' as const, headers, body: JSON.stringify(body) }
    try {
      return readResponse(await send({ ...request, timeoutMs: limitMs }), `${url}${path}`)
    } catch (error) {
      if (error instanceof FacilitatorError) throw error
      if (error instanceof TransportError && error.code === 'too_large') {
        throw new FacilitatorError(
          'facilitator_protocol_error',
          `${url}${path} sent more than ${maxResponseBytes} bytes`,
        )
      }
      const message = `${url}${path}: ${reasonOf(error, limitMs)}`
      throw new FacilitatorError('facilitator_unavailable', message, { cause: error })
    }
  }
  const pay = (
    path: string,
    paymentPayload: PaymentPayload,
    paymentRequirements: PaymentRequirements,
    { claimant, requestId }: FacilitatorCallOptions = {},
  ) => {
    const binding = claimant === undefined ? {} : { claimant }
    return call(path, { x402Version: 2, paymentPayload, paymentRequirements, ...binding }, timeoutMs, requestId)
  }
  const expect = (isMet: boolean, what: string): void => {
    if (!isMet) throw new FacilitatorError('facilitator_protocol_error', `${url}/${what}`)
  }
  return {
    name: url,
    isTrusted,
    verify: async (payload, requirements, callOptions) => {
      const response = await pay('/verify', payload, requirements, callOptions)
      expect(typeof response['isValid'] === 'boolean', 'verify responded without isValid')
      return response as unknown as VerifyResponse
    },
    settle: async (payload, requirements, callOptions) => {
      const response = await pay('/settle', payload, requirements, callOptions)
      expect(typeof response['success'] === 'boolean', 'settle responded without success')
      return response as unknown as SettleResponse
    },
    supported: async () => {
      const response = await call('/supported', undefined, supportedTimeoutMs)
      expect(Array.isArray(response['kinds']), 'supported responded without kinds')
      return response as unknown as SupportedResponse
    },
  }
}

function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new FacilitatorError('invalid_option', `${text} is not the http or https URL of a facilitator`, {
      hint: 'Pass a URL like "https://facilitator.example".',
    })
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    const message = `the URL of the facilitator at ${url.host} has a user, a query or a fragment`
    throw new FacilitatorError('invalid_option', message, { hint: 'Pass keys as `apiKey`.' })
  }
  return text.trim().replace(/\/+$/, '')
}

type CallRequest = {
  readonly path: string
  readonly method: 'GET' | 'POST'
  readonly headers: { readonly [name: string]: string }
  readonly body?: string | undefined
  readonly timeoutMs: number
}
type CallResponse = { readonly status: number; readonly text: string }
/** Neither a payment nor the key follows a redirect. */
type Send = (request: CallRequest) => Promise<CallResponse>

/** Requests are idempotent, so a request is repeated if its connection was closed meanwhile. */
function sendByTransport(text: string): Send {
  const url = new URL(text)
  const server = Server.fromUrl(url)
  const basePath = url.pathname.replace(/\/+$/, '')
  let transport: Transport | undefined
  return async ({ path, body, ...request }) => {
    transport ??= createTransport({ maxConnections, followsFetch: true })
    const bytes = body === undefined ? undefined : (Bytes.fromUtf8(body) as Uint8Array<ArrayBuffer>)
    const target = { server, path: `${basePath}${path}` }
    const sent = { ...request, ...target, body: bytes, maxResponseBytes, repeatsStale: true }
    const response = await transport.send(sent)
    return { status: response.status, text: response.text() }
  }
}

function sendByFetch(url: string, send: typeof fetch): Send {
  return async ({ path, timeoutMs, ...request }) => {
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await send(`${url}${path}`, { ...request, redirect: 'manual', signal } as RequestInit)
    if (response.type === 'opaqueredirect' || isRedirect(response.status)) {
      await response.body?.cancel()
      return { status: 302, text: '' }
    }
    return { status: response.status, text: await readText(response) }
  }
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400
}

function readResponse({ status, text }: CallResponse, address: string): Json.Members {
  const protocolError = (what: string): FacilitatorError =>
    new FacilitatorError('facilitator_protocol_error', `${address} ${what}`)
  // Browsers report the status of a redirect as 0.
  if (status === 0 || isRedirect(status)) throw protocolError('redirects')
  const value = Json.parseObject(text)
  const isOk = status >= 200 && status < 300
  // Some facilitators send a refusal with an error status. A refusal is still a result.
  if (value !== undefined && (isOk || 'isValid' in value || 'success' in value)) return value
  if (isOk) throw protocolError('responded with a body that is not JSON')
  throw new FacilitatorError('facilitator_unavailable', `${address} responded with status ${status}`)
}

/** The rest of a response that is longer than the limit is not read. */
async function readText({ body }: Response): Promise<string> {
  if (body === null) return ''
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = body.getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes += read.value.length
    if (bytes > maxResponseBytes) {
      void reader.cancel().catch(() => {})
      throw new TransportError('too_large')
    }
    chunks.push(read.value)
  }
  return new TextDecoder().decode(Bytes.concat(chunks))
}

function reasonOf(error: unknown, limitMs: number): string {
  const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } }
  if (error instanceof TransportError) {
    if (error.code === 'timeout') return `no response within ${limitMs} ms`
    return error.systemCode ?? cause?.message ?? message
  }
  return name === 'TimeoutError' ? `no response within ${limitMs} ms` : (cause?.code ?? message)
}

/** A facilitator that did not respond, or did not follow the protocol. The state of the payment is not known. */
export class FacilitatorError extends PartyError<
  'facilitator_unavailable' | 'facilitator_protocol_error' | 'invalid_option'
> {
  override name = 'FacilitatorError'
}
