/** What each check of a facilitator says, and since when it says so. */

/** The parts of a facilitator that are checked. */
export type HealthCheckName =
  /** It takes new payments: it is not about to stop. */
  | 'accepting'
  /** The database of settlements answers. */
  | 'store'
  /** A node of the network answers. */
  | 'node'
  /** The key of at least one fee account can sign. */
  | 'key'
  /** At least one fee account that can sign has enough for fees. */
  | 'fee_balance'

/** One check, for the public: without a secret, and without the address of a node or a database. */
export type HealthCheck = {
  readonly name: HealthCheckName
  /** The CAIP-2 id, of checks of one network. */
  readonly network?: string | undefined
  readonly isOk: boolean
  /** When it was first as it is now, in milliseconds since 1970. */
  readonly sinceMs: number
  /** What is wrong; undefined if nothing is. */
  readonly problem?: string | undefined
}

/** Remembers since when something is as it is. */
export class Since {
  readonly #nowMs: () => number
  readonly #states = new Map<string, { readonly isOk: boolean; readonly sinceMs: number }>()

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs
  }

  /** Since when it is so, in milliseconds since 1970. */
  of(key: string, isOk: boolean): number {
    const known = this.#states.get(key)
    if (known?.isOk === isOk) return known.sinceMs
    const sinceMs = this.#nowMs()
    this.#states.set(key, { isOk, sinceMs })
    return sinceMs
  }
}
