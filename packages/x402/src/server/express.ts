/** The gate as a middleware of Express, 4 or 5. Mounted under a prefix it still sees the whole path. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type BufferOptions, send } from './bufferResponse.js'
import type { Gate } from './Gate.js'
import { guard } from './node.js'

type ExpressRequest = IncomingMessage & { originalUrl?: string; baseUrl?: string }
type Middleware = (request: ExpressRequest, response: ServerResponse, next: (error?: unknown) => void) => void

export function paymentGate(gate: Gate, options: BufferOptions = {}): Middleware {
  const pass = async (request: ExpressRequest, response: ServerResponse): Promise<boolean> => {
    const { url = '/', baseUrl = '', originalUrl = url } = request
    // As the router has it now, as it was sent, and as seen from where the gate is mounted.
    const paths = [...new Set([`${baseUrl}${url}`, originalUrl, url])]
    const passage = await guard({ gate, request, response, paths, options })
    if (passage.type === 'answer') await send(response, passage.response)
    return passage.type === 'pass'
  }
  return (request, response, next) => {
    pass(request, response).then((isThrough) => {
      if (isThrough) next()
    }, next)
  }
}
