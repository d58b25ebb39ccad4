/**
 * As much of `fetch` as asking a node takes, on `node:http`: a facilitator asks three times for each payment, and Node's
 * own `fetch` costs several times what the question itself does.
 */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'

export type LightInit = {
  method: string
  headers: { readonly [name: string]: string }
  body?: Uint8Array
  signal: AbortSignal
}

export type LightResponse = {
  readonly status: number
  /** In pieces, as a stream or all at once. */
  readonly body: AsyncIterable<Uint8Array> | Iterable<Uint8Array> | null
}

const agentOptions = { keepAlive: true, maxSockets: 64, maxFreeSockets: 16, timeout: 60_000 }
const httpAgent = new HttpAgent(agentOptions)
const httpsAgent = new HttpsAgent(agentOptions)
/** No node has so much to say to one question. */
const maxBytes = 16 * 1024 * 1024

/** Redirects are not followed: a node that is elsewhere is another node. Errors have the form of those of `fetch`. */
export function lightFetch(url: string, { method, headers, body, signal }: LightInit): Promise<LightResponse> {
  const isTls = url.startsWith('https:')
  const options = { method, signal, agent: isTls ? httpsAgent : httpAgent, headers: withLength(headers, body) }
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void => reject(failure(cause, signal))
    const sent = (isTls ? httpsRequest : httpRequest)(url, options, (answer) => {
      read(answer, fail, resolve)
    })
    sent.on('error', fail)
    sent.end(body)
  })
}

function withLength(headers: LightInit['headers'], body: Uint8Array | undefined): { [name: string]: string | number } {
  return body === undefined ? { ...headers } : { ...headers, 'Content-Length': body.length }
}

function read(
  answer: IncomingMessage,
  fail: (cause: unknown) => void,
  resolve: (response: LightResponse) => void,
): void {
  const status = answer.statusCode ?? 0
  if (status >= 300 && status < 400) {
    answer.destroy()
    fail(new Error('it sends us elsewhere'))
    return
  }
  const pieces: Buffer[] = []
  let bytes = 0
  answer.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= maxBytes) {
      pieces.push(piece)
      return
    }
    fail(new Error('the answer is too long'))
    answer.destroy()
  })
  answer.on('error', fail)
  answer.on('aborted', () => fail(new Error('the answer was cut off')))
  answer.on('end', () => resolve({ status, body: pieces }))
}

function failure(cause: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  return new TypeError('fetch failed', { cause })
}
