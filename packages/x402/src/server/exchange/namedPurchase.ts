/**
 * A request with a payment for a purchase that the buyer named. The first payment that is claimed for a purchase is the
 * purchase. A later payment only proves who sends the request: it is verified, never settled, and gets the answer of
 * the first.
 */
import * as responses from '../gate/responses.js'
import type { StoredPurchase } from '../store/Claims.js'
import type { Decision } from './Admission.js'
import type { ExchangeParts } from './ExchangeParts.js'
import { PaidExchange } from './PaidExchange.js'
import type { PaidRequest } from './PaidRequest.js'

/** The decision, and the payment that it is about. */
export type PurchaseDecision = { readonly decision: Decision; readonly paid: PaidRequest }

/** How long a request waits for an earlier one of the same purchase. */
const waitMs = 15_000
/** After this time, an answer that is held is taken from a request that may have been killed. */
const patienceMs = 8_000
const [firstPauseMs, maxPauseMs] = [50, 500]
/** How many requests of a gate may wait at a time: for one purchase, and for all. */
const [maxWaiting, maxWaitingTotal] = [16, 1_024]
/** The requests that wait, by purchase. */
const waiting = new WeakMap<ExchangeParts, Map<string, number>>()
/** How often the first payment of a purchase may change while a request is decided. */
const maxChanges = 5

/** Decides on a request for a named purchase. */
export async function decidePurchase(gate: ExchangeParts, fresh: PaidRequest): Promise<PurchaseDecision> {
  let paid = fresh
  for (let changes = 0; changes < maxChanges; changes++) {
    const exchange = new PaidExchange(gate, paid)
    const decision = await exchange.decide()
    const { purchase: first, isVerified } = exchange.outcome
    if (first === undefined) return { decision, paid }
    // Anyone can read a payment on the ledger, so only one that was verified now proves who sends the request.
    if (!isVerified) {
      return { decision: paid.refuse('payment_already_used', 'this payment was already used for a request'), paid }
    }
    if (first.fingerprint !== fresh.purchase!.fingerprint) return { decision, paid }
    const followed = await limited(gate, fresh, () => follow(gate, fresh, first))
    if (followed !== 'gone' && followed !== 'expired') return followed
    // The first payment can never be settled, so this one is the purchase.
    const replaces = followed === 'expired' ? first.transactionId : undefined
    paid = { ...fresh, purchase: { ...fresh.purchase!, replaces } }
  }
  return { decision: gate.respond(fresh.request.request, responses.unavailable(503)), paid: fresh }
}

/** A payment that is never settled can be sent any number of times, and each request that waits asks the node and the store. */
async function limited<T>(
  gate: ExchangeParts,
  fresh: PaidRequest,
  work: () => Promise<T>,
): Promise<T | PurchaseDecision> {
  const counts = waiting.get(gate) ?? new Map<string, number>()
  waiting.set(gate, counts)
  const { key } = fresh.purchase!
  const count = counts.get(key) ?? 0
  const total = [...counts.values()].reduce((sum, one) => sum + one, 0)
  if (count >= maxWaiting || total >= maxWaitingTotal) {
    return { decision: gate.respond(fresh.request.request, responses.purchaseInProgress()), paid: fresh }
  }
  counts.set(key, count + 1)
  try {
    return await work()
  } finally {
    const left = counts.get(key)! - 1
    if (left === 0) counts.delete(key)
    else counts.set(key, left)
  }
}

/** Continues with the first payment of a purchase, and waits while another request does. */
async function follow(
  gate: ExchangeParts,
  { request, follow: read }: PaidRequest,
  first: StoredPurchase,
): Promise<PurchaseDecision | 'gone' | 'expired'> {
  const startMs = performance.now()
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
    const paid = await read(first, performance.now() < startMs + patienceMs)
    // Its claim was deleted, and its quote has expired.
    if ('type' in paid) return 'gone'
    const exchange = new PaidExchange(gate, paid)
    const decision = await exchange.decide()
    const { purchase, obstacle } = exchange.outcome
    if (purchase !== undefined) return 'gone'
    if (obstacle === 'expired') return 'expired'
    if (obstacle === 'taken') {
      return { decision: gate.respond(request.request, responses.endedPurchase(first.transactionId)), paid }
    }
    if (obstacle === undefined) return { decision, paid }
    if (performance.now() + pauseMs > startMs + waitMs || request.request.signal.aborted) {
      return { decision: gate.respond(request.request, responses.purchaseInProgress()), paid }
    }
    // Not all at the same time.
    await new Promise((resolve) => setTimeout(resolve, pauseMs * (0.5 + Math.random() / 2)))
  }
}
