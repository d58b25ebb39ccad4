/** Facilitators as a seller uses them: in this process, or over HTTP with limits on time and size. */
import { Bytes, Json } from '@latchkey/algorand'
import { X402Error } from '../errors.js'
import type {
  PaymentPayload,
  PaymentRequirements,
  SettleResponse,
  SupportedResponse,
  VerifyResponse,
} from '../wire/types.js'

/** What a gate tells a facilitator besides the payment. */
export type FacilitatorCallOptions = {
  /**
   * Identifies the gate and the resource that claim the payment: a facilitator that binds payments refuses it to others
   * with `payment_already_claimed`. 1 to 128 letters, digits, `-` and `_`.
   *
   * @default none
   */
  readonly claimant?: string | undefined
}

/** A facilitator that a gate can use. */
export type FacilitatorClient = {
  /** For messages: the address, or what it is. */
  readonly name: string
  /**
   * Whether its report that a payment is settled is believed; for others the ledger is queried.
   *
   * @default false
   */
  readonly isTrusted?: boolean | undefined
  /** Whether a payment would be settled. */
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
  /** The networks and fee payers that it serves. */
  readonly supported: () => Promise<SupportedResponse> | SupportedResponse
}

/** Options of {@link httpFacilitator}. */
export type HttpFacilitatorOptions = {
  /** The address of the facilitator. */
  url: string
  /**
   * Sent as `Authorization: Bearer ...`.
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
   * For a facilitator of your own: saves a request to the node with every payment.
   *
   * @default false
   */
  isTrusted?: boolean | undefined
  /**
   * Sends the requests.
   *
   * @default globalThis.fetch
   */
  fetch?: typeof fetch | undefined
}

const defaultTimeoutMs = 40_000
const supportedTimeoutMs = 5_000
const maxResponseBytes = 256 * 1024

/**
 * A facilitator over HTTP.
 *
 * @throws {@link FacilitatorError} for an address that cannot be used; its methods throw it where the facilitator does not
 * respond, or not as the protocol says
 */
export function httpFacilitator(options: HttpFacilitatorOptions): FacilitatorClient {
  const { apiKey, timeoutMs = defaultTimeoutMs, isTrusted = false, fetch: send = fetch } = options
  const url = baseUrl(options.url)
  const call = async (path: string, body: object | undefined, limitMs: number): Promise<Json.Members> => {
    const headers: { [name: string]: string } = { Accept: 'application/json' }
    if (body !== undefined) headers['Content-Type'] = 'application/json'
    if (apiKey !== undefined) headers['Authorization'] = `Bearer ${apiKey}`
    try {
      const response = await send(`${url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers,
        // Neither a payment nor the key follows a redirect.
        redirect: 'manual',
        signal: AbortSignal.timeout(limitMs),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      return await readResponse(response, `${url}${path}`)
    } catch (error) {
      if (error instanceof FacilitatorError) throw error
      const reason = (error as Error).name === 'TimeoutError' ? `no response within ${limitMs} ms` : reasonOf(error)
      throw new FacilitatorError('facilitator_unavailable', `${url}${path}: ${reason}`, { cause: error })
    }
  }
  const pay = (
    path: string,
    paymentPayload: PaymentPayload,
    paymentRequirements: PaymentRequirements,
    { claimant }: FacilitatorCallOptions = {},
  ) => {
    const binding = claimant === undefined ? {} : { claimant }
    return call(path, { x402Version: 2, paymentPayload, paymentRequirements, ...binding }, timeoutMs)
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
    throw new FacilitatorError('invalid_option', `${text} is not the http address of a facilitator`, {
      hint: 'Pass a URL like "https://facilitator.example".',
    })
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    const message = `the address of the facilitator at ${url.host} has more than a path`
    throw new FacilitatorError('invalid_option', message, { hint: 'Pass keys as `apiKey`.' })
  }
  return text.trim().replace(/\/+$/, '')
}

async function readResponse(response: Response, address: string): Promise<Json.Members> {
  const protocolError = (what: string): FacilitatorError =>
    new FacilitatorError('facilitator_protocol_error', `${address} ${what}`)
  if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
    await response.body?.cancel()
    throw protocolError('redirects')
  }
  const text = await readText(response)
  if (text === undefined) throw protocolError(`sent more than ${maxResponseBytes} bytes`)
  const value = parse(text)
  // Some facilitators send a refusal with an error status; it is a result all the same.
  if (value !== undefined && (response.ok || 'isValid' in value || 'success' in value)) return value
  if (response.ok) throw protocolError('responded with something else than JSON')
  throw new FacilitatorError('facilitator_unavailable', `${address} responded with status ${response.status}`)
}

/** Undefined if it is longer than the limit; the rest is not read then. */
async function readText({ body }: Response): Promise<string | undefined> {
  if (body === null) return ''
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = body.getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes += read.value.length
    if (bytes > maxResponseBytes) {
      void reader.cancel().catch(() => {})
      return undefined
    }
    chunks.push(read.value)
  }
  return new TextDecoder().decode(Bytes.concat(chunks))
}

function parse(text: string): Json.Members | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Json.isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error & { cause?: { code?: string } }
  return cause?.code ?? message
}

/** A facilitator that did not respond, or not as the protocol says: nothing is known about the payment. */
export class FacilitatorError extends X402Error<
  'facilitator_unavailable' | 'facilitator_protocol_error' | 'invalid_option'
> {
  override name = 'FacilitatorError'
}
