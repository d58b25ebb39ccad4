/** Sends a payment until it is answered. The ledger, not the seller, decides about its state. */

import * as Tracing from '@latchkey/algod/tracing'
import { Bytes } from '@latchkey/algorand'
import { PaymentHeaders, PaymentSecret, UptoPayment } from '@latchkey/x402-wire'
import { isStaleFailure } from '#direct-send'
import { PartyError } from '../../errors.js'
import type { Payment, PaymentState } from '../store/Payments.js'
import type { Buyer, SignedPayment } from './Buyer.js'
import { isWhole, watchBody } from './fetchedResponse.js'

export type Delivery = {
  readonly buyer: Buyer
  readonly paid: SignedPayment
  /** Whether an earlier call already sent the payment. */
  readonly isRepeat: boolean
  readonly method: string
  readonly signal: AbortSignal
  readonly sendOnce: (header: string) => Promise<Response>
  readonly repeatMs: number
  /** Whether the payment is answered only after the body was read. */
  readonly isAnsweredByBody: boolean
  /**
   * References that are held while the response is read, because the signal of a garbage-collected request aborts
   * nothing.
   */
  readonly requests: readonly unknown[]
  readonly onSent: (paid: SignedPayment, response: Response | undefined, state: PaymentState) => void
}

/** How often the same payment is sent if its response was lost or it is not settled yet. */
const maxAttempts = 5
/** A slow node delays a response by at most this time. */
const lookUpMs = 3_000

/** The receipt in a response: the settlement that the seller reports for it. Undefined if there is none. */
export function receiptOf(response: Response): PaymentHeaders.Receipt | undefined {
  const header = response.headers.get(PaymentHeaders.paymentResponse) ?? response.headers.get('X-PAYMENT-RESPONSE')
  if (header === null) return undefined
  const known = receipts.get(response)
  if (known?.header === header) return known.receipt
  const receipt = PaymentHeaders.orUndefined(() => PaymentHeaders.decodeReceipt(header))
  receipts.set(response, { header, receipt })
  return receipt
}

/** The parsed receipts of responses, because several steps of a payment need them. */
const receipts = new WeakMap<
  Response,
  { readonly header: string; readonly receipt: PaymentHeaders.Receipt | undefined }
>()

const paidResponses = new WeakMap<Response, PaymentResult>()

/** The payment that was sent for a response. */
export type PaymentResult = {
  readonly payment: Payment
  /**
   * The state on the ledger when the response arrived; `open` if it is not known yet. `buyer.lookUp` looks it up again.
   */
  readonly state: PaymentState
}

/**
 * The payment that {@link payingFetch} sent for a response, with its state on the ledger; undefined if it sent none.
 */
export function paymentOf(response: Response): PaymentResult | undefined {
  return paidResponses.get(response)
}

/**
 * Sends the payment. Sends the same payment again if its response was lost or the ledger has not decided, because a
 * seller takes a payment only once. Never makes a second payment.
 */
async function sendPayment(delivery: Delivery): Promise<Response> {
  const { paid, onSent } = delivery
  let delivered: Delivered
  try {
    delivered = await deliver(delivery)
  } catch (error) {
    // From here on, no error may hide that a payment exists.
    const lost = error instanceof LostResponseError ? error : new LostResponseError(paid, 'open', error)
    finish(delivery, 'unanswered')
    try {
      onSent(paid, undefined, lost.state)
    } catch {
      // The lost response is more important.
    }
    throw lost
  }
  const { response, state } = delivered
  try {
    onSent(paid, response, state)
  } catch (error) {
    await discard(response)
    finish(delivery, 'unanswered')
    throw new LostResponseError(paid, state, error, response.status)
  }
  const result = response.status < 400 ? answered(delivery, response, state) : response
  if (response.status >= 400) finish(delivery, 'unanswered')
  const read = receipts.get(response)
  if (read !== undefined) receipts.set(result, read)
  paidResponses.set(result, { payment: paid.payment, state })
  return result
}

/**
 * The payment is answered by the response, or after its body was read. If the body breaks off, the payment is
 * unanswered again.
 */
