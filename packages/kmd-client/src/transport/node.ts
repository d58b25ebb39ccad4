/** A transport with keep-alive connections on `node:http`, which takes a third of the time of Node's `fetch`. */
import { Agent, type AgentOptions, type ClientRequest, type IncomingMessage, request as startRequest } from 'node:http'
import type { TcpNetConnectOpts } from 'node:net'
import { ExaminedSocket } from '../node/ExaminedSocket.js'
import { KeptConnections } from '../node/KeptConnections.js'
import { repeating } from './repeating.js'
import {
  type Examine,
  networkError,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from './Transport.js'

/** Closes idle connections before the daemon does. The daemon may announce a shorter time. */
const idleMs = 30_000
const maxConnections = 64

type Agents = {
  /** Keeps connections for later requests. */
  pool: KeptConnections
  /** Opens a connection for each request. */
  single: Agent
}

export function createTransport(examine: Examine | undefined): Transport {
  const agents = {
    pool: new KeptConnections(
      createAgent({ keepAlive: true, maxSockets: maxConnections, timeout: idleMs }, examine),
      idleMs,
    ),
    single: createAgent({}, examine),
  }
  return {
    send: (request) => send(request, agents),
    close: () => agents.pool.close(),
  }
}

function createAgent(options: AgentOptions, examine: Examine | undefined): Agent {
  const agent = new Agent(options)
  if (examine === undefined) return agent
  const createConnection = (target: TcpNetConnectOpts): ExaminedSocket => ExaminedSocket.open(target, examine)
  return Object.assign(agent, { createConnection })
}

/** A request that must not be repeated gets a new connection, which no earlier response has used. */
async function send(request: TransportRequest, { pool, single }: Agents): Promise<TransportResponse> {
  return repeating(request, (attempt, leftMs) => {
    if (attempt > 0 || request.once) return exchange(request, single, leftMs)
    pool.prune()
    return exchange(request, pool.agent, leftMs, (response) => pool.note(response))
  })
}

function exchange(
  options: TransportRequest,
  agent: Agent,
  timeoutMs: number,
  onResponse?: (response: IncomingMessage) => void,
): Promise<TransportResponse> {
  const { host, port, socketPath, path, method, headers, body, signal, maxResponseBytes } = options
  const target = socketPath === undefined ? { host, port } : { socketPath, host: 'localhost' }
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const length = body === undefined ? {} : { 'Content-Length': body.length }
    const request = startRequest({ ...target, path, method, headers: { ...headers, ...length }, agent })
    const settle = (finish: () => void): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      finish()
    }
    // Only the first failure counts: destroying the request fails it again.
    const fail = (error: unknown): void => {
      settle(() => reject(error))
      request.destroy()
    }
    const onAbort = (): void => fail(signal?.reason)
    const timer = setTimeout(() => fail(new TransportError('timeout')), timeoutMs)
    signal?.addEventListener('abort', onAbort, { once: true })
    let hasResponse = false
    request.on('error', (error: NodeJS.ErrnoException) => fail(failureOf(error, request, hasResponse)))
    request.on('response', (response) => {
      hasResponse = true
      onResponse?.(response)
      collect(response, maxResponseBytes).then(
        (bytes) =>
          settle(() => resolve({ status: response.statusCode ?? 0, header: headersOf(response), body: bytes })),
        fail,
      )
    })
    request.end(body)
  })
}

function collect(response: IncomingMessage, limit: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    response.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > limit) reject(new TransportError('too_large'))
      else chunks.push(chunk)
    })
    response.on('end', () => {
      const whole = Buffer.concat(chunks)
      for (const chunk of chunks) chunk.fill(0)
      resolve(whole)
    })
    response.on('error', (error: NodeJS.ErrnoException) =>
      reject(networkError(error, error.code, { hasResponse: true })),
    )
  })
}

function headersOf({ headers }: IncomingMessage): (name: string) => string | undefined {
  return (name) => {
    const value = headers[name]
    return typeof value === 'string' ? value : undefined
  }
}

function failureOf(error: NodeJS.ErrnoException, request: ClientRequest, hasResponse: boolean): TransportError {
  if (error instanceof TransportError) return error
  const { socket, reusedSocket } = request
  const isUnsent = socket instanceof ExaminedSocket && !socket.isProven
  return networkError(error, error.code, { hasResponse, isNewConnection: !reusedSocket, isUnsent })
}
