/**
 * Pipelined requests of HTTP/1.1. Node reads every request that a client has sent, whatever is still unanswered, and
 * emits no `close` for a response whose turn to be sent has not come when its connection closes.
 */
import type { ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import type { Socket } from 'node:net'

/** The responses that wait for earlier ones on their connection. */
const waiting = new WeakMap<Socket, Set<ServerResponse>>()

/**
 * Lets a response that waits for earlier ones emit `close` if its connection closes before its turn. Call it before
 * listening for `close`.
 *
 * @returns how many responses wait on the connection
 */
export function watchPipelined(response: ServerResponse | Http2ServerResponse): number {
  if ('stream' in response) return 0
  const { socket } = response.req
  const responses = waiting.get(socket) ?? new Set()
  if (response.socket !== null || response.closed || responses.has(response)) return responses.size
  responses.add(response)
  response.once('socket', () => responses.delete(response))
  if (socket.destroyed) process.nextTick(close, responses)
  else if (!waiting.has(socket)) {
    waiting.set(socket, responses)
    socket.once('close', () => close(responses))
  }
  return responses.size
}

function close(responses: Set<ServerResponse>): void {
  for (const response of responses) {
    // As Node does for the response whose turn it is.
    Object.assign(response, { destroyed: true, _closed: true })
    response.emit('close')
  }
  responses.clear()
}
