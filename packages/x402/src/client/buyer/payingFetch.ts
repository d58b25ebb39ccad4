/** A `fetch` that pays when a server responds with 402, and otherwise behaves like the `fetch` it wraps. */
import * as Tracing from '@latchkey/algod/tracing'
import { Bytes, Network, SignedReceipt } from '@latchkey/algorand'
import { PaymentHeaders, type PaymentRequired, PaymentSecret, passHeader } from '@latchkey/x402-wire'
import { sendDirectly } from '#direct-send'
import { PartyError } from '../../errors.js'
import type { Payment, PaymentState } from '../store/Payments.js'
import type { Buyer, PayOptions, SignedPayment } from './Buyer.js'
import { BuyerHookCalls, type BuyerHooks } from './BuyerHooks.js'
import type { DirectRequest } from './direct-send/DirectSend.js'
import type { Offer } from './Offer.js'
import * as PaidRequest from './PaidRequest.js'
import { isAsked, MemoryPassCache, type PassCache, PassRequests, PriceCache, type Send } from './PaidRequest.js'
import { PaymentRefusedError } from './PaymentRefusedError.js'
import {
  type Delivery,
  injectTrace,
  isReceiptOf,
  LostResponseError,
  paymentOf,
  receiptOf,
  traceFetch,
  tracePayment,
} from './sendPayment.js'

/** The answer to a price: whether to pay it, which offer to pay, or headers that may open the request unpaid. */
export type PaymentDecision = boolean | Offer | { readonly headers: { readonly [name: string]: string } }

/** Options of {@link payingFetch}. */
export type PayingFetchOptions = BuyerHooks & {
  /**
   * Sends the requests.
   *
   * @default globalThis.fetch; on Node, requests with a payment use `node:http`, unless `fetch` was replaced or given a
   * dispatcher
   */
  fetch?: typeof fetch | undefined
  /**
   * Called before anything is signed, with the offers that can be paid now, the preferred one first. Return `true` to
   * pay the first offer, or an offer to pay exactly that one; if that fails, a `PaymentRefusedError` is thrown. Return
   * `{ headers }` to send the request again with these headers instead, such as an API key; if the response is another
   * 402, the function is called once more. For any other value the 402 is returned unchanged.
   *
   * @default pays the first offer that can be paid
   */
  onPaymentRequired?:
    | ((
        required: PaymentRequired,
        url: string,
        offers: readonly [Offer, ...Offer[]],
      ) => PaymentDecision | Promise<PaymentDecision>)
    | undefined
  /** Called instead of `onPaymentRequired` if an earlier payment for the same request is sent again. */
  onRepeat?: ((payment: Payment) => void) | undefined
  /**
   * Called with every payment that was sent, its receipt if one arrived, and its state on the ledger. An error thrown
   * here becomes the cause of a `LostResponseError`, and the payment then counts as unanswered.
   */
  onPayment?:
    | ((payment: SignedPayment, receipt: PaymentHeaders.Receipt | undefined, state: PaymentState) => void)
    | undefined
  /**
   * Whether to resend a payment for the same request (method, URL, headers and body) that got no answer, instead of
   * making a new one, as long as it may be settled or answered. `false` makes a new payment, which may be a second
   * charge.
   *
   * @default true
   */
  resume?: boolean | undefined
  /**
   * The part of a response that counts as the answer to a payment: the status and headers, or the whole body too. With
   * `body`, the payment is sent again for the same request if the process ends before the body was read. Use `body`
   * only if the body is always read.
   *
   * @default 'headers'
   */
  answer?: 'headers' | 'body' | undefined
  /**
   * The largest request body. The body is kept so that it can be sent a second time.
   *
   * @default 10 MiB
   */
  maxBodyBytes?: number | undefined
  /**
   * How long to wait before a payment is sent a second time, in milliseconds. Each further wait is longer.
   *
   * @default 500
   */
  repeatMs?: number | undefined
  /**
   * Stores the passes that sellers issue with their answers. Requests that a pass opens are not paid for again. A pass
   * is presented only to the origin that issued it, and follows no redirect. `false` stores and presents none.
   *
   * @default new MemoryPassCache(), for the calls of this `fetch`
   */
  passes?: PassCache | false | undefined
  /**
   * Returns the name of the purchase that a request is for, such as an order number of 16 to 128 letters, digits, `-`
   * and `_`. A seller that supports names charges all payments under one name once, even those of other processes.
   *
   * @default no name; a random one if the seller requires a name
   */
  paymentIdentifier?: ((request: PaidRequest.PaidRequest) => string | undefined) | undefined
  /**
   * Whether to remember paid prices for some minutes, so that the next request for the same URL carries its payment
   * immediately, within all limits, and saves a round trip. If the price has changed, the seller refuses the payment.
   * The new price is then paid if both payments together are within the limit for one payment, because a seller must
   * not settle a refused payment, but could. Has no effect with `onPaymentRequired`, which sees every price first.
   *
   * @default true, for the calls of this `fetch`
   */
  rememberPrices?: boolean | undefined
}

