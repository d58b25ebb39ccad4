/** The limits of a server, and the options that it passes to each of its connections. */
import type { Socket } from 'node:net'
import type { BodyBudget } from './BodyBudget.js'
import type { ConnectionEnds, HostHandler, RawResponse } from './Message.js'
import type { RequestRecord } from './RequestRecord.js'

/** Limits on what peers send and how long they take. */
export type Limits = {
  /** The largest request body. */
  bodyBytes: number
  /**
   * The memory of all request bodies that arrive or are handled at the same time. One named token holder has at most a
   * quarter of it, and all named holders together have at most half of it.
   */
  totalBodyBytes: number
  /**
   * How long a body may take to arrive while others need its memory. If `totalBodyBytes` is used up, bodies that have
   * been arriving for longer are broken off: first those of the sender whose bodies have the most memory, oldest first.
   */
  slowBodyMs: number
  /** The largest request line with headers. */
  headerBytes: number
  /** Time for the headers to arrive. */
  headersMs: number
  /** Time for the whole request to arrive. */
  requestMs: number
  /**
   * Time between requests, and without progress of a response stream. Clients are told a shorter time; see
   * `keepAliveValue`.
   */
  idleMs: number
  /**
   * Maximum number of open connections. Beyond it, the connection that has been idle longest is closed, starting with
   * those whose requests had no valid token or were never complete. See `RawRequest.authenticated`: one named token
   * holder has at most a quarter of the connections, and all named holders together have at most half of them.
   */
  connections: number
  /** Time for the peer to close a connection after its last response, while anything it still sends is dropped. */
  lingerMs: number
  /** Time for running requests to finish after `stop()`. */
  stopMs: number
}

/** The default limits of a server. */
export const defaultLimits: Limits = {
  bodyBytes: 1024 * 1024,
  totalBodyBytes: 64 * 1024 * 1024,
  slowBodyMs: 1_000,
  headerBytes: 16 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  idleMs: 75_000,
  connections: 1024,
  lingerMs: 2_000,
  stopMs: 10_000,
}

export type ConnectionOptions = {
  socket: Socket
  limits: Limits
  handle: HostHandler
  errorResponse: (status: number, message: string) => RawResponse
  onError: (error: unknown) => void
  /** Called with each finished request. @default none */
  onRequest?: ((record: RequestRecord) => void) | undefined
  /** Whether connections end after the current response. */
  isStopping: () => boolean
  /**
   * Schedules requests that a peer without the owner's token has sent ahead of its responses, alternating with other
   * peers.
   * @default setImmediate
   */
  defer?: ((run: () => void) => void) | undefined
  /** Tracks whose token the last request of each connection had. @default all are admitted */
  holders?: Holders | undefined
  /** Limits the bodies of all connections together. @default this connection has a budget of its own */
  bodies?: BodyBudget | undefined
}

/** The part of a connection that a pool needs. */
export type PooledConnection = {
  readonly usedAt: number
  readonly isIdle: boolean
  readonly isStalled: boolean
  destroy(): void
}

type Holders = {
  /** Whether one more connection of the holder is served; undefined is the owner. */
  admit(connection: PooledConnection, holder: string | undefined): boolean
  /** Revokes the admission of a connection. */
  withdraw(connection: PooledConnection): void
}

/** Returns the same object each time, even after the connection was closed. */
export function lazyEnds(socket: () => Socket): () => ConnectionEnds {
  let ends: ConnectionEnds | undefined
  return () => {
    ends ??= read(socket())
    return ends
  }
}

function read(socket: Socket): ConnectionEnds {
  const { localAddress, localPort, remoteAddress, remotePort } = socket
  // Node has no public property for the descriptor.
  const { fd } = (socket as { _handle?: { fd?: unknown } | null })._handle ?? {}
  const descriptor = typeof fd === 'number' && fd >= 0 ? fd : undefined
  return { localAddress, localPort, remoteAddress, remotePort, descriptor }
}
