import { onUndelivered } from '../bufferResponse.js'
import { ResponseCapture } from '../ResponseCapture.js'
import { warn } from '../warn.js'
import type { NodeResponses } from './NodeResponses.js'

export const captureDirect: NodeResponses['captureDirect'] = (bindings) => {
  if (typeof bindings?.outgoing?.writeHead !== 'function') return undefined
  const { incoming: request, outgoing: response } = bindings
  return new ResponseCapture({ request, response, maxBytes: 0, onEnd: () => {}, onFailure: () => {} })
}

export const watchDelivery: NodeResponses['watchDelivery'] = (bindings, undelivered) => {
  if (bindings?.outgoing !== undefined && undelivered !== undefined) {
    onUndelivered(bindings.outgoing, undelivered, warn)
  }
}