function answered(delivery: Delivery, response: Response, state: PaymentState): Response {
  const onEnd = (): void => finish(delivery, 'answered')
  if (!delivery.isAnsweredByBody) onEnd()
  if (!delivery.isAnsweredByBody && isWhole(response)) return response
  return watchBody(response, {
    signal: delivery.signal,
    onEnd: delivery.isAnsweredByBody ? onEnd : () => {},
    onError: (error) => bodyLost(delivery, state, error),
  })
}

/** A log that cannot be written must not hide a response that was paid for. */
function finish({ buyer, paid }: Delivery, outcome: 'answered' | 'unanswered'): void {
  try {
    buyer.payments.finish(paid.payment.transactionId, outcome)
  } catch {
    // The header stays in the log, so at worst the payment is sent again.
  }
}

/** The answer broke off while arriving, so the payment may be sent again. */
function bodyLost(delivery: Delivery, state: PaymentState, error: unknown): LostResponseError {
  const { buyer, paid, signal } = delivery
  try {
    buyer.payments.keep(paid.payment.transactionId, paid.repeatHeader)
    finish(delivery, 'unanswered')
  } catch {
    // The error also contains the header.
  }
  return new LostResponseError(paid, state, signal.aborted ? signal.reason : error)
}

type Delivered = { readonly response: Response; readonly state: PaymentState }

async function deliver(delivery: Delivery): Promise<Delivered> {
  const { paid, signal, isRepeat, repeatMs, sendOnce } = delivery
  const mayRepeat = isRepeatable(delivery)
  let cause: unknown
  let isStale = false
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    let response: Response
    try {
      if (attempt > 0 && !isStale) await pause(repeatMs * attempt, signal)
      isStale = false
      response = await sendOnce(attempt === 0 && !isRepeat ? paid.header : paid.repeatHeader)
    } catch (error) {
      // The caller has aborted, so the ledger is not queried now.
      if (signal.aborted) throw new LostResponseError(paid, 'open', signal.reason)
      cause = error
      isStale = isStaleFailure(error)
      if (!mayRepeat) break
      continue
    }
    const receipt = receiptOf(response)
    if (receipt?.success === false && receipt.errorReason === 'settlement_pending') {
      cause = new Error('the settlement is still pending')
      await discard(response)
      if (!mayRepeat) break
      continue
    }
    // The seller could not check the payment now, but may be able to shortly. A second payment would fail in the same
    // way.
    const isForLater = response.status === 503 && receipt === undefined && response.headers.has('Retry-After')
    if (isForLater && mayRepeat && attempt < maxAttempts - 1) {
      await discard(response)
      continue
    }
    return decide(delivery, response, receipt, cause)
  }
  throw new LostResponseError(paid, await stateOf(delivery), cause)
}

/**
 * Sellers and their proxies may refuse requests whose payments are settled, by fault or on purpose, and some report a
 * settlement that never happened. The ledger is therefore queried after every response.
 */
async function decide(
  delivery: Delivery,
  response: Response,
  receipt: PaymentHeaders.Receipt | undefined,
  cause: unknown,
): Promise<Delivered> {
  const { paid } = delivery
  const state = await stateOf(delivery, receipt)
  const isReported = receipt?.success === true && isReceiptOf(receipt, paid.payment)
  if (response.status < 400 || isReported || state !== 'settled') return { response, state }
  await discard(response)
  const why = new Error(`the seller responded with status ${response.status}`, { cause })
  throw new LostResponseError(paid, state, why, response.status)
}

/**
 * RFC 9110, 9.2.2: a request that is not idempotent is not repeated automatically, unless it is known to have no second
 * effect. A seller that supports the buyer's secret serves one payment once, and repeats its answer.
 */
function isRepeatable({ method, paid }: Delivery): boolean {
  return !['POST', 'PATCH', 'CONNECT'].includes(method) || PaymentSecret.isDeclared(paid.payload.extensions)
}

