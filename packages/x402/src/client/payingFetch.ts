/** A `fetch` that pays when a server responds with 402, and otherwise behaves like the one it wraps. */
import { Bytes } from '@latchkey/algorand'
import { X402Error } from '../errors.js'
import * as Headers from '../wire/Headers.js'
import type { PaymentRequired } from '../wire/types.js'
import type { Buyer, SignedPayment } from './Buyer.js'
import type { PaymentState } from './Payments.js'

/** Options of {@link payingFetch}. */
export type PayingFetchOptions = {
  /**
   * Sends the requests.
   *
   * @default globalThis.fetch
   */
  fetch?: typeof fetch | undefined
  /** Called before anything is signed; `false` returns the 402 as it is. */
  onPaymentRequired?: ((required: PaymentRequired, url: string) => boolean | Promise<boolean>) | undefined
  /** Called with every payment that was sent, and with its receipt if one arrived. */
  onPayment?: ((payment: SignedPayment, receipt: Headers.Receipt | undefined) => void) | undefined
  /**
   * The largest body, which is kept to be sent a second time.
   *
   * @default 10 MiB
   */
  maxBodyBytes?: number | undefined
  /**
   * How long to wait before a payment is sent a second time; each further wait is longer.
   *
   * @default 500
   */
  repeatMs?: number | undefined
}

const defaultMaxBodyBytes = 10 * 1024 * 1024
const defaultRepeatMs = 500
/** How often the same payment is sent, where its response was lost or it is not settled yet. */
const maxAttempts = 5

/**
 * Wraps `fetch`: a request that is answered with 402 is paid and repeated, at most once. A 402 that is not understood, or
 * that follows a payment, is returned as it is.
 *
 * @returns a `fetch` that throws, besides what the wrapped one throws:
 * - `PaymentRefusedError` if none of the offers may or can be paid; nothing is signed then
 * - {@link PaymentRequestError} for a redirect to another origin that asks for a payment, or a body that is too large
 * - {@link LostResponseError} if the payment was sent and no response arrived
 * - `SignerError` if the signer returns no valid signature
 * @example
 * const pay = payingFetch(buyer)
 * const response = await pay('https://example.com/weather')
 * console.log(await response.json(), receiptOf(response))
 */
export function payingFetch(buyer: Buyer, options: PayingFetchOptions = {}): typeof fetch {
  const { fetch: baseFetch = fetch, onPaymentRequired, onPayment, maxBodyBytes = defaultMaxBodyBytes } = options
  return async (input, init) => {
    const request = new Request(input, init)
    // It carries a payment already, which is for this address and not for one that it redirects to.
    if (request.headers.has(Headers.paymentSignature)) return baseFetch(new Request(request, { redirect: 'manual' }))
    const send = sender(baseFetch, request, await readBody(request, maxBodyBytes))
    const first = await send(request)
    const required = first.status === 402 ? requiredOf(first) : undefined
    if (required === undefined) return first
    const target = targetOf(request, first)
    if ((await onPaymentRequired?.(required, target.url)) === false) return first
    await first.body?.cancel()
    const paid = await buyer.pay(required, { signal: request.signal })
    let response: Response | undefined
    try {
      const headers = new globalThis.Headers(request.headers)
      headers.set(Headers.paymentSignature, paid.header)
      // A payment does not follow a redirect.
      const sendOnce = (): Promise<Response> => send(target, { headers, redirect: 'manual' })
      response = await sendPayment(paid, buyer, request, sendOnce, options.repeatMs ?? defaultRepeatMs)
      return response
    } finally {
      onPayment?.(paid, response === undefined ? undefined : receiptOf(response))
    }
  }
}

/** The receipt in a response: what was settled for it. Undefined if nothing was. */
export function receiptOf(response: Response): Headers.Receipt | undefined {
  const header = response.headers.get(Headers.paymentResponse) ?? response.headers.get('X-PAYMENT-RESPONSE')
  return header === null ? undefined : orUndefined(() => Headers.decodeReceipt(header))
}

function requiredOf(response: Response): PaymentRequired | undefined {
  const header = response.headers.get(Headers.paymentRequired)
  return header === null ? undefined : orUndefined(() => Headers.decodeRequired(header))
}

/** A header that cannot be read counts as missing. */
function orUndefined<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch (error) {
    if (error instanceof Headers.HeaderError) return undefined
    throw error
  }
}

type Send = (target: Request, changes?: RequestInit) => Promise<Response>

/** Sends the request as often as needed: a body can be read only once, so a copy goes with each request. */
function sender(baseFetch: typeof fetch, request: Request, body: Uint8Array<ArrayBuffer> | undefined): Send {
  return (target, changes = {}) =>
    baseFetch(new Request(target, { ...changes, ...(body === undefined || target !== request ? {} : { body }) }))
}

