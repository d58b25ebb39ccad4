/** The gate in front of a listener of `node:http`. */
import type { RequestListener } from 'node:http'
import { applyGate } from './applyGate.js'
import { type BufferedResponse, type BufferOptions, send } from './bufferResponse.js'
import { checkGate } from './checkGate.js'
import type { Gate } from './Gate.js'
import { json } from './responses.js'
import { warn } from './warn.js'

export type { BufferOptions } from './bufferResponse.js'

/**
 * Puts the gate in front of a listener of `node:http`. If the listener throws, or its promise rejects, the response is 500
 * and nothing is charged.
 *
 * @throws OptionsError for something else than a gate
 * @example
 * createServer(paymentGate(gate, (request, response) => response.end('sunny'))).listen(4021)
 */
export function paymentGate(gate: Gate, listener: RequestListener, options: BufferOptions = {}): RequestListener {
  checkGate(gate)
  const { onError = warn } = options
  return async (request, response) => {
    let buffered: BufferedResponse | undefined
    try {
      const result = await applyGate({ gate, request, response, paths: [request.url ?? '/'], options })
      if (result.type === 'closed') return
      if (result.type === 'response') {
        await send(response, result.response)
        return
      }
      buffered = result.buffered
      await (listener(request as never, response as never) as unknown)
    } catch (error) {
      onError(error)
      if (buffered !== undefined) buffered.fail()
      else if (response.headersSent) response.destroy()
      else await send(response, json(500, { error: 'the handler failed' }))
    }
  }
}
