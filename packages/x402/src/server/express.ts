import type { IncomingMessage, ServerResponse } from 'node:http'
import { applyGate } from './applyGate.js'
import { type BufferOptions, send } from './bufferResponse.js'
import { checkGate } from './checkGate.js'
import type { Gate } from './Gate.js'

export type { BufferOptions } from './bufferResponse.js'

/** A request of Express, as far as the gate uses it. */
export type ExpressRequest = IncomingMessage & { originalUrl?: string; baseUrl?: string }
/** A middleware of Express, 4 or 5. */
export type ExpressMiddleware = (
  request: ExpressRequest,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void

/**
 * The gate as a middleware of Express, 4 or 5. Routes are whole paths, also where it is mounted under a prefix.
 *
 * @throws OptionsError for something else than a gate
 * @example
 * app.use(paymentGate(gate))
 */
export function paymentGate(gate: Gate, options: BufferOptions = {}): ExpressMiddleware {
  checkGate(gate)
  const pass = async (request: ExpressRequest, response: ServerResponse): Promise<boolean> => {
    const { url = '/', baseUrl = '', originalUrl = url } = request
    // As the router has it now, as it was sent, and relative to where the gate is mounted.
    const paths = [...new Set([`${baseUrl}${url}`, originalUrl, url])]
    const result = await applyGate({ gate, request, response, paths, options })
    if (result.type === 'response') await send(response, result.response)
    return result.type === 'next'
  }
  return (request, response, next) => {
    pass(request, response).then((isNext) => {
      if (isNext) next()
    }, next)
  }
}
