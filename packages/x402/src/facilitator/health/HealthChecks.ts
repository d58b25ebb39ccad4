import { isLongerThan } from '../settle/FeePayers.js'

/** The results of a facilitator's health checks, and the time since when each applies. */

/** The checked parts of a facilitator. */
export type HealthCheckName =
  /** The facilitator takes new payments: it is not about to stop. */
  | 'accepting'
  /** The database of settlements answers and can be written. */
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

/** A slower database counts as unavailable, because payments wait for it. */
const patienceMs = 2_000

/** The part of a store that is checked. */
export type CheckedStore = { readonly ping?: (() => Promise<void>) | undefined }

/** Checks whether a store can be used. A store that hangs is not queried again until it answers. */
export class StoreCheck {
  readonly #store: CheckedStore
  readonly #onError: (error: unknown) => void
  readonly #patienceMs: number
  #asking: Promise<string | undefined> | undefined
  #wasAway = false

  constructor(store: CheckedStore, onError: (error: unknown) => void, patience: number = patienceMs) {
    this.#store = store
    this.#onError = onError
    this.#patienceMs = patience
  }

  /** Whether the store supports the check. */
  get isPossible(): boolean {
    return this.#store.ping !== undefined
  }

  /** The problem as a public text; undefined if there is none. */
  async problem(): Promise<string | undefined> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    const asking = this.#asking
    return (await isLongerThan(this.#patienceMs, asking)) ? late : asking
  }

  /** Reports an error to the operator once, because probes check every few seconds. */
  async #ask(): Promise<string | undefined> {
    try {
      await this.#store.ping?.()
      this.#wasAway = false
      return undefined
    } catch (error) {
      if (!this.#wasAway) this.#onError(error)
      this.#wasAway = true
      return away
    }
  }
}

const away = 'the settlements database does not respond, or cannot be written'
const late = 'the settlements database takes too long to respond'