const defaultMaxBodyBytes = 10 * 1024 * 1024
const defaultRepeatMs = 500

/**
 * Wraps `fetch`: a request that is answered with 402 is paid and repeated, at most once. A 402 that is not understood,
 * or that follows a payment, is returned unchanged. A request that an earlier payment's pass opens is not paid for. If
 * the seller refuses the pass, the request is paid for like any other.
 *
 * @returns a `fetch` that throws, besides what the wrapped one throws:
 * - `PaymentRefusedError` if none of the offers may or can be paid; nothing is signed then
 * - {@link PaymentRequestError} for a redirect to another origin that asks for a payment, or a body that is too large
 * - `LostResponseError` if the payment was sent and no response arrived, also because the request was aborted; the body
 *   of a response that breaks off throws it too
 * - `SignerError` if the signer returns no valid signature
 * - `PaymentLogError` if the payment cannot be recorded; nothing is signed then
 * @example
 * const pay = payingFetch(buyer)
 * const response = await pay('https://example.com/weather')
 * console.log(await response.json(), receiptOf(response))
 */
export function payingFetch(buyer: Buyer, options: PayingFetchOptions = {}): typeof fetch {
  const { maxBodyBytes = defaultMaxBodyBytes, rememberPrices = true } = options
  const cache = options.passes === false ? undefined : (options.passes ?? new MemoryPassCache())
  const prices = rememberPrices && options.onPaymentRequired === undefined ? new PriceCache() : undefined
  const hooks = BuyerHookCalls.of(options)
  const call: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const baseFetch = options.fetch ?? (isPlainRequest(request, init) ? undefined : fetch)
    const given = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    // The request already carries a payment, which is for this address and not for a redirect target.
    if (request.headers.has(PaymentHeaders.paymentSignature)) {
      return sender(baseFetch, request, undefined, given)(request, { redirect: 'manual' })
    }
    const body = await readBody(request, maxBodyBytes)
    const send = sender(baseFetch, request, body, given)
    const passes = cache === undefined ? undefined : new PassRequests(cache, send)
    const { method, url, headers } = request
    const paidRequest = PaidRequest.fixed({ method, url, headers, body })
    const purchase = { buyer, input, request, paidRequest, send, passes, prices, hooks, options }
    const opened = await passes?.showKnown(request)
    const early = opened === undefined ? await payRemembered(purchase) : undefined
    if (early?.refused === undefined && early?.response !== undefined) return early.response
    // A pass that the caller presents must not follow a redirect either.
    const own = request.headers.has(passHeader) ? ({ redirect: 'manual' } as const) : {}
    const unpaid = opened ?? early?.response ?? (await send(request, own))
    const price = priceIn(unpaid)
    if (price === undefined) return unpaid
    const target = targetOf(request, unpaid)
    // A pass may open other paths than the one it was bought at.
    const shown = await passes?.showFor(price, target)
    if (shown !== undefined) await unpaid.body?.cancel().catch(() => {})
    const first = shown ?? unpaid
    const required = shown === undefined ? price : priceIn(shown)
    if (required === undefined) return first
    const payment = await paymentFor(purchase, required, target.url, early?.refused)
    if (payment === undefined) return first
    if ('headers' in payment) return retryWith(purchase, payment, first, target)
    // The refused payment counts against the limits until it expires, and is not sent again.
    if (early?.refused !== undefined) buyer.payments.finish(early.refused.transactionId, 'answered')
    await first.body?.cancel().catch(() => {})
    return pay(purchase, payment, required, target)
  }
  return (input, init) => traceFetch(() => call(input, init))
}

