/**
 * Finds the payment that opened a request. The gate stores the payment for the request object itself, so that nothing a
 * client sends can set it.
 */
import type { Payment, PaymentStatus } from './Payment.js'

const payments = new WeakMap<object, PaymentStatus>()

/** Stores the payment of a request. */
export function notePayment(request: object, status: PaymentStatus): void {
  payments.set(request, status)
}

/** Stores the payment of a request, if there is one, for the objects that a framework derives from the request. */
export function sharePayment(request: object, others: readonly (object | undefined)[]): void {
  const status = payments.get(request)
  if (status === undefined) return
  for (const other of others) if (other !== undefined) payments.set(other, status)
}

/**
 * The payment that opened a request: the payer, the amount and the transaction. Undefined if nothing was paid: on a
 * free route, and before the gate.
 *
 * In a handler a payment is `verified`, or `settled` if the route settles first. Call `paymentOf` again after the
 * response to get the outcome. When a buyer repeats a paid request to get the same response again, the handler does not
 * run, and middleware around the gate sees the same payment.
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

/** Frameworks wrap requests: Fastify in `raw`, Hono in `req.raw`, and Hono's server on Node in `env.incoming`. */
function find(request: object | undefined | null, depth = 0): PaymentStatus | undefined {
  if (typeof request !== 'object' || request === null) return undefined
  const known = payments.get(request)
  if (known !== undefined || depth === 2) return known
  const { raw, req, env } = request as { raw?: object; req?: object; env?: { incoming?: object } }
  return find(raw, depth + 1) ?? find(req, depth + 1) ?? find(env?.incoming, depth + 1)
}
