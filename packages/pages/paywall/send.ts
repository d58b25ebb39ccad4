/** Shows a payment to the seller, and says what came of it. Shows the same one again where that is safe; never pays. */
import { address, type Required } from './data.js'
import type { StoredPayment } from './storedPayment.js'

export type Outcome =
  /** `isProved`: with a receipt for this very payment. */
  | { readonly type: 'served'; readonly response: Response; readonly isProved: boolean }
  /** By the seller's word it will not be settled. */
  | { readonly type: 'refused'; readonly code: string; readonly message: string }
  /** It was settled, and opened a request before this one. */
  | { readonly type: 'used' }
  /** What was asked for could not be had; nothing is charged, and the payment may be shown again. */
  | { readonly type: 'failed'; readonly status: number }
  /** Nobody here knows; the payment may be shown again. */
  | { readonly type: 'lost'; readonly why: 'offline' | 'pending' | 'doubt' }

/** How often the same payment is shown before the person is asked. */
const maxShows = 4
const repeatMs = 700
/** As a browser that opens the address. */
const accept = 'text/html, application/xhtml+xml, image/*, application/json;q=0.9, */*;q=0.8'

export async function show(payment: StoredPayment, onRepeat: (why: 'offline' | 'pending') => void): Promise<Outcome> {
  let why: 'offline' | 'pending' | undefined
  for (let shows = 0; shows < maxShows; shows++) {
    if (why !== undefined) {
      onRepeat(why)
      await new Promise((resolve) => setTimeout(resolve, repeatMs * shows))
    }
    const response = await once(payment).catch(() => undefined)
    if (response === undefined) {
      why = 'offline'
      continue
    }
    const receipt = decoded(response, 'payment-response')
    const isPending = receipt?.['success'] === false && receipt['errorReason'] === 'settlement_pending'
    // Nobody could look at it just now; somebody may in a moment.
    const isForLater = response.status === 503 && receipt === undefined && response.headers.has('retry-after')
    if (isPending || isForLater) {
      why = 'pending'
      continue
    }
    const outcome = await outcomeOf(payment, response, receipt, why !== undefined)
    // The request whose answer was lost may still be at work, and come to nothing.
    const mayBeOpen = outcome.type === 'used' && why !== undefined && shows < maxShows - 1
    if (!mayBeOpen) return outcome
  }
  return { type: 'lost', why: why! }
}

async function once({ header }: StoredPayment): Promise<Response> {
  const headers = { 'PAYMENT-SIGNATURE': header, Accept: accept }
  // A payment is not carried on to wherever a redirect leads.
  const response = await fetch(address, { headers, redirect: 'manual', cache: 'no-store' })
  if (response.type === 'opaqueredirect') return response
  // To its end: what breaks off on the way is lost as much as what never came.
  const body = await response.blob()
  const isBare = [204, 205, 304].includes(response.status)
  return new Response(isBare ? null : body, { status: response.status, headers: response.headers })
}

type Members = { readonly [name: string]: unknown }

async function outcomeOf(
  payment: StoredPayment,
  response: Response,
  receipt: Members | undefined,
  wasLost: boolean,
): Promise<Outcome> {
  const isSettled = receipt?.['success'] === true && receipt['transaction'] === payment.transactionId
  if (response.ok || isSettled || response.type === 'opaqueredirect') {
    return { type: 'served', response, isProved: isSettled }
  }
  // Of those in between: what is behind them may have been settled.
  if ([502, 503, 504].includes(response.status)) return { type: 'lost', why: 'doubt' }
  if (response.status !== 402) return { type: 'failed', status: response.status }
  const { error, message } = (await response.json().catch(() => ({}))) as Members
  const code = String(receipt?.['errorReason'] ?? error ?? '')
  if (code === 'payment_already_used' || code === 'duplicate_settlement') return { type: 'used' }
  const isOver = /validity$|settlement_failed$/.test(code)
  // One whose answer was lost before may have been settled, whatever is said of it now.
  if (wasLost && !isOver) return { type: 'lost', why: 'doubt' }
  return { type: 'refused', code, message: String(receipt?.['errorMessage'] ?? message ?? '') }
}

/** What is asked now. Undefined if nothing is, and then the answer is there for nothing. */
export async function askAgain(): Promise<Required | Response> {
  const response = await fetch(address, { headers: { Accept: 'application/json' }, cache: 'no-store' })
  const required = response.status === 402 ? decoded(response, 'payment-required') : undefined
  return required === undefined ? response : (required as unknown as Required)
}

function decoded(response: Response, name: string): Members | undefined {
  const header = response.headers.get(name)
  if (header === null) return undefined
  try {
    const bytes = Uint8Array.from(atob(header), (character) => character.charCodeAt(0))
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
    return typeof value === 'object' && value !== null ? (value as Members) : undefined
  } catch {
    return undefined
  }
}
