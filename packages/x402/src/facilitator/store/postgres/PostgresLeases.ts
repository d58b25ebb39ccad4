import type { PostgresConnection } from '../../../db/postgres/PostgresConnection.js'
import { StoreError } from '../../../db/StoreError.js'
import type { SettlementLeases } from '../Settlement.js'
import type { Settlement } from '../Settlements.js'

export type PostgresLeasesOptions = {
  /** The name of this replica. */
  readonly owner: string
  readonly leaseMs: number
  readonly find: (ids: readonly string[]) => Promise<Settlement[]>
}

type Watch = {
  readonly transactionId: string
  /** Ends the wait, to look up the settlement. */
  readonly end: () => void
}

/**
 * The time between two lookups, one for all watched settlements. `LISTEN`/`NOTIFY` would respond sooner, but every
 * commit that notifies takes one lock of the whole server until it is on the disk, even if no replica waits. Measured
 * with 16 connections (`npm run bench:watch`): 385 commits a second instead of 1,381, to learn of an end 15 ms sooner.
 */
const pollMs = 25
const maxIds = 10_000

export class PostgresLeases implements SettlementLeases {
  readonly leaseMs: number
  readonly #connection: PostgresConnection
  readonly #options: PostgresLeasesOptions
  readonly #statements
  readonly #watches = new Set<Watch>()
  #isPolling = false
  #isStopped = false

  constructor(connection: PostgresConnection, options: PostgresLeasesOptions) {
    this.#connection = connection
    this.#options = options
    this.leaseMs = options.leaseMs
    this.#statements = statementsOf(connection.quotedSchema)
  }

  async renew(transactionIds: readonly string[]): Promise<readonly string[]> {
    const lost: string[] = []
    for (let from = 0; from < transactionIds.length; from += maxIds) {
      const ids = transactionIds.slice(from, from + maxIds)
      const values = [ids, this.#options.owner, this.leaseMs]
      const rows = await this.#connection.read<{ transaction_id: string }>(this.#statements.renew, values)
      const kept = new Set(rows.map(({ transaction_id }) => transaction_id))
      lost.push(...ids.filter((id) => !kept.has(id)))
    }
    return lost
  }

  async takeOver(limit: number): Promise<readonly Settlement[]> {
    const values = [Math.min(limit, maxIds), this.#options.owner, this.leaseMs]
    // Not repeated after a lost response. The settlements that it took are taken over again when their lease ends.
    const rows = await this.#connection.write<{ transaction_id: string }>(this.#statements.takeOver, values)
    if (rows.length === 0) return []
    const found = await this.#options.find(rows.map(({ transaction_id }) => transaction_id))
    return found.filter(({ state }) => state === 'pending').sort((one, other) => one.createdMs - other.createdMs)
  }

  async release(): Promise<void> {
    await this.#connection.read(this.#statements.release, [this.#options.owner])
  }

  async watch(transactionId: string, timeoutMs: number): Promise<Settlement | undefined> {
    if (!this.#isStopped && timeoutMs > 0) await this.#wait(transactionId, timeoutMs)
    return (await this.#options.find([transactionId]))[0]
  }

  /** Ends all waits. */
  stop(): void {
    this.#isStopped = true
    for (const { end } of [...this.#watches]) end()
  }

  #wait(transactionId: string, timeoutMs: number): Promise<void> {
    if (this.#watches.size >= maxIds) {
      const hint = 'Allow fewer concurrent requests.'
      throw new StoreError('store_failed', 'too many requests are waiting for settlements of other replicas', { hint })
    }
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        this.#watches.delete(watch)
        resolve()
      }
      const watch = { transactionId, end }
      const timer = setTimeout(end, timeoutMs)
      this.#watches.add(watch)
      void this.#poll()
    })
  }

  /** Never rejects. A settlement that cannot be looked up now is looked up when the time is up. */
  async #poll(): Promise<void> {
    if (this.#isPolling) return
    this.#isPolling = true
    while (this.#watches.size > 0) {
      const watches = [...this.#watches]
      const ids = [...new Set(watches.map(({ transactionId }) => transactionId))]
      try {
        const rows = await this.#connection.read<{ transaction_id: string }>(this.#statements.working, [ids])
        const working = new Set(rows.map(({ transaction_id }) => transaction_id))
        for (const { transactionId, end } of watches) if (!working.has(transactionId)) end()
      } catch {
        // The time limit of each watch still applies.
      }
      if (this.#watches.size > 0) await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
    this.#isPolling = false
  }
}

/** A working replica renews its leases with the current clock. */
export const maxLeaseMs = 10 * 60_000

function statementsOf(schema: string) {
  const statement = (name: string, text: string) => ({ name: `latchkey_leases_${name}`, text })
  const lease = "lease_until = clock_timestamp() + $3::integer * interval '1 millisecond'"
  // Also ended if the lease began before the server's clock was set back, because its replica may have died hours
  // before.
  const ended = (table: string): string =>
    `(${table}lease_until <= clock_timestamp()
         OR ${table}lease_until > clock_timestamp() + ${maxLeaseMs} * interval '1 millisecond')`
  return {
    renew: statement(
      'renew',
      `UPDATE ${schema}.pending_settlements SET ${lease} WHERE transaction_id IN (
         SELECT p.transaction_id FROM ${schema}.pending_settlements p
         WHERE p.transaction_id = ANY ($1::text[]) AND p.lease_owner = $2 ORDER BY 1 FOR UPDATE)
       RETURNING transaction_id`,
    ),
    // Skips settlements that another replica takes, or that end now.
    takeOver: statement(
      'take_over',
      `UPDATE ${schema}.pending_settlements SET lease_owner = $2, ${lease} WHERE transaction_id IN (
         SELECT p.transaction_id FROM ${schema}.pending_settlements p
         WHERE ${ended('p.')} ORDER BY p.created_at LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING transaction_id`,
    ),
    release: statement(
      'release',
      `UPDATE ${schema}.pending_settlements SET lease_until = '-infinity' WHERE transaction_id IN (
         SELECT p.transaction_id FROM ${schema}.pending_settlements p WHERE p.lease_owner = $1 ORDER BY 1 FOR UPDATE)`,
    ),
    working: statement(
      'working',
      `SELECT transaction_id FROM ${schema}.pending_settlements
       WHERE transaction_id = ANY ($1::text[]) AND NOT ${ended('')}`,
    ),
  }
}
