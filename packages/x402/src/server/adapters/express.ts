import type { IncomingMessage, ServerResponse } from 'node:http'
import { Gate } from '../gate/Gate.js'
import type { GateOptions } from '../gate/GateOptions.js'
import { checkGate } from '../routes/GateRequest.js'
import { applyGate, type BufferOptions, type GateResult, mountedPath } from './applyGate.js'
import { isGateOptions } from './gateSource.js'
import { send } from './NodeMessage.js'

export { type Payment, paymentOf } from '../exchange/Payment.js'
export type { SalesPageOptions } from '../sales/salesPage.js'
export type { BufferOptions } from './applyGate.js'
export { type PaywallFiles, paywallFiles } from './paywallFiles.js'
export { type SalesListener, salesListener } from './salesListener.js'

/** The part of an Express request that the gate uses. */
export type ExpressRequest = IncomingMessage & { originalUrl?: string; baseUrl?: string }
/** A middleware for Express 4 or 5. */
export type ExpressMiddleware = (
  request: ExpressRequest,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void

/** A WebSocket of `express-ws`, which accepts the connection before it runs the middleware. */
type AcceptedSocket = { close: (code: number, reason: string) => void }

/**
 * Opens a gate, and returns it as a middleware for Express 4 or 5. Routes are whole paths, or relative to where it is
 * mounted. A WebSocket route of `express-ws` is settled before its handler runs. A connection that is not paid for is
 * closed with the code 4402.
 *
 * @throws what `Gate.open` throws
 * @example
 * app.use(await paymentGate({ payTo, facilitators: url, routes: { 'GET /weather': '$0.01' } }))
 */
export function paymentGate(options: GateOptions & BufferOptions): Promise<ExpressMiddleware>
/**
 * Returns a gate that is open as a middleware for Express 4 or 5.
 *
 * @throws OptionsError if `gate` is not a gate
 * @example
 * app.use(paymentGate(gate))
 */
export function paymentGate(gate: Gate, options?: BufferOptions): ExpressMiddleware
export function paymentGate(
  gate: Gate | (GateOptions & BufferOptions),
  options: BufferOptions = {},
): ExpressMiddleware | Promise<ExpressMiddleware> {
  if (isGateOptions(gate)) return Gate.open(gate).then((opened) => middleware(opened, gate))
  checkGate(gate)
  return middleware(gate, options)
}

function middleware(gate: Gate, options: BufferOptions): ExpressMiddleware {
  const pass = async (request: ExpressRequest, response: ServerResponse): Promise<GateResult> => {
    const { ws } = request as { ws?: AcceptedSocket | null }
    if (ws !== undefined && ws !== null) return passWebSocket(request, response, ws)
    const result = await applyGate({ gate, request, response, path: mountedPath(request), options })
    if (result.type === 'response') await send(response, result.response)
    return result
  }
  const passWebSocket = async (request: ExpressRequest, response: ServerResponse, ws: AcceptedSocket) => {
    const { url, originalUrl = url, baseUrl = '' } = request
    const path = mountedPath({ url: withoutSuffix(url), baseUrl, originalUrl: withoutSuffix(originalUrl) })
    // Messages that arrive before the handler listens would be lost.
    request.socket.pause()
    try {
      const result = await applyGate({ gate, request, response, path, options, isOpen: true })
      if (result.type === 'response') ws.close(4402, `${result.response.status}: see the response to a plain GET`)
      return result
    } finally {
      // Resumed for refused connections too, so that the closing handshake is read.
      setImmediate(() => request.socket.resume())
    }
  }
  return (request, response, next) => {
    pass(request, response).then((result) => {
      if (result.type !== 'next') return
      if (result.run === undefined) next()
      else result.run(next)
    }, next)
  }
}

/** `express-ws` routes `/path` as `/path/.websocket`. */
function withoutSuffix(url = '/'): string {
  return url.replace(/\/\.websocket(?=\?|$)/, '') || '/'
}
