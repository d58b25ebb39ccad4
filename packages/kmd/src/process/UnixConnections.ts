/**
 * Connections of the Unix socket: which user made one, and whether that user may use it. The kernel lets only those connect whom
 * the mode of the socket allows; a list of users is checked here on top of it, and where a user cannot be determined, a list
 * lets none in.
 */
import type { ConnectionEnds, RawHandler, RawRequest, RawResponse } from '@latchkey/http'
import type { PeerUsers } from './PeerUsers.js'

export type UnixConnectionsOptions = {
  peers: Pick<PeerUsers, 'ofUnix'>
  /** The users that may use the socket. @default all that can connect */
  users: readonly number[] | undefined
  /** Whether the mode of the socket lets in others than the user of the daemon and root. */
  isShared: boolean
  /** Whether a request has the owner's token: its user is looked up first. @default none has */
  hasOwnersToken?: ((request: RawRequest) => boolean) | undefined
  /** The user of the daemon. @default that of this process */
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

  /** Only the user of the daemon, and root, can connect to a socket that is not shared. */
  async userOf(ends: ConnectionEnds): Promise<number | undefined> {
    const { peers, isShared, ownUser } = this.#options
    return isShared ? peers.ofUnix(ends) : ownUser
  }

  /** Serves the requests of users that may use the socket, and answers the others with `refuse`. */
  guard(handle: RawHandler, refuse: () => RawResponse): RawHandler {
    const { peers, users, hasOwnersToken } = this.#options
    return (request) => {
      const ends = request.ends?.()
      if (ends !== undefined) this.#ends.add(ends)
      if (users === undefined) return handle(request)
      if (ends === undefined) return refuse()
      const isUrgent = hasOwnersToken?.(request) === true
      // A member of the group that is not listed must not fill the server with connections whose user is looked up.
      if (!isUrgent) request.unverified?.()
      return peers
        .ofUnix(ends, { isUrgent })
        .then((user) => (user !== undefined && users.includes(user) ? handle(request) : refuse()))
    }
  }
}
