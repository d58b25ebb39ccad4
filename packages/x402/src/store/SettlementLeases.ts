import type { Settlement } from './Settlement.js'

/**
 * Which replica works on which pending settlement. `claim` leases to the replica that recorded it; the database's clock
 * decides when a lease ends. A replica that died leaves leases that end.
 */
export type SettlementLeases = {
  /** How long a lease lasts; `renew` is called three times in it. */
  readonly leaseMs: number
  /** Extends all leases of this replica on the settlements that it still works on; those that it has lost are returned. */
  readonly renew: (transactionIds: readonly string[]) => Promise<readonly string[]>
  /** Takes over pending settlements whose lease has ended, the oldest first. */
  readonly takeOver: (limit: number) => Promise<readonly Settlement[]>
  /** Lets others take over at once what this replica has not ended: it stops. */
  readonly release: () => Promise<void>
  /**
   * Waits until a settlement that another replica works on has ended, or its lease has, or the time is up: the settlement
   * as it is then. Calls for many settlements share their lookups.
   */
  readonly watch: (transactionId: string, timeoutMs: number) => Promise<Settlement | undefined>
}
