/** Serves a fetch handler with `node:http` or Express. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BodyError } from './BodyReader.js'
import { callFetch, type FetchHost, jsonError, urlOf } from './Fetch.js'
import { type BodySource, dropConnection, type FetchHandler } from './Message.js'
import { drained } from './ResponseWriter.js'

/** Options of {@link toNodeListener}. */
export type NodeListenerOptions = {
  /**
   * Called with errors of the handler or of its response body. If the handler throws, the response is 500.
   * @default `console.error`
   */
  onError?: (error: unknown) => void
}

/**
 * A request listener for `node:http`, which is also an Express handler. The rest of a request body that the handler
 * does not read is discarded after the response.
 *
 * @example
 * ```ts
 * createServer(toNodeListener(fetch)).listen(8080)
 * express().use(toNodeListener(fetch)).listen(8080)
 * ```
 */
export function toNodeListener(
  fetch: FetchHandler,
  { onError = console.error }: NodeListenerOptions = {},
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const host = { errorResponse: jsonError, onError }
  return (incoming, outgoing) => {
    respond(fetch, incoming, outgoing, host).catch((error: unknown) => {
      // A body that fails because its peer disconnected is not an error.
      if (!outgoing.destroyed) onError(error)
      outgoing.destroy()
    })
  }
}

async function respond(
  fetch: FetchHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  host: FetchHost,
): Promise<void> {
  const { localAddress, remoteAddress } = incoming.socket
  const info = { localAddress, remoteAddress }
  const response = await callFetch(fetch, () => toRequest(incoming, outgoing), info, host)
  if (response === dropConnection) {
    outgoing.destroy()
    return
  }
  const { status, headers, body } = response
  const source = typeof body === 'object' && 'next' in body ? body : undefined
  if (outgoing.destroyed) {
    source?.cancel()
    return
  }
  outgoing.statusCode = status
  for (let i = 0; i < headers.length; i += 2) outgoing.appendHeader(headers[i]!, headers[i + 1]!)
  if (source !== undefined) await sendStream(source, outgoing)
  else if (body === undefined) outgoing.end()
  else outgoing.end(body)
}

async function sendStream(source: BodySource, outgoing: ServerResponse): Promise<void> {
  outgoing.once('close', () => source.cancel())
  outgoing.flushHeaders()
  for (;;) {
    const piece = await source.next()
    if (outgoing.destroyed) return
    if (piece === undefined) break
    if (!outgoing.write(piece)) await drained(outgoing)
    if (outgoing.destroyed) return
  }
  outgoing.end()
}

function toRequest(incoming: IncomingMessage, outgoing: ServerResponse): Request {
  const controller = new AbortController()
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) controller.abort()
  })
  const { method = 'GET', rawHeaders } = incoming
  const headers = new Headers()
  for (let i = 0; i < rawHeaders.length; i += 2) headers.append(rawHeaders[i]!, rawHeaders[i + 1]!)
  const url = urlOf(incoming.url ?? '/', headers.get('host') ?? undefined)
  const init: RequestInit = { method, headers, signal: controller.signal }
  if (method === 'GET' || method === 'HEAD') return new Request(url, init)
  return new Request(url, { ...init, body: toStream(incoming, outgoing), duplex: 'half' } as RequestInit)
}

/**
 * Returns the body without touching it before it is read: `node:http` discards a body without listeners.
 * `Readable.toWeb` starts immediately and then blocks the connection for as long as its stream is not read.
 */
function toStream(incoming: IncomingMessage, outgoing: ServerResponse): ReadableStream<Uint8Array> {
  let isListening = false
  let isOver = false
  const listen = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    isListening = true
    const end = (finish: () => void): void => {
      if (!isOver) finish()
      isOver = true
    }
    incoming.on('data', (chunk: Buffer) => {
      if (isOver) return
      incoming.pause()
      controller.enqueue(chunk)
    })
    incoming.once('end', () => end(() => controller.close()))
    incoming.once('error', (error) => end(() => controller.error(error)))
    incoming.once('close', () => end(() => controller.error(requestOver())))
    outgoing.once('close', () => {
      end(() => controller.error(requestOver()))
      incoming.resume()
    })
  }
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        // Another listener has read the body, such as a body parser of Express.
        if (!isListening && incoming.readableEnded && !outgoing.closed) controller.close()
        else if (incoming.destroyed || outgoing.closed) controller.error(requestOver())
        else {
          if (!isListening) listen(controller)
          incoming.resume()
        }
      },
      cancel() {
        isOver = true
        if (isListening) incoming.resume()
      },
    },
    { highWaterMark: 0 },
  )
}

function requestOver(): BodyError {
  return new BodyError('body_malformed', 'the request has ended')
}
