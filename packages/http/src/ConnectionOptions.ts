/** The options that a server passes to each of its connections. */
import type { Socket } from 'node:net'
import type { Limits } from './Limits.js'
import type { HostHandler, RawResponse } from './Message.js'
import type { RequestRecord } from './RequestRecord.js'

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
}

/** The part of a connection that a pool needs. */
export type PooledConnection = {
  readonly usedAt: number
  readonly isIdle: boolean
  readonly isStalled: boolean
  destroy(): void
}

export type Holders = {
  /** Whether one more connection of the holder is served; undefined is the owner. */
  admit(connection: PooledConnection, holder: string | undefined): boolean
  /** Revokes the admission of a connection. */
  withdraw(connection: PooledConnection): void
}
