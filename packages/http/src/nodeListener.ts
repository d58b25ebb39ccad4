/** Hosts a fetch handler with `node:http` or Express. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { FetchHandler } from './Message.js'

/**
 * A request listener for `node:http`, which is also an Express handler.
 *
 * @example
 * ```ts
 * createServer(toNodeListener(fetch)).listen(8080)
 * express().use(toNodeListener(fetch)).listen(8080)
 * ```
 */
export function toNodeListener(fetch: FetchHandler): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  return (incoming, outgoing) => {
    respond(fetch, incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error))
  }
}

async function respond(fetch: FetchHandler, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { localAddress, remoteAddress } = incoming.socket
  const response = await fetch(toRequest(incoming, outgoing), { localAddress, remoteAddress })
  if (response.type === 'error') {
    outgoing.destroy()
    return
  }
  outgoing.statusCode = response.status
  for (const [name, value] of response.headers) outgoing.appendHeader(name, value)
  if (response.body === null) outgoing.end()
  else await pipeline(Readable.fromWeb(response.body as import('node:stream/web').ReadableStream), outgoing)
}

function toRequest(incoming: IncomingMessage, outgoing: ServerResponse): Request {
  const controller = new AbortController()
  outgoing.once('close', () => controller.abort())
  const { method = 'GET', rawHeaders } = incoming
  const headers = new Headers()
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!)
  const url = new URL(`http://${headers.get('host') ?? 'localhost'}${incoming.url}`)
  const init: RequestInit = { method, headers, signal: controller.signal }
  if (method === 'GET' || method === 'HEAD') return new Request(url, init)
  return new Request(url, { ...init, body: Readable.toWeb(incoming), duplex: 'half' } as RequestInit)
}
