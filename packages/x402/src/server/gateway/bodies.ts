/** Bodies on their way through a gateway: in bounded memory, and never cut short without the receiver noticing. */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest } from 'node:http2'
import { Transform, type Writable } from 'node:stream'
import { PartyError } from '../../errors.js'
import type { NodeRequest, NodeResponse } from '../adapters/NodeMessage.js'

/** Reads the next part of a body. Returns true if the rest must not be sent. */
export type BodyScanner = (bytes: Uint8Array) => boolean

/** Methods whose requests have no body as a rule (RFC 9110, 8.6). */
const withoutBody = /^(GET|HEAD|DELETE|OPTIONS|TRACE|CONNECT)$/

export function hasBody(request: NodeRequest): boolean {
  const { headers } = request
  if ('stream' in request) return !request.stream.endAfterHeaders
  const { 'content-length': length = '0', 'transfer-encoding': coding } = headers
  return coding !== undefined || Number(length) > 0
}

/** The headers that say where the body ends, and that no other request follows it on its connection. */
export function lengthHeaders(request: NodeRequest): (readonly [string, string])[] {
  const { headers, method = 'GET' } = request
  const length = headers['content-length']
  const last = hasBody(request) ? [['Connection', 'close'] as const] : []
  if (length !== undefined) return [['Content-Length', length], ...last]
  if (hasBody(request)) return [['Transfer-Encoding', 'chunked'], ...last]
  return withoutBody.test(method) ? [] : [['Content-Length', '0']]
}

/** Undefined if the body is not scanned. `onRefused` is called before the request is broken off. */
type Scanning = { readonly scan: BodyScanner | undefined; readonly onRefused: () => void }

/**
 * Sends the body of a request. A service may respond before it has read the body; the rest is then discarded, so that
 * the client gets the response. A body that `scan` refuses is broken off before the part that was refused.
 */
export function sendBody(request: NodeRequest, outgoing: ClientRequest, { scan, onRefused }: Scanning): void {
  // The members used here are the same with HTTP/2.
  const source = request as IncomingMessage
  const body = scan === undefined ? source : source.pipe(scanned(scan, outgoing, onRefused))
  let isComplete = false
  const onSourceEnd = (): void => {
    // With HTTP/2, a request whose connection breaks ends as if it were complete.
    isComplete = !isReset(request)
    onLeave()
  }
  const onBodyEnd = (): void => {
    if (isComplete) outgoing.end()
  }
  const onLeave = (): void => {
    if (!isComplete) outgoing.destroy(new Error('the client left before the end of its request'))
  }
  source.once('end', onSourceEnd).once('aborted', onLeave).once('error', onLeave).once('close', onLeave)
  body.once('end', onBodyEnd)
  outgoing.once('close', () => {
    isComplete = true
    source.off('end', onSourceEnd)
    body.off('end', onBodyEnd)
    body.unpipe(outgoing)
    source.unpipe()
    source.resume()
  })
  body.pipe(outgoing, { end: false })
}

/** Passes a body on as long as the scanner accepts it. */
function scanned(scan: BodyScanner, outgoing: ClientRequest, onRefused: () => void): Transform {
  return new Transform({
    transform: (chunk: Buffer, _, done) => {
      if (!scan(chunk)) return done(null, chunk)
      onRefused()
      outgoing.destroy(new MethodInBodyError('method_in_body', 'the body names another method'))
    },
  })
}

/** A body from which a service may read another method than that of its request. */
export class MethodInBodyError extends PartyError<'method_in_body'> {
  override name = 'MethodInBodyError'
}

function isReset(request: NodeRequest): boolean {
  if (!('stream' in request)) return false
  const { aborted, stream } = request as Http2ServerRequest
  return aborted || (stream?.rstCode ?? 0) !== 0
}

/** Copies a response. The destination may hold it until a payment is settled, so its end is not awaited. */
export function copyResponse(source: IncomingMessage, destination: Writable): Promise<void> {
  return new Promise((resolve, reject) => {
    source.once('end', resolve)
    source.once('error', reject)
    source.once('close', () => reject(new Error('the connection closed before the end of the response')))
    source.pipe(destination)
  })
}

/** Breaks off a response that the service did not finish, so that its client does not take a part for the whole. */
export function cut(response: NodeResponse): void {
  // A destroyed HTTP/2 stream without an error ends as if it were complete.
  if ('stream' in response) response.destroy(new Error('the upstream broke off its response'))
  else response.destroy()
}

/** RFC 9113, 7: CANCEL. */
const cancelled = 8

/** Closes the connection of a client that does not read, as if the client had closed it. */
export function disconnect(response: NodeResponse): void {
  if ('stream' in response) response.stream.close(cancelled)
  else (response as ServerResponse).socket?.destroy()
}
