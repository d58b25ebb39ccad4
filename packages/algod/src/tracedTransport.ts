/** Creates a span for every request to a node, and passes the trace to the node. */
import type { Transport, TransportRequest, TransportResponse } from '@latchkey/http-client'
import * as Tracing from './Tracing.js'

/** Wraps a transport, adding spans while an SDK is registered. */
export function tracedTransport(transport: Transport): Transport {
  return {
    ...transport,
    send: (request) => (Tracing.isOn() ? sendTraced(transport, request) : transport.send(request)),
  }
}

function sendTraced(transport: Transport, request: TransportRequest): Promise<TransportResponse> {
  const { method, server, path } = request
  const template = templateOf(path)
  const attributes = {
    'http.request.method': method,
    'url.template': template,
    'server.address': server.host,
    'server.port': server.port,
  }
  return Tracing.span(`${method} ${template}`, { kind: 'client', attributes }, async (span) => {
    const headers = { ...request.headers }
    Tracing.inject((name, value) => {
      headers[name] = value
    })
    const response = await transport.send({ ...request, headers })
    span.set({ 'http.response.status_code': response.status })
    return response
  })
}

/**
 * Maps all paths to a few names. Omits rounds, ids and addresses, and any prefix of the API's path, such as a
 * provider's key.
 */
export function templateOf(path: string): string {
  return (
    path
      .split('?', 1)[0]!
      // Uses the last match, because provider URLs may also have such a part before the key.
      .replace(/^.*(?=\/(?:v2|devnet)(?:\/|$))/, '')
      .replaceAll(/\/[0-9]+(?=\/|$)/g, '/{number}')
      .replaceAll(/\/[A-Z2-7]{52,58}(?=\/|$)/g, '/{id}')
  )
}
