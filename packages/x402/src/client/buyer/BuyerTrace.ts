/** The tracing spans of a buyer, if an SDK is registered. */
import * as Tracing from '@latchkey/algod/tracing'
import { Bytes } from '@latchkey/algorand'
import { type Delivery, sendPayment } from './sendPayment.js'

const idHeader = 'X-Request-Id'

/** Traces a request from its price to its answer, under its own id. */
export function fetch(send: () => Promise<Response>): Promise<Response> {
  if (!Tracing.isOn()) return send()
  const attributes = { [Tracing.names.requestId]: Bytes.toHex(Bytes.random(8)) }
  return Tracing.span('buyer.fetch', { isRequest: true, attributes }, async (span) => {
    const response = await send()
    span.set({ 'http.response.status_code': response.status })
    return response
  })
}

/** Traces a payment that is sent until it is answered. */
export function pay(delivery: Delivery): Promise<Response> {
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
export function inject(request: Request): void {
  if (!Tracing.isOn()) return
  const { location } = globalThis as { location?: { origin?: string } }
  if (location?.origin !== undefined && location.origin !== new URL(request.url).origin) return
  Tracing.inject((name, value) => request.headers.set(name, value))
  const given = request.headers.get(idHeader)
  if (given !== null) Tracing.annotate({ [Tracing.names.requestId]: given })
  else request.headers.set(idHeader, String(Tracing.attribute(Tracing.names.requestId)))
}
