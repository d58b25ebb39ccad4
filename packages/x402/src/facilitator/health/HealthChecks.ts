/** The results of a facilitator's health checks, and the time since when each applies. */

/** The checked parts of a facilitator. */
export type HealthCheckName =
  /** The facilitator takes new payments: it is not about to stop. */
  | 'accepting'
  /** The database of settlements answers. */
  | 'store'
  /** A node of the network answers. */
  | 'node'
  /** The key of at least one fee account can sign. */
  | 'key'
  /** At least one fee account that can sign has enough for fees. */
  | 'fee_balance'

/** The result of one check, for the public. Contains no secret, and no address of a node or a database. */
export type HealthCheck = {
  readonly name: HealthCheckName
  /** The CAIP-2 id, for checks of one network. */
  readonly network?: string | undefined
  readonly isOk: boolean
  /** When the current state began, in milliseconds since 1970. */
  readonly sinceMs: number
  /** The problem; undefined if there is none. */
  readonly problem?: string | undefined
}

/** Remembers when each state began. */
export class Since {
  readonly #nowMs: () => number
  readonly #states = new Map<string, { readonly isOk: boolean; readonly sinceMs: number }>()

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
  }

  /** The time when the current state began, in milliseconds since 1970. */
  of(key: string, isOk: boolean): number {
    const known = this.#states.get(key)
    if (known?.isOk === isOk) return known.sinceMs
    const sinceMs = this.#nowMs()
    this.#states.set(key, { isOk, sinceMs })
    return sinceMs
  }
}
