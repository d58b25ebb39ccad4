/**
 * The open connections of a server: whose they are, how many each holder of a token may have, and which one makes room for
 * another. Whose a connection is shows only when its first request is read, so that a part of the room is for peers that have
 * not shown a token yet, and holders with a name never take all of the rest: the owner always gets an answer.
 */
import type { PooledConnection } from './ConnectionOptions.js'

/** One in so many connections is for peers that have not shown a token yet. */
const newcomersShare = 8
/** All named holders together have one in so many connections. */
const holdersShare = 2
/** One named holder has one in so many connections. */
const holderShare = 4

/** The owner of the server, or the connections of a named holder. */
type Holder<C> = 'owner' | Set<C>

function earlier<C extends PooledConnection>(found: C | undefined, other: C): C {
  return found === undefined || other.usedAt < found.usedAt ? other : found
}

export class ConnectionPool<C extends PooledConnection> {
  readonly #most: number
  /** Every open connection, and its holder once that is known. */
  readonly #connections = new Map<C, Holder<C> | undefined>()
  readonly #holders = new Map<string, Set<C>>()
  #heldCount = 0
  #ownersCount = 0

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#connections.size
  }

  [Symbol.iterator](): IterableIterator<C> {
    return this.#connections.keys()
  }

  add(connection: C): void {
    this.#connections.set(connection, undefined)
  }

  delete(connection: C): void {
    this.withdraw(connection)
    this.#connections.delete(connection)
  }

  /** Whether there is room for a connection; closes another one for it if need be. */
  makeRoom(): boolean {
    return this.#connections.size < this.#most || this.#close(this.#leastUseful())
  }

  /**
   * Notes whose token the connection has shown. Beyond the limit of its holder, another connection of the holder is closed;
   * beyond that of all holders, one of the holder that has the most.
   *
   * @returns false if the limit is reached and every connection is in use.
   */
  admit(connection: C, name: string | undefined): boolean {
    const holder = this.#connections.get(connection)
    if (name === undefined ? holder === 'owner' : holder !== undefined && holder === this.#holders.get(name))
      return true
    // Closed already: the response has no reader.
    if (!this.#connections.has(connection)) return true
    this.withdraw(connection)
    if (name === undefined) {
      this.#connections.set(connection, 'owner')
      this.#ownersCount++
      return true
    }
    const held = this.#holders.get(name) ?? new Set<C>()
    if (held.size >= this.#share(holderShare) && !this.#close(longestStalled(held))) return false
    if (this.#heldCount >= this.#share(holdersShare) && !this.#close(this.#leastUsefulHeld(held.size))) return false
    held.add(connection)
    this.#holders.set(name, held)
    this.#connections.set(connection, held)
    this.#heldCount++
    return true
  }

  /** The connection is that of a peer without a valid token again. */
  withdraw(connection: C): void {
    const holder = this.#connections.get(connection)
    if (holder === undefined) return
    this.#connections.set(connection, undefined)
    if (holder === 'owner') {
      this.#ownersCount--
      return
    }
    this.#heldCount--
    holder.delete(connection)
    if (holder.size > 0) return
    for (const [name, held] of this.#holders) if (held === holder) this.#holders.delete(name)
  }

  #share(share: number): number {
    return Math.max(1, Math.floor(this.#most / share))
  }

  #close(connection: C | undefined): boolean {
    if (connection === undefined) return false
    this.delete(connection)
    connection.destroy()
    return true
  }

  /**
   * The connection to close for a new one: one without a valid token, so that a flood of those does not shut out the others.
   * New connections have none yet. Where these have less than their part of the room, holders make room, and the owner's
   * idle connections; at last a request of a holder that is under way.
   */
  #leastUseful(): C | undefined {
    const stranger = this.#leastUsed((connection, holder) => holder === undefined && connection.isStalled)
    const strangersCount = this.#connections.size - this.#heldCount - this.#ownersCount
    if (strangersCount >= this.#most / newcomersShare) return stranger
    return (
      this.#leastUsed((connection, holder) => isHeld(holder) && connection.isIdle) ??
      this.#leastUsed((connection, holder) => isHeld(holder) && connection.isStalled) ??
      this.#leastUsed((connection, holder) => holder === 'owner' && connection.isIdle) ??
      stranger ??
      this.#leastUsed((_, holder) => isHeld(holder))
    )
  }

  /** Of all holders. A request that is under way is closed only for a holder that has less than its share. */
  #leastUsefulHeld(count: number): C | undefined {
    let largest: Set<C> | undefined
    for (const held of this.#holders.values()) if (held.size > (largest?.size ?? 0)) largest = held
    return (
      (largest && longestStalled(largest)) ??
      this.#leastUsed((connection, holder) => isHeld(holder) && connection.isStalled) ??
      (largest !== undefined && largest.size > count + 1 ? leastUsed(largest) : undefined)
    )
  }

  #leastUsed(matches: (connection: C, holder: Holder<C> | undefined) => boolean): C | undefined {
    let found: C | undefined
    for (const [connection, holder] of this.#connections) {
      if (matches(connection, holder)) found = earlier(found, connection)
    }
    return found
  }
}

function isHeld<C>(holder: Holder<C> | undefined): boolean {
  return holder !== undefined && holder !== 'owner'
}

function leastUsed<C extends PooledConnection>(connections: Iterable<C>): C | undefined {
  let found: C | undefined
  for (const connection of connections) found = earlier(found, connection)
  return found
}

/** An idle connection rather than one with a request that is still arriving. */
function longestStalled<C extends PooledConnection>(connections: Iterable<C>): C | undefined {
  const all = [...connections]
  return leastUsed(all.filter(({ isIdle }) => isIdle)) ?? leastUsed(all.filter(({ isStalled }) => isStalled))
}
