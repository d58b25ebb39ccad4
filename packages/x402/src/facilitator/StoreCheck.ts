import { isLongerThan } from './FeeSigner.js'

/** A database that takes longer is as good as away: payments wait for it. */
const patienceMs = 2_000

/** The part of a store that is checked. */
export type CheckedStore = { readonly ping?: (() => Promise<void>) | undefined }

/** Asks a store whether it can be used. One that hangs is asked once, until it answers. */
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

  /** Whether the store can be asked. */
  get isPossible(): boolean {
    return this.#store.ping !== undefined
  }

  /** What is wrong, for the public; undefined if nothing is. */
  async problem(): Promise<string | undefined> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    const asking = this.#asking
    return (await isLongerThan(this.#patienceMs, asking)) ? late : asking
  }

  /** The error goes to the operator once: probes ask every few seconds. */
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

const away = 'the database of settlements does not answer'
const late = 'the database of settlements takes too long to answer'
