/** A server on a free port, and peers that send raw bytes. */
import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { BodyError } from './BodyReader.js'
import { Connection } from './Connection.js'
import { fromFetch } from './Fetch.js'
import { type ConnectionOptions, defaultLimits } from './Limits.js'
import type { FetchHandler, HostHandler, RawHandler, RawRequest } from './Message.js'
import { Server, type ServerOptions } from './Server.js'

/** Responds with the method, target and body of the request. */
export const echo: RawHandler = async (request) => {
  try {
    const body = request.method === 'GET' || request.method === 'HEAD' ? '-' : (await request.body()).toString('latin1')
    return { status: 200, headers: [], body: `${request.method} ${request.target} ${body}` }
  } catch (error) {
    if (!(error instanceof BodyError)) throw error
    return { status: error.status, headers: [], body: error.code }
  }
}

type Options = Omit<ServerOptions, 'handle' | 'fetch'>

export function serve(t: TestContext, handle: RawHandler = echo, options: Options = {}) {
  return start(t, { handle }, options)
}

export function serveFetch(t: TestContext, fetch: FetchHandler, options: Options = {}) {
  return start(t, { fetch }, options)
}

async function start(
  t: TestContext,
  handler: { handle: RawHandler } | { fetch: FetchHandler },
  { limits, ...options }: Options,
) {
  const low = { headerBytes: 1000, bodyBytes: 100, stopMs: 1000 }
  const server = new Server({ onError: () => {}, ...options, ...handler, limits: { ...low, ...limits } })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(() => server.stop())
  return { server, url: `http://127.0.0.1:${port}`, dial: () => dial(t, port) }
}

type SocketsOptions = Pick<Partial<ConnectionOptions>, 'bodies' | 'limits'>

/** Serves connections whose sockets and request bodies can be inspected. */
export async function serveSockets(
  t: TestContext,
  fetch: FetchHandler,
  { bodies: shared, limits = defaultLimits }: SocketsOptions = {},
) {
  const sockets: Socket[] = []
  const bodies: Buffer[] = []
  const errorResponse = (status: number, body: string) => ({ status, headers: [], body })
  const run = fromFetch(fetch, { errorResponse, onError: () => {} })
  const handle: HostHandler = (request) => {
    const body: RawRequest['body'] = async (limit) => {
      const bytes = await request.body(limit)
      bodies.push(bytes)
      return bytes
    }
    return run({ ...request, body })
  }
  const net = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.push(socket)
    const isStopping = (): boolean => false
    const options = { socket, limits, handle, errorResponse, onError: () => {}, isStopping }
    new Connection({ ...options, bodies: shared })
  })
  await new Promise<void>((resolve) => net.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    net.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = net.address() as AddressInfo
  return { sockets, bodies, dial: () => dial(t, port) }
}

export type Peer = {
  socket: Socket
  send: (text: string) => void
  received: () => string
  until: (text: string) => Promise<void>
  ended: Promise<void>
}

export function dial(t: TestContext, port: number): Peer {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let received = ''
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  socket.on('error', () => {})
  const ended = new Promise<void>((resolve) => {
    socket.on('end', () => {
      socket.end()
      resolve()
    })
    socket.on('close', () => resolve())
  })
  t.after(() => socket.destroy())
  const until = async (text: string): Promise<void> => {
    for (let waited = 0; !received.includes(text); waited += 5) {
      assert.ok(waited < 3000, `${JSON.stringify(text)} does not come; there is ${JSON.stringify(received)}`)
      await sleep(5)
    }
  }
  return { socket, send: (text) => void socket.write(text, 'latin1'), received: () => received, until, ended }
}

export const get = (target: string, ...headers: string[]): string =>
  ['GET', ` ${target} HTTP/1.1\r\n`, ...headers.map((header) => `${header}\r\n`), '\r\n'].join('')
export const post = (target: string, body: string, ...headers: string[]): string =>
  get(target, `Content-Length: ${body.length}`, ...headers).replace('GET', 'POST') + body

/** Returns the status and body of every response, in order. */
export function responses(received: string): [status: number, body: string][] {
  const found: [number, string][] = []
  for (let at = 0; at < received.length; ) {
    const end = received.indexOf('\r\n\r\n', at)
    const head = received.slice(at, end)
    const length = Number(/Content-Length: (\d+)/i.exec(head)?.[1] ?? 0)
    found.push([Number(head.slice(9, 12)), received.slice(end + 4, end + 4 + length)])
    at = end + 4 + length
  }
  return found
}
