import { isLongerThan } from '../settle/FeeSigner.js'
import type { SettingDigests, SharedSettings } from '../store/SharedSettings.js'
import { settingDifferences } from './settingDigests.js'

/** Other replicas forget a replica that was silent for a minute. */
const announceMs = 10_000
const patienceMs = 2_000
/** Each replica is named. A hundred replicas that differ are one mistake. */
const maxWarnings = 10

/** Compares the settings of this replica with those of the others at intervals. */
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

  /** The known replicas with different settings. Does not wait for a database that hangs. */
  async warnings(): Promise<readonly string[]> {
    if (this.#shared === undefined || this.#nowMs() - this.#announcedMs < announceMs) return this.#warnings
    this.#announcedMs = this.#nowMs()
    await isLongerThan(patienceMs, this.#compare(this.#shared))
    return this.#warnings
  }

  /** Never rejects, because another check covers the database. */
  async #compare(shared: SharedSettings): Promise<void> {
    try {
      const found = settingDifferences(this.#own, await shared.announce(this.#own)).slice(0, maxWarnings)
      for (const text of found) if (!this.#warnings.includes(text)) this.#onError(new Error(text))
      this.#warnings = found
    } catch {
      // Keep the known warnings.
    }
  }
}
