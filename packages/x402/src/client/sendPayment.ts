/** Sends a payment until it is answered, and asks the ledger, not the seller, what became of it. */
import { isStaleFailure } from '#direct-send'
import * as Headers from '../wire/Headers.js'
import * as PaymentSecret from '../wire/PaymentSecret.js'
import { isWhole } from './asFetched.js'
import type { Buyer, SignedPayment } from './Buyer.js'
import { LostResponseError } from './LostResponseError.js'
import type { Payment, PaymentState } from './Payments.js'
import { watchBody } from './watchBody.js'

export type Delivery = {
  readonly buyer: Buyer
  readonly paid: SignedPayment
  /** Whether the payment was sent before, by an earlier call. */
  readonly isRepeat: boolean
  readonly method: string
  readonly signal: AbortSignal
  readonly sendOnce: (header: string) => Promise<Response>
  readonly repeatMs: number
  /** Whether the payment is answered only once the body was read. */
  readonly isAnsweredByBody: boolean
  /** Referenced as long as the response is read: the signal of a request that is collected no longer aborts anything. */
  readonly requests: readonly unknown[]
  readonly onSent: (paid: SignedPayment, response: Response | undefined, state: PaymentState) => void
}

/** How often the same payment is sent, where its response was lost or it is not settled yet. */
const maxAttempts = 5
/** A slow node does not keep a response back for longer. */
const lookUpMs = 3_000

/** The receipt in a response: what the seller says was settled for it. Undefined if there is none. */
export function receiptOf(response: Response): Headers.Receipt | undefined {
  const header = response.headers.get(Headers.paymentResponse) ?? response.headers.get('X-PAYMENT-RESPONSE')
  if (header === null) return undefined
  const known = receipts.get(response)
  if (known?.header === header) return known.receipt
  const receipt = Headers.orUndefined(() => Headers.decodeReceipt(header))
  receipts.set(response, { header, receipt })
  return receipt
}

/** What was read from a header of a response: several parts of a payment ask for it. */
const receipts = new WeakMap<Response, { readonly header: string; readonly receipt: Headers.Receipt | undefined }>()

const paidResponses = new WeakMap<Response, PaymentResult>()

/** The payment that was sent for a response. */
export type PaymentResult = {
  readonly payment: Payment
  /** On the ledger, when the response arrived; `open` is not known yet. `buyer.lookUp` asks again. */
  readonly state: PaymentState
}

/** The payment that {@link payingFetch} sent for a response, and its state by the ledger; undefined if it sent none. */
export function paymentOf(response: Response): PaymentResult | undefined {
  return paidResponses.get(response)
}

/**
 * Sends the payment, and sends the same one again where its response was lost or the ledger has not decided: a seller
 * takes a payment once. Never makes a second payment.
 */
export async function sendPayment(delivery: Delivery): Promise<Response> {
  const { paid, onSent } = delivery
  let delivered: Delivered
  try {
    delivered = await deliver(delivery)
  } catch (error) {
    // From here on no error may hide that there is a payment.
    const lost = error instanceof LostResponseError ? error : new LostResponseError(paid, 'open', error)
    finish(delivery, 'unanswered')
    try {
      onSent(paid, undefined, lost.state)
    } catch {
      // What was lost is more important.
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

/** The payment is answered by the response, or once its body was read; if that breaks off, it is unanswered again. */
function answered(delivery: Delivery, response: Response, state: PaymentState): Response {
  const onEnd = (): void => finish(delivery, 'answered')
  if (!delivery.isAnsweredByBody) onEnd()
  if (!delivery.isAnsweredByBody && isWhole(response)) return response
  return watchBody(response, {
    onEnd: delivery.isAnsweredByBody ? onEnd : () => {},
    onError: (error) => bodyLost(delivery, state, error),
  })
}

/** A log that cannot be written must not hide a response that was paid for. */
function finish({ buyer, paid }: Delivery, outcome: 'answered' | 'unanswered'): void {
  try {
    buyer.payments.finish(paid.payment.transactionId, outcome)
  } catch {
    // Its header stays in the log, so it is sent again at most.
  }
}

/** The answer began to arrive and broke off: the payment may be sent again for it. */
function bodyLost(delivery: Delivery, state: PaymentState, error: unknown): LostResponseError {
  const { buyer, paid, signal } = delivery
  try {
    buyer.payments.keep(paid.payment.transactionId, paid.repeatHeader)
    finish(delivery, 'unanswered')
  } catch {
    // The error has the header too.
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
      // The caller's time is up: the ledger is not asked now.
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
    // The seller could not check the payment now; it may in a moment, and a second payment would fare no better.
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
 * Sellers and their proxies refuse requests whose payments are settled all the same, by fault or by intent, and some say
 * settled where nothing is: the ledger is asked after every response.
 */
async function decide(
  delivery: Delivery,
  response: Response,
  receipt: Headers.Receipt | undefined,
  cause: unknown,
): Promise<Delivered> {
  const { paid } = delivery
  const state = await stateOf(delivery)
  const isReported = receipt?.success === true && receipt.transaction === paid.payment.transactionId
  if (response.status < 400 || isReported || state !== 'settled') return { response, state }
  await discard(response)
  const why = new Error(`the seller responded with status ${response.status}`, { cause })
  throw new LostResponseError(paid, state, why, response.status)
}

/**
 * RFC 9110, 9.2.2: a request that is not idempotent is not repeated automatically, unless it is known that it has no
 * second effect. A seller that takes the buyer's secret serves one payment once, and repeats its answer.
 */
function isRepeatable({ method, paid }: Delivery): boolean {
  return !['POST', 'PATCH', 'CONNECT'].includes(method) || PaymentSecret.isDeclared(paid.payload.extensions)
}

/** As far as the ledger can be queried in time. */
async function stateOf({ buyer, paid }: Delivery): Promise<PaymentState> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const limit = new Promise<PaymentState>((resolve) => {
    timer = setTimeout(() => resolve('open'), lookUpMs)
  })
  const state = buyer.lookUp(paid.payment.transactionId).catch((): PaymentState => 'open')
  return Promise.race([state, limit]).finally(() => clearTimeout(timer))
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
