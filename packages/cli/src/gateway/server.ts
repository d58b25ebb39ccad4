/** The server of a gateway: HTTP/1.1, or HTTP/1.1 and HTTP/2 over TLS. */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { constants, createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2'
import type { Server as NetServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { createSecureContext } from 'node:tls'
import type { Gateway } from '@latchkey/x402/gateway'
import { CommandError } from '../errors.js'

/** The files of a certificate, in PEM format. */
export type TlsFiles = { readonly cert: string; readonly key: string }

/** Slow clients hold a connection for no longer. */
const headersTimeoutMs = 30_000
const requestTimeoutMs = 300_000
const keepAliveTimeoutMs = 5_000
const handshakeTimeoutMs = 10_000
/** A client that does not read its response holds it for no longer. */
export const minIdleTimeoutMs = 120_000
const maxHeaderBytes = 64 * 1024
const maxConnections = 10_000
/** The requests of one HTTP/2 connection at a time. */
const maxStreams = 100
const maxHeaderFields = 256

export type GatewayServer = {
  readonly net: NetServer
  /** Limits how long a connection, or a stream of HTTP/2, may be idle. Applies to new connections. */
  readonly setIdleTimeout: (timeoutMs: number) => void
  /**
   * Reads the certificate again, for new connections.
   *
   * @throws CommandError if it cannot be used
   */
  readonly reload: (tls: TlsFiles | undefined) => void
  /** Accepts no more connections and requests; those that have begun continue, except for WebSockets. */
  readonly close: () => void
}

/**
 * Creates a server. `current` returns the listeners of the current settings.
 *
 * @throws CommandError if the certificate cannot be used
 */
export function createGatewayServer(current: () => Gateway, tls: TlsFiles | undefined): GatewayServer {
  const server = tls === undefined ? plainServer(current) : secureServer(current, tls)
  const { net } = server
  net.maxConnections = maxConnections
  // Upgraded connections are not limited: a WebSocket may be idle.
  const upgraded = new Set<Duplex>()
  net.on('upgrade', (request, socket: Duplex, head) => {
    upgraded.add(socket)
    socket.once('close', () => upgraded.delete(socket))
    void current().upgrade(request, socket, head)
  })
  server.setIdleTimeout(minIdleTimeoutMs)
  const close = (): void => {
    server.close()
    // These have no end of their own.
    for (const socket of upgraded) socket.destroy()
  }
  return { ...server, close }
}

function plainServer(current: () => Gateway): GatewayServer {
  const server = createServer({ ...limits, keepAliveTimeout: keepAliveTimeoutMs }, (request, response) => {
    void current().request(request, response)
  })
  const close = (): void => {
    server.close()
    server.closeIdleConnections()
  }
  const reload = (tls: TlsFiles | undefined): void => {
    if (tls !== undefined) throw needsRestart()
  }
  return { net: server, setIdleTimeout: (timeoutMs) => void server.setTimeout(timeoutMs), reload, close }
}

const limits = {
  maxHeaderSize: maxHeaderBytes,
  headersTimeout: headersTimeoutMs,
  requestTimeout: requestTimeoutMs,
}

function secureServer(current: () => Gateway, files: TlsFiles): GatewayServer {
  const server = createSecureServer({
    ...certificateIn(files),
    allowHTTP1: true,
    minVersion: 'TLSv1.2',
    handshakeTimeout: handshakeTimeoutMs,
    settings: {
      maxConcurrentStreams: maxStreams,
      maxHeaderListSize: maxHeaderBytes,
      enablePush: false,
      // WebSockets use HTTP/1.1.
      enableConnectProtocol: false,
    },
    maxHeaderListPairs: maxHeaderFields,
  })
  // Node has these limits for HTTP/1.1 without TLS by default. Here they are members of the server.
  Object.assign(server satisfies Http2SecureServer, limits, {
    keepAliveTimeout: keepAliveTimeoutMs,
    requireHostHeader: true,
  })
  let idleTimeoutMs = minIdleTimeoutMs
  server.on('request', (request, response) => {
    // Other streams keep the connection busy.
    const { stream } = request
    stream?.setTimeout(idleTimeoutMs, () => stream.close(constants.NGHTTP2_CANCEL))
    void current().request(request, response)
  })
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    session.once('close', () => sessions.delete(session))
  })
  // Without listeners, an error of one connection would end the process.
  server.on('sessionError', () => {}).on('tlsClientError', () => {})
  const close = (): void => {
    server.close()
    ;(server as unknown as Server).closeIdleConnections()
    for (const session of sessions) session.close()
  }
  return {
    net: server,
    setIdleTimeout: (timeoutMs) => {
      idleTimeoutMs = timeoutMs
      server.setTimeout(timeoutMs)
    },
    reload: (tls) => {
      if (tls === undefined) throw needsRestart()
      server.setSecureContext(certificateIn(tls))
    },
    close,
  }
}

function needsRestart(): CommandError {
  return new CommandError('file_unreadable', 'TLS cannot be turned on or off while the gateway runs', {
    hint: 'restart the gateway',
  })
}

function certificateIn({ cert, key }: TlsFiles): { cert: Buffer; key: Buffer } {
  const read = { cert: readPem(cert), key: readPem(key) }
  try {
    createSecureContext(read)
    return read
  } catch (cause) {
    throw new CommandError('file_unreadable', `${cert} and ${key} are not a certificate and its key`, {
      cause,
      hint: 'give the certificate chain and the private key without a passphrase, both in PEM format',
    })
  }
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (cause) {
    throw new CommandError('file_unreadable', `${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
}
