import type { Settlement } from './Settlement.js'

/**
 * Which replica works on which pending settlement. `claim` leases a settlement to the replica that recorded it. The
 * database's clock decides when a lease ends. The leases of a replica that died end.
 */
export type SettlementLeases = {
  /** How long a lease lasts. `renew` is called three times in this period. */
  readonly leaseMs: number
  /** Extends all leases of this replica on the settlements that it still works on. Returns those that it has lost. */
  readonly renew: (transactionIds: readonly string[]) => Promise<readonly string[]>
  /** Takes over pending settlements whose lease has ended, the oldest first. */
  readonly takeOver: (limit: number) => Promise<readonly Settlement[]>
  /** Releases unfinished settlements of a replica that stops, so that others take over immediately. */
  readonly release: () => Promise<void>
  /**
   * Waits until a settlement of another replica has ended, its lease has ended, or the time is up. Returns the current
   * settlement. Calls for many settlements share their lookups.
   */
  readonly watch: (transactionId: string, timeoutMs: number) => Promise<Settlement | undefined>
}
