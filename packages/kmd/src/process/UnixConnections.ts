/**
 * Determines which user made a Unix socket connection and whether that user may use it. The kernel enforces the mode of
 * the socket. A list of users is checked here in addition. If a user cannot be determined, a list lets no connection
 * in.
 */
import type { ConnectionEnds, RawHandler, RawRequest, RawResponse } from '@latchkey/http'
import type { PeerUsers } from './PeerUsers.js'

export type UnixConnectionsOptions = {
  peers: Pick<PeerUsers, 'ofUnix'>
  /** The users that may use the socket. @default all that can connect */
  users: readonly number[] | undefined
  /** Whether the socket's mode admits users other than the daemon's user and root. */
  isShared: boolean
  /** The holder of the token of a request. The users of holders are looked up first. @default none has a token */
  holderOf?: ((request: RawRequest) => Holder | undefined) | undefined
  /** The daemon's user. @default the user of this process */
  ownUser?: number | undefined
}

/** The holder of a token: the owner, or a named one, whose connections are limited. */
export type Holder = { readonly type: 'owner' } | { readonly type: 'named'; readonly name: string }

/** The responses to requests that are not served. */
export type UnixRefusals = { readonly user: () => RawResponse; readonly connections: () => RawResponse }

export class UnixConnections {
  readonly #options: UnixConnectionsOptions
  readonly #ends = new WeakSet<ConnectionEnds>()
  /** The users of connections that were looked up. */
  readonly #users = new WeakMap<ConnectionEnds, number>()

  constructor(options: UnixConnectionsOptions) {
    this.#options = { ownUser: process.getuid?.(), ...options }
  }

  has(ends: ConnectionEnds): boolean {
    return this.#ends.has(ends)
  }

  /** Only the daemon's user and root can connect to a socket that is not shared. */
  async userOf(ends: ConnectionEnds): Promise<number | undefined> {
    const { peers, isShared, ownUser } = this.#options
    return isShared ? peers.ofUnix(ends) : ownUser
  }

  /** Serves requests of users that may use the socket. */
  guard(handle: RawHandler, refusals: UnixRefusals): RawHandler {
    const { users } = this.#options
    return (request) => {
      const ends = request.ends?.()
      if (ends !== undefined) this.#ends.add(ends)
      if (users === undefined) return handle(request)
      if (ends === undefined) return refusals.user()
      const isServed = (user: number | undefined): boolean => user !== undefined && users.includes(user)
      const known = this.#users.get(ends)
      if (known !== undefined) return isServed(known) ? handle(request) : refusals.user()
      const holder = this.#options.holderOf?.(request)
      // A group member that is not listed must not fill the server with connections that wait for a user lookup.
      if (holder === undefined) request.unverified?.()
      else if (holder.type === 'named' && request.authenticated?.(holder.name) === false) return refusals.connections()
      return this.#options.peers.ofUnix(ends, { isUrgent: holder !== undefined }).then((user) => {
        if (user !== undefined) this.#users.set(ends, user)
        return isServed(user) ? handle(request) : refusals.user()
      })
    }
  }
}