/** One call of the paying `fetch`. */
type Purchase = {
  readonly buyer: Buyer
  readonly input: unknown
  readonly request: Request
  /** Identifies the request for the caches and the payment log. */
  readonly paidRequest: PaidRequest.PaidRequest
  readonly send: Send
  readonly passes: PassRequests | undefined
  readonly prices: PriceCache | undefined
  readonly hooks: BuyerHookCalls | undefined
  readonly options: PayingFetchOptions
}

type PaymentToSend = Pick<Delivery, 'paid' | 'isRepeat'>
/** Headers that may open the request without a payment. */
type HeadersToSend = { readonly headers: { readonly [name: string]: string } }

type EarlyResponse = {
  /** Undefined for a redirect. The request is then sent without a payment, and may follow the redirect. */
  readonly response: Response | undefined
  /** The payment, if the seller refused it or redirected; otherwise `response` is the answer. */
  readonly refused: Payment | undefined
}

/** Pays the remembered price of the same resource; undefined if there is none, or it cannot be paid now. */
async function payRemembered(purchase: Purchase): Promise<EarlyResponse | undefined> {
  const { request, prices } = purchase
  if (prices === undefined || request.headers.has(passHeader)) return undefined
  const required = prices.find(purchase.paidRequest)
  if (required === undefined) return undefined
  // Another offer may be payable, or the price may be lower now.
  const payment = await paymentFor(purchase, required, request.url).catch((error: unknown) => {
    if (error instanceof PaymentRefusedError) return undefined
    throw error
  })
  if (payment === undefined || 'headers' in payment) return undefined
  const { paid, isRepeat } = payment
  const paidResponse = await pay(purchase, payment, required, request)
  // The seller could not have the payment verified. That price's facilitator may be down, and another one may be in use
  // now.
  const isUnchecked = paidResponse.status === 503 && receiptOf(paidResponse) === undefined && !isRepeat
  const response = isUnchecked ? await askAgain(purchase, paidResponse, paid) : paidResponse
  if (isRepeat || receiptOf(response) !== undefined) return { response, refused: undefined }
  const isMoved = isRedirect(response) && paymentOf(response)?.state !== 'settled' && request.redirect !== 'manual'
  const asked = priceIn(response)
  const isChanged = asked !== undefined && !isAsked(asked, paid.payload.accepted)
  if (!isMoved && !(isChanged && PaymentSecret.isDeclared(asked.extensions))) return { response, refused: undefined }
  prices.refuse(purchase.paidRequest)
  if (isMoved) await response.body?.cancel().catch(() => {})
  return { response: isMoved ? undefined : response, refused: paid.payment }
}

function isRedirect({ status, type, headers }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400 && headers.has('Location'))
}

/**
 * Returns the response to the request without a payment if it asks for another price; otherwise the response to the
 * payment.
 */
async function askAgain({ request, send }: Purchase, paidResponse: Response, paid: SignedPayment): Promise<Response> {
  const unpaid = await send(request).catch(() => undefined)
  const asked = unpaid === undefined ? undefined : priceIn(unpaid)
  const isChanged = asked !== undefined && !isAsked(asked, paid.payload.accepted)
  const other = isChanged ? paidResponse : unpaid
  await other?.body?.cancel().catch(() => {})
  return isChanged ? unpaid! : paidResponse
}

/** Sends the request with headers that the caller chose, and asks once more if it still has a price. */
async function retryWith(
  purchase: Purchase,
  { headers }: HeadersToSend,
  first: Response,
  target: Request,
): Promise<Response> {
  await first.body?.cancel().catch(() => {})
  const merged = new Headers(purchase.request.headers)
  for (const [name, value] of Object.entries(headers)) merged.set(name, value)
  // Neither a key nor a payment follows a redirect.
  const response = await purchase.send(target, { headers: merged, redirect: 'manual' })
  const required = priceIn(response)
  const payment = required === undefined ? undefined : await paymentFor(purchase, required, target.url)
  if (required === undefined || payment === undefined || 'headers' in payment) return response
  await response.body?.cancel().catch(() => {})
  return pay(purchase, payment, required, target)
}

