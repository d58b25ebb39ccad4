/** Reads one byte stream with this server and with Node's own (llhttp), without a network. */
import { createServer, type IncomingMessage, METHODS, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { Connection } from './Connection.js'
import { defaultLimits } from './Limits.js'
import type { RawHandler } from './Message.js'

/** A request as parsed. */
export type Parsed = { method: string; target: string; headers: [string, string][]; body: string }
/** The complete requests, and whether the rest was rejected or left unread. */
export type Reading = { requests: Parsed[]; isRejected: boolean }

/** The server's end of a connection whose peer sends `pieces` and then ends its side. */
class Wire extends Duplex {
  written = ''
  readonly #pieces: Buffer[]

  constructor(pieces: readonly Buffer[]) {
    super({ allowHalfOpen: true })
    // Copied, because a server may wipe its input.
    this.#pieces = pieces.map((piece) => Buffer.from(piece))
  }

  override _read(): void {
    // Deferred, because a socket delivers each piece in a separate turn.
    setImmediate(() => this.push(this.#pieces.shift() ?? null))
  }

  override _write(chunk: Buffer | string, _encoding: BufferEncoding, done: () => void): void {
    this.written += chunk.toString('latin1')
    done()
  }
}

const closed = (wire: Wire): Promise<void> => new Promise((resolve) => wire.once('close', resolve))
const statuses = (wire: Wire): number[] =>
  [...wire.written.matchAll(/HTTP\/1\.1 ([0-9]{3}) /g)].map(([, status]) => Number(status))

export async function readByUs(pieces: readonly Buffer[]): Promise<Reading> {
  const requests: Parsed[] = []
  const handle: RawHandler = async ({ method, target, headers, body }) => {
    try {
      const whole = (await body()).toString('latin1')
      requests.push({ method, target, headers: [...headers!].sort(), body: whole })
      return { status: 200, headers: [], body: '' }
    } catch {
      return { status: 400, headers: ['Connection', 'close'], body: '' }
    }
  }
  const wire = new Wire(pieces)
  const ended = closed(wire)
  new Connection({
    ...{ socket: wire as unknown as Socket, limits: defaultLimits, handle },
    errorResponse: (status, message) => ({ status, headers: [], body: message }),
    onError: () => {},
    isStopping: () => false,
  })
  await ended
  return { requests, isRejected: statuses(wire).some((status) => status >= 400) }
}

let server: Server | undefined

/** Strict, as by default. Only the rules that are not about framing are disabled. */
export async function readByNode(pieces: readonly Buffer[]): Promise<Reading> {
  server ??= createServer({ insecureHTTPParser: false, requireHostHeader: false, keepAliveTimeout: 0 })
  const requests: Parsed[] = []
  let isRejected = false
  const wire = new Wire(pieces)
  const ended = closed(wire)
  const onRequest = (request: IncomingMessage, response?: { end: () => void }): void => {
    if ((request.socket as unknown) !== wire) return
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString('latin1')
    })
    request.on('end', () => {
      const { method = '', url = '' } = request
      requests.push({ method, target: url, headers: joined(request.rawHeaders), body })
      response?.end()
    })
    request.on('error', () => {})
  }
  const onConnect = (request: IncomingMessage): void => {
    if ((request.socket as unknown) !== wire) return
    setImmediate(() => {
      requests.push({ method: 'CONNECT', target: request.url ?? '', headers: joined(request.rawHeaders), body: '' })
      wire.destroy()
    })
  }
  const onError = (_error: Error, socket: unknown): void => {
    if (socket !== wire) return
    isRejected = true
    // Deferred, because requests before the error are complete but not yet read.
    setImmediate(() => wire.destroy())
  }
  const listeners = { request: onRequest, checkExpectation: onRequest, connect: onConnect, clientError: onError }
  for (const [event, listener] of Object.entries(listeners)) server.on(event, listener as () => void)
  server.maxHeadersCount = 0
  server.emit('connection', wire)
  await ended
  for (const [event, listener] of Object.entries(listeners)) server.off(event, listener as () => void)
  return { requests, isRejected }
}

/** Joins repeated headers like this server. */
function joined(raw: readonly string[]): [string, string][] {
  const headers = new Map<string, string>()
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase()
    const before = headers.get(name)
    const separator = name === 'cookie' ? '; ' : ', '
    headers.set(name, before === undefined ? raw[i + 1]! : `${before}${separator}${raw[i + 1]}`)
  }
  return [...headers].sort()
}

/**
 * Returns a forbidden difference between the two readings, or undefined if there is none. llhttp must accept everything
 * that we accept, and understand it the same way. We may reject more. Allowed differences:
 *
 * - a method that is a token but unknown to llhttp: the handler decides, as in Go;
 * - after CONNECT llhttp reads a tunnel, and we close the connection.
 */
export function difference(ours: Reading, theirs: Reading): string | undefined {
  for (const [index, request] of ours.requests.entries()) {
    if (!METHODS.includes(request.method)) return undefined
    const other = theirs.requests[index]
    if (other === undefined) return `request ${index} is accepted here only: ${JSON.stringify(request)}`
    const [a, b] = [JSON.stringify(request), JSON.stringify(other)]
    if (request.method === 'CONNECT' && other.method === 'CONNECT' && request.target === other.target) return undefined
    if (a !== b) return `request ${index} is ${a} here and ${b} there`
  }
  if (!ours.isRejected && theirs.requests.length > ours.requests.length) {
    return `overlooked without an error: ${JSON.stringify(theirs.requests[ours.requests.length])}`
  }
  return undefined
}
