import { warn } from '../../../errors.js'
import { cutResponse, onUndelivered } from '../NodeMessage.js'
import { ResponseCapture } from '../ResponseCapture.js'
import type { NodeResponses } from './NodeResponses.js'

export const captureDirect: NodeResponses['captureDirect'] = (bindings) => {
  if (typeof bindings?.outgoing?.writeHead !== 'function') return undefined
  const { incoming: request, outgoing: response } = bindings
  return new ResponseCapture({ request, response, maxBytes: 0, onEnd: () => {}, onFailure: () => {} })
}

export const cutDirect: NodeResponses['cutDirect'] = (bindings) => {
  const outgoing = bindings?.outgoing
  if (outgoing === undefined || outgoing.writableEnded) return
  cutResponse(outgoing, () => void outgoing.destroy())
}

export const watchDelivery: NodeResponses['watchDelivery'] = (bindings, undelivered) => {
  if (bindings?.outgoing !== undefined && undelivered !== undefined) {
    onUndelivered(bindings.outgoing, undelivered, warn)
  }
}