async function pay(
  purchase: Purchase,
  payment: PaymentToSend,
  required: PaymentRequired,
  target: Request,
): Promise<Response> {
  const { buyer, input, request, send, passes, prices, hooks, options } = purchase
  const { method, signal } = request
  const sendOnce = (header: string): Promise<Response> => {
    const headers = new Headers(request.headers)
    headers.set(PaymentHeaders.paymentSignature, header)
    // A payment must not follow a redirect.
    return send(target, { headers, redirect: 'manual' })
  }
  const onSent = (paid: SignedPayment, response: Response | undefined, state: PaymentState): void =>
    options.onPayment?.(paid, response === undefined ? undefined : receiptOf(response), state)
  const delivery = {
    ...payment,
    buyer,
    method,
    signal,
    sendOnce,
    repeatMs: options.repeatMs ?? defaultRepeatMs,
    onSent,
    isAnsweredByBody: options.answer === 'body',
    requests: [input, request],
  }
  const response = await tracePayment(delivery)
  keepReceipt(buyer, payment.paid, response)
  if (hooks !== undefined) await hooks.responded(payment.paid.payload, response)
  passes?.keep(required, target, payment.paid, response)
  if (target === request) learnPrice(prices, purchase.paidRequest, { required, paid: payment.paid, response })
  return response
}

/** Keeps the receipt that the seller has signed, if it is valid and for this payment. */
function keepReceipt({ payments, address }: Buyer, { payment, payload }: SignedPayment, response: Response): void {
  const jws = receiptOf(response)?.signedReceipt
  if (jws === undefined || payments.keepReceipt === undefined) return
  try {
    const { receipt } = SignedReceipt.verify(jws)
    const isOwn = receipt.payer === address && Network.matches(receipt.network, payment.network)
    // The transaction of a price by usage was found on the ledger when the response arrived.
    const paidBy = payments.get(payment.transactionId)?.charge?.transactionId ?? payment.transactionId
    const isOfPayment = (receipt.transaction ?? paidBy) === paidBy
    const isOfResource = [payment.url, payload.resource?.url].includes(receipt.resourceUrl)
    if (isOwn && isOfPayment && isOfResource) payments.keepReceipt(payment.transactionId, jws)
  } catch {
    // The response was paid for and is the caller's, with or without a receipt that can be kept.
  }
}

/** A price is remembered as long as paying it opens the request. */
function learnPrice(
  prices: PriceCache | undefined,
  request: PaidRequest.PaidRequest,
  { required, paid, response }: { required: PaymentRequired; paid: SignedPayment; response: Response },
): void {
  const receipt = response.status < 400 ? receiptOf(response) : undefined
  const isSettled = receipt?.success === true && isReceiptOf(receipt, paid.payment)
  if (isSettled) prices?.keep(request, required, paid.payload.accepted)
  else prices?.forget(request)
}

/** The payment to send: an earlier one without an answer, or a new one; undefined if the caller declines. */
async function paymentFor(
  purchase: Purchase,
  required: PaymentRequired,
  target: string,
  refused?: Payment | undefined,
): Promise<PaymentToSend | HeadersToSend | undefined> {
  const { buyer, hooks, options } = purchase
  const { onPaymentRequired, onRepeat, resume = true } = options
  const { signal } = purchase.request
  const request = purchase.paidRequest
  const open = resume && refused === undefined ? await buyer.resume(request) : undefined
  if (open !== undefined) {
    const { transactionId, state } = open.payment
    try {
      if (signal.aborted) throw new LostResponseError(open, state, signal.reason)
      onRepeat?.(open.payment)
    } catch (error) {
      buyer.payments.finish(transactionId, 'unanswered')
      throw error
    }
    return { paid: open, isRepeat: true }
  }
  const paymentIdentifier = options.paymentIdentifier?.(request)
  const create = (offered: PayOptions): Promise<SignedPayment> => {
    const choice = { ...offered, paymentIdentifier }
    return hooks === undefined
      ? buyer.pay(required, choice)
      : hooks.create(required, (onSelected) => buyer.pay(required, { ...choice, onSelected }))
  }
  if (onPaymentRequired === undefined) return { paid: await create({ request, refused, signal }), isRepeat: false }
  const { offers, reasons } = await buyer.payableOffers(required)
  const [best, ...others] = offers
  if (best === undefined) throw new PaymentRefusedError(reasons)
  const decision = await onPaymentRequired(required, target, [best, ...others])
  const offer = decision === true ? best : decision
  // Only an explicit value is consent, not a callback that forgot to return one.
  if (typeof offer !== 'object' || offer === null) return undefined
  if ('headers' in offer) return { headers: offer.headers }
  return { paid: await create({ offer, request, signal }), isRepeat: false }
}

