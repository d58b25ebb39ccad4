/** Which payment opened a request. Noted by the gate on the request itself: nothing that a client sends can set it. */
import type { Payment, PaymentStatus } from './Payment.js'

const payments = new WeakMap<object, PaymentStatus>()

/** Notes what a request was paid with. */
export function notePayment(request: object, status: PaymentStatus): void {
  payments.set(request, status)
}

/** Notes the payment of a request, if it has one, on what a framework makes of the request. */
export function sharePayment(request: object, others: readonly (object | undefined)[]): void {
  const status = payments.get(request)
  if (status === undefined) return
  for (const other of others) if (other !== undefined) payments.set(other, status)
}

/**
 * The payment that opened a request: who paid, how much, in which transaction. Undefined where nothing was paid: on a free
 * route, and before the gate.
 *
 * In a handler a payment is `verified`, or `settled` where the route settles first. Called again after the response, it
 * tells how that ended. When a buyer repeats a paid request to get the same response again, the handler does not run, and
 * a middleware around the gate sees the same payment.
 *
 * @param request the request of `node:http`, Express or Fastify, the context or request of Hono, or the `Request` that was
 * passed to `gate.decide`
 * @example
 * app.get('/weather', (request, response) => {
 *   const payment = paymentOf(request)
 *   console.log(`${payment?.payer} pays ${payment?.amountText}`)
 *   response.json({ weather: 'sunny' })
 * })
 */
export function paymentOf(request: object): Payment | undefined {
  return find(request)?.current
}

/** Frameworks wrap requests: Fastify in `raw`, Hono in `req.raw`, and its server on Node in `env.incoming`. */
function find(request: object | undefined | null, depth = 0): PaymentStatus | undefined {
  if (typeof request !== 'object' || request === null) return undefined
  const known = payments.get(request)
  if (known !== undefined || depth === 2) return known
  const { raw, req, env } = request as { raw?: object; req?: object; env?: { incoming?: object } }
  return find(raw, depth + 1) ?? find(req, depth + 1) ?? find(env?.incoming, depth + 1)
}