/** Where the payment is sent. A server can redirect the request, but not have it paid at another origin. */
function targetOf(request: Request, { url, redirected }: Response): Request {
  const isElsewhere = url !== '' && new URL(url).origin !== new URL(request.url).origin
  // Whether method and body survived the redirect is not known.
  const isUnclear = redirected && request.method !== 'GET' && request.method !== 'HEAD'
  if (isElsewhere || isUnclear) {
    const message = `${request.method} ${request.url} was redirected to ${url}, which asks for a payment`
    throw new PaymentRequestError('payment_redirected', message)
  }
  return redirected ? new Request(url, request) : request
}

async function readBody(request: Request, maxBodyBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (request.body === null) return undefined
  const chunks: Uint8Array[] = []
  let bytes = 0
  const reader = request.body.getReader()
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes += read.value.length
    if (bytes > maxBodyBytes) {
      void reader.cancel().catch(() => {})
      throw new PaymentRequestError('body_too_large', `the body has more than ${maxBodyBytes} bytes`)
    }
    chunks.push(read.value)
  }
  return new Uint8Array(Bytes.concat(chunks))
}

/**
 * Sends the payment, and sends the same one again where its response was lost or the ledger has not decided: a seller
 * takes a payment once. Never makes a second payment.
 */
async function sendPayment(
  paid: SignedPayment,
  buyer: Buyer,
  { method, signal }: Request,
  sendOnce: () => Promise<Response>,
  repeatMs: number,
): Promise<Response> {
  const { transactionId } = paid.payment
  // RFC 9110, 9.2.2: a request that is not idempotent is not repeated automatically.
  const mayRepeat = !['POST', 'PATCH', 'CONNECT'].includes(method)
  let cause: unknown
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if (attempt > 0) await pause(repeatMs * attempt, signal)
    let response: Response
    try {
      response = await sendOnce()
    } catch (error) {
      if (signal.aborted) throw error
      cause = error
      if (!mayRepeat) break
      continue
    }
    const receipt = receiptOf(response)
    buyer.receive(transactionId, receipt)
    if (receipt?.success === false && receipt.errorReason === 'settlement_pending') {
      cause = new Error('the settlement is still pending')
      await response.body?.cancel()
      continue
    }
    // The seller could not check the payment now; it may in a moment, and a second payment would fare no better.
    const isForLater = response.status === 503 && receipt === undefined && response.headers.has('Retry-After')
    if (isForLater && mayRepeat && attempt < maxAttempts - 1) {
      await response.body?.cancel()
      continue
    }
    // Sellers and their proxies give up on payments that are settled all the same, so a failure is checked.
    const isDoubtful = cause !== undefined || receipt?.success === false || response.status >= 500
    if (receipt?.success || !isDoubtful || (await stateOf(buyer, transactionId)) !== 'settled') return response
    cause ??= new Error(`the seller responded with status ${response.status}`)
    await response.body?.cancel()
    break
  }
  throw new LostResponseError(paid, await stateOf(buyer, transactionId), cause)
}

/** As far as the ledger can be queried. */
async function stateOf(buyer: Buyer, transactionId: string): Promise<PaymentState> {
  try {
    return await buyer.lookUp(transactionId)
  } catch {
    return 'open'
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    function end(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      if (signal.aborted) reject(signal.reason)
      else resolve()
    }
    if (signal.aborted) end()
  })
}

/** A request that cannot be paid for, by its redirect or its body. Nothing was signed. */
export class PaymentRequestError extends X402Error<'payment_redirected' | 'body_too_large'> {
  override name = 'PaymentRequestError'
}

/**
 * A payment was sent, and its response did not arrive. `buyer.lookUp(transactionId)` returns its state since; the same
 * request with `header` as its PAYMENT-SIGNATURE sends the same payment again.
 */
export class LostResponseError extends X402Error<'response_lost'> {
  override name = 'LostResponseError'
  readonly transactionId: string
  /** The value of the header PAYMENT-SIGNATURE that was sent. */
  readonly header: string
  /** The state of the payment when the error was thrown. */
  readonly state: PaymentState

  constructor({ payment, header }: SignedPayment, state: PaymentState, cause: unknown) {
    const states = { settled: 'is settled', open: 'was sent', expired: 'was sent and has expired unsettled' }
    super('response_lost', `the payment ${payment.transactionId} ${states[state]}, and no response arrived`, { cause })
    this.transactionId = payment.transactionId
    this.header = header
    this.state = state
  }
}