/** The price in a response; undefined if the response is not a 402, or the 402 is not understood. */
function priceIn(response: Response): PaymentRequired | undefined {
  if (response.status !== 402) return undefined
  const header = response.headers.get(PaymentHeaders.paymentRequired)
  return header === null ? undefined : PaymentHeaders.orUndefined(() => PaymentHeaders.decodeRequired(header))
}

/** Sends the request any number of times. A body can be read only once, so each request gets a copy. */
function sender(
  baseFetch: typeof fetch | undefined,
  request: Request,
  body: Uint8Array<ArrayBuffer> | undefined,
  signal: AbortSignal | undefined,
): Send {
  // Node's requests propagate an abort by weak references: the signal of a garbage-collected request has no effect.
  const init = signal === undefined ? undefined : { signal }
  return (target, changes = {}) => {
    const own = target === request ? body : undefined
    const isWhole = own !== undefined || target.body === null
    const mayBeDirect = baseFetch === undefined && isWhole && !Tracing.isOn()
    const direct = mayBeDirect ? sendDirectly(directOf(target, changes, own, signal)) : undefined
    if (direct !== undefined) return direct
    const copy = new Request(target, { ...changes, ...(own === undefined ? {} : { body: own }) })
    injectTrace(copy)
    return (baseFetch ?? fetch)(copy, init)
  }
}

function directOf(
  { url, method, headers, redirect }: Request,
  changes: RequestInit,
  body: Uint8Array | undefined,
  signal: AbortSignal | undefined,
): DirectRequest {
  const changed = changes.headers as Headers | undefined
  return { url, method, headers: changed ?? headers, redirect: changes.redirect ?? redirect, body, signal }
}

/** Where the payment is sent. A server can redirect the request, but cannot have it paid at another origin. */
function targetOf(request: Request, { url, redirected }: Response): Request {
  const isElsewhere = url !== '' && new URL(url).origin !== new URL(request.url).origin
  // The redirect may have changed the method and body.
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
  // A canceled reader ends regardless of the body.
  const cancel = (): void => void reader.cancel(request.signal.reason).catch(() => {})
  request.signal.addEventListener('abort', cancel)
  if (request.signal.aborted) cancel()
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      bytes += read.value.length
      if (bytes > maxBodyBytes) {
        cancel()
        throw new PaymentRequestError('body_too_large', `the body has more than ${maxBodyBytes} bytes`)
      }
      chunks.push(read.value)
    }
  } finally {
    request.signal.removeEventListener('abort', cancel)
  }
  request.signal.throwIfAborted()
  return new Uint8Array(Bytes.concat(chunks))
}

/** A request that cannot be paid for, because of its redirect or its body. Nothing was signed. */
export class PaymentRequestError extends PartyError<'payment_redirected' | 'body_too_large'> {
  override name = 'PaymentRequestError'
}

/** Whether a request uses only basic features of `fetch`: no custom dispatcher or integrity check, for example. */
export function isPlainRequest(request: Request, init: RequestInit | undefined): boolean {
  const key = Object.getOwnPropertySymbols(request).find(({ description }) => description === 'dispatcher')
  const ofRequest: unknown = key === undefined ? undefined : Reflect.get(request, key)
  const { dispatcher = ofRequest } = (init ?? {}) as { dispatcher?: unknown }
  const { integrity, referrer, cache, mode } = request
  const isUsual = integrity === '' && referrer === 'about:client' && cache === 'default' && mode === 'cors'
  return isUsual && (dispatcher ?? undefined) === undefined
}
