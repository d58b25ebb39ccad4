/** A `fetch` that pays when it is asked to, and otherwise does what the one it was given does. */
import * as Headers from '../wire/Headers.js'
import type { PaymentRequired } from '../wire/types.js'
import type { Buyer, SignedPayment } from './Buyer.js'
import type { PaymentState } from './Payments.js'

export type PayingFetchOptions = {
  fetch?: typeof fetch | undefined
  /** Asked before anything is signed; `false` leaves the 402 as it is. */
  onPaymentRequired?: ((required: PaymentRequired, url: string) => boolean | Promise<boolean>) | undefined
  /** Told of every payment that was signed, and of the receipt that came for it, if one did. */
  onPayment?: ((payment: SignedPayment, receipt: Headers.Receipt | undefined) => void) | undefined
  /** A body is kept to be sent again; larger ones are refused. 10 MiB unless told. */
  maxBodyBytes?: number | undefined
  /** How long to wait before a payment is shown again, and longer each time. 500 unless told. */
  repeatMs?: number | undefined
}

const defaultMaxBodyBytes = 10 * 1024 * 1024
const defaultRepeatMs = 500
/** How often the same payment is shown, where its answer was lost or it is not settled yet. */
const maxShows = 5

/**
 * A 402 that is not understood, or that follows a payment, is returned as it is. A request is paid for at most once.
 * Throws a PaymentRefusedError if it may or can not be paid, and a LostResponseError if it was and no answer came.
 */
export function payingFetch(buyer: Buyer, options: PayingFetchOptions = {}): typeof fetch {
  const { fetch: ask = fetch, onPaymentRequired, onPayment, maxBodyBytes = defaultMaxBodyBytes } = options
  return async (input, init) => {
    const request = new Request(input, init)
    // Paid already, by whomever; the payment is for this address and for no other that it may name.
    if (request.headers.has(Headers.paymentSignature)) return ask(new Request(request, { redirect: 'manual' }))
    const send = sender(ask, request, await bodyOf(request, maxBodyBytes))
    const first = await send(request)
    const required = first.status === 402 ? requiredOf(first) : undefined
    if (required === undefined) return first
    const target = targetOf(request, first)
    if ((await onPaymentRequired?.(required, target.url)) === false) return first
    await first.body?.cancel()
    const paid = await buyer.pay(required, { signal: request.signal })
    let answer: Response | undefined
    try {
      const headers = new globalThis.Headers(request.headers)
      headers.set(Headers.paymentSignature, paid.header)
      // A payment is not carried on to wherever a redirect leads.
      const showOnce = (): Promise<Response> => send(target, { headers, redirect: 'manual' })
      answer = await show(paid, buyer, request, showOnce, options.repeatMs ?? defaultRepeatMs)
      return answer
    } finally {
      onPayment?.(paid, answer === undefined ? undefined : receiptOf(answer))
    }
  }
}

/** The settlement that an answer tells of; undefined if none was made. */
export function receiptOf(response: Response): Headers.Receipt | undefined {
  const header = response.headers.get(Headers.paymentResponse) ?? response.headers.get('X-PAYMENT-RESPONSE')
  return header === null ? undefined : orUndefined(() => Headers.decodeReceipt(header))
}

function requiredOf(response: Response): PaymentRequired | undefined {
  const header = response.headers.get(Headers.paymentRequired)
  return header === null ? undefined : orUndefined(() => Headers.decodeRequired(header))
}

/** What is not understood is as if it were not there. */
function orUndefined<T>(decode: () => T): T | undefined {
  try {
    return decode()
  } catch (error) {
    if (error instanceof Headers.HeaderError) return undefined
    throw error
  }
}

type Send = (target: Request, changes?: RequestInit) => Promise<Response>

