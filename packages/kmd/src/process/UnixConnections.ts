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
  /** Whether a request has the owner's token, so its user is looked up first. @default none has */
  hasOwnersToken?: ((request: RawRequest) => boolean) | undefined
  /** The daemon's user. @default the user of this process */
  ownUser?: number | undefined
}

export class UnixConnections {
  readonly #options: UnixConnectionsOptions
  readonly #ends = new WeakSet<ConnectionEnds>()

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

  /** Serves requests of users that may use the socket, and responds to others with `refuse`. */
  guard(handle: RawHandler, refuse: () => RawResponse): RawHandler {
    const { peers, users, hasOwnersToken } = this.#options
    return (request) => {
      const ends = request.ends?.()
      if (ends !== undefined) this.#ends.add(ends)
      if (users === undefined) return handle(request)
      if (ends === undefined) return refuse()
      const isUrgent = hasOwnersToken?.(request) === true
      // A group member that is not listed must not fill the server with connections that wait for a user lookup.
      if (!isUrgent) request.unverified?.()
      return peers
        .ofUnix(ends, { isUrgent })
        .then((user) => (user !== undefined && users.includes(user) ? handle(request) : refuse()))
    }
  }
}
