/**
 * Finds the user at the other end of a connection on this machine. For TCP, the user comes from the kernel's socket
 * table on Linux. A connection from another machine, or from another network namespace such as a container's, is not in
 * the table, so its user is unknown.
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

  /** The user of a TCP connection; undefined if the system does not reveal it. Looked up once per connection. */
  of(ends: ConnectionEnds): Promise<number | undefined> {
    return this.#once(ends, () => this.#tcp.userOf(ends))
  }

  /**
   * The user of a Unix socket connection; undefined if the system does not reveal it. Looked up once per connection.
   *
   * @param options `isUrgent`: as in {@link PeerCredentials.userOf}.
   */
  ofUnix(ends: ConnectionEnds, options?: { isUrgent?: boolean }): Promise<number | undefined> {
    const { descriptor } = ends
    if (descriptor === undefined) return Promise.resolve(undefined)
    return this.#once(ends, () => this.#credentials.userOf(descriptor, options))
  }

  /** Looks up a connection again if its user could not be determined, because the system may have been busy. */
  #once(ends: ConnectionEnds, lookUp: () => Promise<number | undefined>): Promise<number | undefined> {
    const known = this.#known.get(ends)
    if (known !== undefined) return known
    const user = lookUp().catch(() => undefined)
    this.#known.set(ends, user)
    void user.then((found) => found ?? this.#known.delete(ends))
    return user
  }
}
