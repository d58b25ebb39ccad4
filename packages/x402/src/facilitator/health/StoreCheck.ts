import { isLongerThan } from '../settle/FeeSigner.js'

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

const away = 'the settlements database does not respond'
const late = 'the settlements database takes too long to respond'
