/**
 * The user at the other end of a connection on this machine. Of a TCP connection the kernel's table of sockets has it, on
 * Linux: one from another machine, or from another network namespace such as that of a container, is not in it, and then the
 * user is not known.
 */
import type { ConnectionEnds } from '@latchkey/http'
import { PeerCredentials } from './PeerCredentials.js'
import { type ReadTable, TcpTable } from './TcpTable.js'

export type PeerUsersOptions = {
  /** @default /proc/net/tcp and /proc/net/tcp6 */
  readTcp?: ReadTable
  credentials?: Pick<PeerCredentials, 'userOf'>
}

export class PeerUsers {
  readonly #tcp: TcpTable
  readonly #credentials: Pick<PeerCredentials, 'userOf'>
  readonly #known = new WeakMap<ConnectionEnds, Promise<number | undefined>>()

  constructor({ readTcp, credentials = new PeerCredentials() }: PeerUsersOptions = {}) {
    this.#tcp = new TcpTable(readTcp)
    this.#credentials = credentials
  }

  /** The user of a TCP connection; undefined where the system does not tell. Looked up once for a connection. */
  of(ends: ConnectionEnds): Promise<number | undefined> {
    return this.#once(ends, () => this.#tcp.userOf(ends))
  }

  /**
   * The user of a connection of a Unix socket; undefined where the system does not tell. Looked up once for a connection.
   *
   * @param options `isUrgent`: as that of {@link PeerCredentials.userOf}.
   */
  ofUnix(ends: ConnectionEnds, options?: { isUrgent?: boolean }): Promise<number | undefined> {
    const { descriptor } = ends
    if (descriptor === undefined) return Promise.resolve(undefined)
    return this.#once(ends, () => this.#credentials.userOf(descriptor, options))
  }

  /** A connection whose user could not be determined is looked up again: the system may have been busy. */
  #once(ends: ConnectionEnds, lookUp: () => Promise<number | undefined>): Promise<number | undefined> {
    const known = this.#known.get(ends)
    if (known !== undefined) return known
    const user = lookUp().catch(() => undefined)
    this.#known.set(ends, user)
    void user.then((found) => found ?? this.#known.delete(ends))
    return user
  }
}
