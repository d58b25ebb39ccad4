/** The files of the payment page in front of a payment middleware of the published packages. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AlgorandPaywall } from '../../schemes/AlgorandPaywall.js'
import { mountedPath } from './applyGate.js'
import { send, webRequest } from './NodeMessage.js'

/** A middleware that responds to the page's own requests. */
export type PaywallFiles = (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void) => void

/**
 * Responds to the requests of an {@link AlgorandPaywall} for its files, in Express and similar frameworks. Use it before
 * the payment middleware; other requests are passed on.
 */
export function paywallFiles(paywall: Pick<AlgorandPaywall, 'respond'>): PaywallFiles {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    if (!request.url?.includes('x402-page')) return false
    const closed = new AbortController()
    const found = await paywall.respond(webRequest(request, mountedPath(request).path, closed.signal))
    if (found === undefined) return false
    await send(response, found)
    return true
  }
  return (request, response, next) => {
    respond(request, response).then(
      (isDone) => {
        if (!isDone) next()
      },
      (error: unknown) => next(error instanceof TypeError ? undefined : error),
    )
  }
}
