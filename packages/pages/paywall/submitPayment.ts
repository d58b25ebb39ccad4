/**
 * Sends a signed payment to the seller and reports the outcome. Repeats the same payment if that is safe, and never
 * signs.
 */
import { Bytes, Json } from '@latchkey/algorand'
import { type PaymentRequired, pageUrl } from './pageData.js'
import type { StoredPayment } from './storedPayment.js'

export type Outcome =
  /** `hasReceipt`: the response has a receipt for this payment. */
  | { readonly type: 'paid'; readonly response: Response; readonly hasReceipt: boolean }
  /** The seller states that the payment will not be settled. */
  | { readonly type: 'rejected'; readonly code: string; readonly message: string }
  /** The payment was settled for an earlier request. */
  | { readonly type: 'already_used' }
  /** The seller failed and did not report a charge; the payment can be sent again. */
  | { readonly type: 'seller_failed'; readonly status: number }
  /** It is unknown whether the payment is settled. It can be sent again. */
  | { readonly type: 'unknown'; readonly reason: RepeatReason | 'inconclusive' }

export type RepeatReason = 'no_response' | 'pending'

/** How often the same payment is sent before the person is asked. */
const maxAttempts = 4
const retryDelayMs = 700
/** The value that a browser sends on navigation. */
const accept = 'text/html, application/xhtml+xml, image/*, application/json;q=0.9, */*;q=0.8'

export async function submitPayment(
  payment: StoredPayment,
  onRepeat: (reason: RepeatReason) => void,
): Promise<Outcome> {
  let reason: RepeatReason | undefined
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    if (reason !== undefined) {
      onRepeat(reason)
      await new Promise((resolve) => setTimeout(resolve, retryDelayMs * attempt))
    }
    const response = await send(payment).catch(() => undefined)
    if (response === undefined) {
      reason = 'no_response'
      continue
    }
    const receipt = decodeHeader(response, 'payment-response')
    const isPending = receipt?.['success'] === false && receipt['errorReason'] === 'settlement_pending'
    // The seller could not verify the payment yet, and specifies when to retry.
    const isRetryLater = response.status === 503 && receipt === undefined && response.headers.has('retry-after')
    if (isPending || isRetryLater) {
      reason = 'pending'
      continue
    }
    const outcome = await toOutcome(payment, response, receipt, reason !== undefined)
    // An earlier request without a response may still be in progress and fail.
    const mayChange = outcome.type === 'already_used' && reason !== undefined && attempt < maxAttempts - 1
    if (!mayChange) return outcome
  }
  return { type: 'unknown', reason: reason! }
}

async function send({ header }: StoredPayment): Promise<Response> {
  const headers = { 'PAYMENT-SIGNATURE': header, Accept: accept, ...passRequest }
  // Redirects are not followed, because they would send the payment to another address.
  const response = await fetch(pageUrl, { headers, redirect: 'manual', cache: 'no-store' })
  if (response.type === 'opaqueredirect') return response
  // Read to the end, because a truncated response counts as no response.
  const body = await response.blob()
  const hasNoBody = [204, 205, 304].includes(response.status)
  return new Response(hasNoBody ? null : body, { status: response.status, headers: response.headers })
}

async function toOutcome(
  payment: StoredPayment,
  response: Response,
  receipt: Json.Members | undefined,
  isRepeat: boolean,
): Promise<Outcome> {
  const isSettled = receipt?.['success'] === true && receipt['transaction'] === payment.transactionId
  if (response.ok || isSettled || response.type === 'opaqueredirect') {
    return { type: 'paid', response, hasReceipt: isSettled }
  }
  // Sent by proxies, which also use their own status codes. The seller behind them may have settled the payment.
  if (response.status >= 502) return { type: 'unknown', reason: 'inconclusive' }
  if (response.status !== 402) return { type: 'seller_failed', status: response.status }
  // Sellers with the published packages report an error only in this header.
  const required = decodeHeader(response, 'payment-required')
  const { error = required?.['error'], message } = (await response.json().catch(() => ({}))) as Json.Members
  const code = String(receipt?.['errorReason'] ?? error ?? '')
  if (code === 'payment_already_used' || code === 'duplicate_settlement') return { type: 'already_used' }
  const isFinal = /validity$|settlement_failed$/.test(code)
  // An earlier request without a response may have been settled, even if this one is rejected.
  if (isRepeat && !isFinal) return { type: 'unknown', reason: 'inconclusive' }
  return { type: 'rejected', code, message: String(receipt?.['errorMessage'] ?? message ?? '') }
}

/** Fetches the current requirements, or the response itself if no payment is required. */
export async function fetchRequirements(): Promise<PaymentRequired | Response> {
  const response = await fetch(pageUrl, { headers: { Accept: 'application/json' }, cache: 'no-store' })
  const required = response.status === 402 ? decodeHeader(response, 'payment-required') : undefined
  return required === undefined ? response : (required as unknown as PaymentRequired)
}

function decodeHeader(response: Response, name: string): Json.Members | undefined {
  const header = response.headers.get(name)
  if (header === null) return undefined
  try {
    const value: unknown = JSON.parse(Bytes.toUtf8(Bytes.fromBase64(header)!)!)
    return Json.isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The header with which the page requests a pass: a cookie, unreadable for scripts, that opens the page again. */
const passRequest = { 'PAYMENT-PASS': 'cookie' }

/**
 * How long and how often the page opens again for free, or undefined if it does not, or if this browser stores no
 * cookie.
 */
export function passText({ headers }: Response): string | undefined {
  const [, until, requests] =
    /^until=([0-9]{1,11})(?:, requests=([0-9]{1,10}))?$/.exec(headers.get('payment-pass-status') ?? '') ?? []
  if (until === undefined || !navigator.cookieEnabled || !isSecureContext) return undefined
  const end = new Date(Number(until) * 1000)
  const isToday = end.toDateString() === new Date().toDateString()
  const time = isToday ? end.toLocaleTimeString([], { timeStyle: 'short' }) : end.toLocaleDateString()
  if (requests === undefined) return `until ${time}`
  if (requests === '0') return undefined
  return `${requests === '1' ? 'once' : `${Number(requests)} times`} until ${time}`
}