/** Returns `open` if the ledger cannot be queried in time. */
async function stateOf({ buyer, paid }: Delivery, receipt?: PaymentHeaders.Receipt): Promise<PaymentState> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<PaymentState>((resolve) => {
    timer = setTimeout(() => resolve('open'), lookUpMs)
  })
  const state = buyer.lookUp(paid.payment.transactionId, receipt?.transaction).catch((): PaymentState => 'open')
  return Promise.race([state, limit]).finally(() => clearTimeout(timer))
}

/** Whether a receipt is about a payment. The transaction of an authorization is chosen when it is settled. */
export function isReceiptOf({ transaction }: PaymentHeaders.Receipt, { transactionId }: Payment): boolean {
  return transaction === transactionId || UptoPayment.isId(transactionId)
}

async function discard({ body }: Response): Promise<void> {
  await body?.cancel().catch(() => {})
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

const idHeader = 'X-Request-Id'

/** Traces a request from its price to its answer, under its own id. */
export function traceFetch(send: () => Promise<Response>): Promise<Response> {
  if (!Tracing.isOn()) return send()
  const attributes = { [Tracing.names.requestId]: Bytes.toHex(Bytes.random(8)) }
  return Tracing.span('buyer.fetch', { isRequest: true, attributes }, async (span) => {
    const response = await send()
    span.set({ 'http.response.status_code': response.status })
    return response
  })
}

/** Traces a payment that is sent until it is answered. */
export function tracePayment(delivery: Delivery): Promise<Response> {
  const { transactionId, network } = delivery.paid.payment
  Tracing.annotate({ [Tracing.names.payment]: transactionId, [Tracing.names.network]: network })
  return Tracing.span('buyer.pay', { kind: 'client' }, async (span) => {
    const response = await sendPayment(delivery)
    span.set({
      'http.response.status_code': response.status,
      [Tracing.names.outcome]: response.status < 400 ? 'answered' : 'refused',
    })
    return response
  })
}

/**
 * Propagates the trace and the id with a request. Skipped in a page that requests another site: the browser would ask
 * first whether the headers are allowed, and would not send the request if they are not.
 */
export function injectTrace(request: Request): void {
  if (!Tracing.isOn()) return
  const { location } = globalThis as { location?: { origin?: string } }
  if (location?.origin !== undefined && location.origin !== new URL(request.url).origin) return
  Tracing.inject((name, value) => request.headers.set(name, value))
  const given = request.headers.get(idHeader)
  if (given !== null) Tracing.annotate({ [Tracing.names.requestId]: given })
  else request.headers.set(idHeader, String(Tracing.attribute(Tracing.names.requestId)))
}

/**
 * A payment was sent, but the request was not served: no response arrived, or the response did not serve the request
 * although the payment is settled. Call `buyer.lookUp(transactionId)` to get the current state from the ledger. To send
 * the same payment again, repeat the request with `payingFetch`, or with `header` as its PAYMENT-SIGNATURE.
 */
export class LostResponseError extends PartyError<'response_lost'> {
  override name = 'LostResponseError'
  readonly transactionId: string
  /** The PAYMENT-SIGNATURE header that sends the payment again. */
  readonly header: string
  /** The state of the payment when the error was thrown; `open` if it is not known yet. */
  readonly state: PaymentState
  /** The status of the response that did not serve the request; undefined if none arrived. */
  readonly status: number | undefined

  constructor({ payment, repeatHeader }: SignedPayment, state: PaymentState, cause: unknown, status?: number) {
    const response = status === undefined ? 'no response arrived' : `the seller responded with status ${status}`
    super('response_lost', messages[state](payment.transactionId, response), { cause })
    this.transactionId = payment.transactionId
    this.header = repeatHeader
    this.state = state
    this.status = status
  }
}

const messages: { readonly [state in PaymentState]: (transactionId: string, response: string) => string } = {
  settled: (transactionId, response) => `${response}, but the payment ${transactionId} is settled`,
  open: (transactionId, response) => `${response}; the payment ${transactionId} was sent and may still be settled`,
  expired: (transactionId, response) => `${response}; the payment ${transactionId} was sent but has expired unsettled`,
}
