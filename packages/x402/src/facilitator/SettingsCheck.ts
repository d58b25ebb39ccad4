import type { SettingDigests, SharedSettings } from '../store/SharedSettings.js'
import { isLongerThan } from './FeeSigner.js'
import { settingDifferences } from './settingDigests.js'

/** Others forget a replica that said nothing for a minute. */
const announceMs = 10_000
const patienceMs = 2_000
/** Named one by one; a hundred replicas that differ are one mistake. */
const maxWarnings = 10

/** Compares the settings of this replica with those of the others, every now and then. */
export class SettingsCheck {
  readonly #own: SettingDigests
  readonly #shared: SharedSettings | undefined
  readonly #onError: (error: unknown) => void
  readonly #nowMs: () => number
  #announcedMs = Number.NEGATIVE_INFINITY
  #warnings: readonly string[] = []

  constructor(
    own: SettingDigests,
    shared: SharedSettings | undefined,
    onError: (error: unknown) => void,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#own = own
    this.#shared = shared
    this.#onError = onError
    this.#nowMs = nowMs
  }

  /** Which replicas have other settings, as far as it is known. Does not wait for a database that hangs. */
  async warnings(): Promise<readonly string[]> {
    if (this.#shared === undefined || this.#nowMs() - this.#announcedMs < announceMs) return this.#warnings
    this.#announcedMs = this.#nowMs()
    await isLongerThan(patienceMs, this.#compare(this.#shared))
    return this.#warnings
  }

  /** Never rejects: whether the database can be used is the matter of another check. */
  async #compare(shared: SharedSettings): Promise<void> {
    try {
      const found = settingDifferences(this.#own, await shared.announce(this.#own)).slice(0, maxWarnings)
      for (const text of found) if (!this.#warnings.includes(text)) this.#onError(new Error(text))
      this.#warnings = found
    } catch {
      // What is known stays.
    }
  }
}