/** Sends the request as often as it is needed: its body can be read only once, so it is given along each time. */
function sender(ask: typeof fetch, request: Request, body: Uint8Array<ArrayBuffer> | undefined): Send {
  return (target, changes = {}) =>
    ask(new Request(target, { ...changes, ...(body === undefined || target !== request ? {} : { body }) }))
}

/** Where the payment goes. Somebody may send us elsewhere, but not have us pay there. */
function targetOf(request: Request, { url, redirected }: Response): Request {
  const isElsewhere = url !== '' && new URL(url).origin !== new URL(request.url).origin
  // What became of the method and the body on the way is not told.
  const isUnclear = redirected && request.method !== 'GET' && request.method !== 'HEAD'
  if (isElsewhere || isUnclear) {
    throw new RedirectError(`${request.method} ${request.url} led to ${url}, which asks for money; ask there to pay it`)
  }
  return redirected ? new Request(url, request) : request
}

async function bodyOf(request: Request, maxBodyBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (request.body === null) return undefined
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) throw new RangeError(`a body of more than ${maxBodyBytes} bytes is not sent`)
    chunks.push(chunk)
  }
  return new Uint8Array(Buffer.concat(chunks))
}

/**
 * Shows the payment, and shows the same one again where its answer was lost or the ledger has not decided: a seller
 * takes it once. Never pays anew.
 */
async function show(
  paid: SignedPayment,
  buyer: Buyer,
  { method, signal }: Request,
  showOnce: () => Promise<Response>,
  repeatMs: number,
): Promise<Response> {
  const { transactionId } = paid.payment
  // RFC 9110, 9.2.2: what is not idempotent is not sent again by itself.
  const mayRepeat = !['POST', 'PATCH', 'CONNECT'].includes(method)
  let lost: unknown
  for (let shows = 0; shows < maxShows; shows++) {
    if (shows > 0) await pause(repeatMs * shows, signal)
    let answer: Response
    try {
      answer = await showOnce()
    } catch (error) {
      if (signal.aborted) throw error
      lost = error
      if (!mayRepeat) break
      continue
    }
    const receipt = receiptOf(answer)
    buyer.receive(transactionId, receipt)
    if (receipt?.success === false && receipt.errorReason === 'settlement_pending') {
      lost = new Error('the settlement is still pending')
      await answer.body?.cancel()
      continue
    }
    // Nobody could look at it just now; somebody may in a moment, and another payment would be no better.
    const isForLater = answer.status === 503 && receipt === undefined && answer.headers.has('Retry-After')
    if (isForLater && mayRepeat && shows < maxShows - 1) {
      await answer.body?.cancel()
      continue
    }
    // Sellers and their proxies give up on what may have been settled all the same; then a refusal is not all there is.
    const isDoubtful = lost !== undefined || receipt?.success === false || answer.status >= 500
    if (receipt?.success || !isDoubtful || (await stateOf(buyer, transactionId)) !== 'settled') return answer
    lost ??= new Error(`the seller answered with status ${answer.status}`)
    await answer.body?.cancel()
    break
  }
  throw new LostResponseError(paid, await stateOf(buyer, transactionId), lost)
}

/** As far as the ledger can be asked. */
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

/** Nothing was signed. */
export class RedirectError extends Error {
  override name = 'RedirectError'
}

/**
 * A payment was signed and shown, and its answer did not come. `buyer.lookUp(transactionId)` tells what became of it
 * since; the same request with `header` as its PAYMENT-SIGNATURE shows it again.
 */
export class LostResponseError extends Error {
  override name = 'LostResponseError'
  readonly transactionId: string
  readonly header: string
  readonly state: PaymentState

  constructor({ payment, header }: SignedPayment, state: PaymentState, cause: unknown) {
    const became = { settled: 'was settled', open: 'was shown', expired: 'was shown and never settled' }[state]
    super(`the payment ${payment.transactionId} ${became}, and no answer came for it`, { cause })
    this.transactionId = payment.transactionId
    this.header = header
    this.state = state
  }
}
