/**
 * The open connections of a server: their holders, how many connections each token holder may have, and which
 * connection is closed to make room. The holder is only known once the first request is read, so a part of the capacity
 * is reserved for peers that have not shown a token yet. Named holders never take all of the rest, so the owner always
 * gets an answer.
 */
import type { PooledConnection } from './Limits.js'

/** One in this many connections is reserved for peers that have not shown a token yet. */
const newcomersShare = 8
/** All named holders together may have one in this many connections. */
const holdersShare = 2
/** A single named holder may have one in this many connections. */
const holderShare = 4

/** The owner of the server, or the connections of a named holder. */
type Holder<C> = 'owner' | Set<C>

function earlier<C extends PooledConnection>(found: C | undefined, other: C): C {
  return found === undefined || other.usedAt < found.usedAt ? other : found
}

export class ConnectionPool<C extends PooledConnection> {
  readonly #most: number
  /** Every open connection, and its holder once known. */
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

  /** Whether there is room for a connection. Closes another one if necessary. */
  makeRoom(): boolean {
    return this.#connections.size < this.#most || this.#close(this.#leastUseful())
  }

  /**
   * Records whose token the connection has shown. Beyond the limit of its holder, another connection of that holder is
   * closed; beyond the limit of all holders, one of the holder with the most connections.
   *
   * @returns false if the limit is reached and every connection is in use.
   */
  admit(connection: C, name: string | undefined): boolean {
    const holder = this.#connections.get(connection)
    if (name === undefined ? holder === 'owner' : holder !== undefined && holder === this.#holders.get(name))
      return true
    // The connection is already closed, so the response has no reader.
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

  /** The connection belongs to a peer without a valid token again. */
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
   * Selects the connection to close for a new one: first one without a valid token, so that a flood of those does not
   * shut out the others. New connections have no token yet. If these have less than their reserved share, holders make
   * room, then the owner's idle connections, and finally a running request of a holder.
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

  /** Selects among all holders. A running request is closed only for a holder that has less than its share. */
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

/** Prefers an idle connection over one whose request is still arriving. */
function longestStalled<C extends PooledConnection>(connections: Iterable<C>): C | undefined {
  const all = [...connections]
  return leastUsed(all.filter(({ isIdle }) => isIdle)) ?? leastUsed(all.filter(({ isStalled }) => isStalled))
}
