/**
 * Keep-alive connections on `node:http` and `node:https`: a facilitator makes three requests for each payment, and
 * Node's `fetch` costs several times as much as the exchange. The modules are loaded with the first request, because a
 * daemon starts without making any.
 */
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { createFetchTransport } from './fetch.js'
import { KeptConnections } from './KeptConnections.js'
import { Pools } from './pool.js'
import {
  StaleConnectionError,
  type Transport,
  TransportError,
  type TransportOptions,
  type TransportRequest,
  type TransportResponse,
} from './Transport.js'
import { usesPlainFetch } from './usesPlainFetch.js'

type Protocol = { start: (options: RequestOptions) => ClientRequest; kept: KeptConnections }

/** The default if the server announces no time. Many load balancers close connections that are idle for a minute. */
const idleMs = 30_000
const agentOptions = { keepAlive: true, maxFreeSockets: 16, timeout: idleMs }
const defaultMaxConnections = 64
/** Programs that make few requests do not need undici, which takes longer to load than they run. */
const pooledFrom = 20

/** Sends requests on keep-alive connections of `node:http` and `node:https`. */
export function createTransport(options: TransportOptions = {}): Transport {
  const { maxConnections = defaultMaxConnections, followsFetch = false } = options
  const byFetch = followsFetch ? createFetchTransport((url, init) => globalThis.fetch(url, init)) : undefined
  const protocols = new Map<string, Promise<Protocol>>()
  const protocolOf = (name: string): Promise<Protocol> => {
    let protocol = protocols.get(name)
    if (protocol === undefined) {
      protocol = load(name, maxConnections)
      protocols.set(name, protocol)
    }
    return protocol
  }
  let count = 0
  let pools: Pools | undefined
  const sendByPool = async (request: TransportRequest, own: Pools): Promise<TransportResponse> => {
    try {
      return await own.send(request)
    } catch (error) {
      if (request.once || !(error instanceof StaleConnectionError)) throw error
      return exchange((await protocolOf(request.url.protocol)).start, request)
    }
  }
  return {
    send: async (request) => {
      if (byFetch !== undefined && !usesPlainFetch()) return byFetch.send(request)
      if (pools !== undefined) return sendByPool(request, pools)
      if (++count === pooledFrom) {
        Pools.load(maxConnections).then((loaded) => {
          pools = loaded
        })
      }
      return send(request, await protocolOf(request.url.protocol))
    },
    close: async () => {
      pools?.close()
      for (const protocol of protocols.values()) (await protocol).kept.close()
    },
  }
}

async function load(protocol: string, maxSockets: number): Promise<Protocol> {
  const { Agent, request: start } = await (protocol === 'https:' ? import('node:https') : import('node:http'))
  return { start, kept: new KeptConnections(new Agent({ ...agentOptions, maxSockets }), idleMs) }
}

async function send(request: TransportRequest, { start, kept }: Protocol): Promise<TransportResponse> {
  kept.prune()
  try {
    return await exchange(start, request, kept)
  } catch (error) {
    if (request.once || !(error instanceof StaleConnectionError)) throw error
    return exchange(start, request)
  }
}

function exchange(
  start: Protocol['start'],
  { url, path, method, headers, body, timeoutMs, maxResponseBytes, onStart }: TransportRequest,
  kept?: KeptConnections,
): Promise<TransportResponse> {
  const server = serverOf(url)
  // A list is written unchanged instead of being stored by name, which takes a third of a request's time.
  const list = ['Host', server.host]
  for (const name in headers) list.push(name, headers[name]!)
  if (body !== undefined) list.push('Content-Length', String(body.length))
  return new Promise((resolve, reject) => {
    const request = start({ ...server.options, path, method, headers: list, agent: kept?.agent ?? false })
    // The first failure counts, because destroying the request makes it fail once more.
    const fail = (error: NodeJS.ErrnoException): void => {
      clearTimeout(timer)
      reject(error instanceof TransportError ? error : failureOf(error, request))
      request.destroy()
    }
    const timer = setTimeout(() => fail(new TransportError('timeout')), timeoutMs)
    request.on('error', fail)
    let hasResponse = false
    // For example after a protocol upgrade, which Node does not report.
    request.on('close', () => hasResponse || fail(new TransportError('network')))
    onStart?.(() => fail(new TransportError('network')))
    request.on('response', (response) => {
      hasResponse = true
      kept?.note(response)
      const done = (text: string): void => {
        clearTimeout(timer)
        resolve({ status: response.statusCode ?? 0, text })
      }
      collect(response, { maxBytes: maxResponseBytes, done, fail })
    })
    if (body === undefined) request.end()
    // Written together with the head. Bytes would need a second write.
    else request.end(Buffer.from(body.buffer, body.byteOffset, body.length).toString('latin1'), 'latin1')
  })
}

type Server = { readonly host: string; readonly options: RequestOptions }

const servers = new WeakMap<URL, Server>()

/** The request options that depend only on the server and are the same for all requests. */
function serverOf(url: URL): Server {
  let server = servers.get(url)
  if (server === undefined) {
    const { protocol, port, host } = url
    const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
    server = { host, options: { protocol, hostname, port, setHost: false } }
    servers.set(url, server)
  }
  return server
}

type Collector = { maxBytes: number; done: (text: string) => void; fail: (error: Error) => void }

function collect(response: IncomingMessage, { maxBytes, done, fail }: Collector): void {
  const chunks: Buffer[] = []
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) fail(new TransportError('too_large'))
    else chunks.push(chunk)
  })
  response.on('error', (error: NodeJS.ErrnoException) => {
    fail(new TransportError('network', { systemCode: error.code, cause: error }))
  })
  response.on('end', () => done((chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)).toString('utf8')))
}

function failureOf(error: NodeJS.ErrnoException, request: ClientRequest): TransportError {
  const isStale = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
  const options = { systemCode: error.code, cause: error }
  return isStale ? new StaleConnectionError('network', options) : new TransportError('network', options)
}
