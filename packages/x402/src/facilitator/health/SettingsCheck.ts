import { Bytes, Hash } from '@latchkey/algorand'
import type { FacilitatorLimits } from '../FacilitatorOptions.js'
import type { PolicyOptions } from '../limits/Policy.js'
import { isLongerThan } from '../settle/FeePayers.js'
import type { ReplicaSettings, SettingDigests, SharedSettings } from '../store/Settlement.js'

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

/** Settings that must be the same on all replicas. */
type ComparedSettings = {
  readonly policy: PolicyOptions
  readonly limits: FacilitatorLimits
  readonly feePayers: readonly string[]
  readonly networks: readonly string[]
  /**
   * How many nodes must report that a payment is not in the ledger, by network; undefined if one is enough everywhere.
   */
  readonly quorums?: readonly string[] | undefined
}

const digestLength = 16
/** Enough to show a difference, but too little to find a key by trying, because others may read the database. */
const secretDigestLength = 3

/** A short digest of each setting, so that other replicas see that settings differ, but not their values. */
export function settingDigests({ policy, limits, feePayers, networks, quorums }: ComparedSettings): SettingDigests {
  const { apiKeys, ...rules } = policy
  const { maxPendingPerPayer, maxPendingPerPayTo, maxFeeMicroAlgosPerTransaction, maxValidityRounds } = limits
  const compared = {
    ...rules,
    maxPendingPerPayer,
    maxPendingPerPayTo,
    maxFeeMicroAlgosPerTransaction,
    maxValidityRounds,
    feePayers,
    networks,
    quorums,
  }
  const digests: Record<string, string> = {}
  for (const [name, value] of Object.entries(compared)) {
    if (value !== undefined) digests[name] = digest(value).slice(0, digestLength)
  }
  if (apiKeys !== undefined) digests['apiKeys'] = digest(apiKeys).slice(0, secretDigestLength)
  return digests
}

/** Describes for the operator how other replicas' settings differ from this one's, one line for each replica. */
export function settingDifferences(own: SettingDigests, others: readonly ReplicaSettings[]): string[] {
  return others.flatMap(({ replica, settings }) => {
    const names = new Set([...Object.keys(own), ...Object.keys(settings)])
    const different = [...names].filter((name) => own[name] !== settings[name]).sort()
    if (different.length === 0) return []
    return [`the replica ${replica} has different settings: ${different.join(', ')}`]
  })
}

/** The order of a list does not matter. */
function digest(value: unknown): string {
  const list = Array.isArray(value) ? [...value].map(String).sort() : [String(value)]
  return Bytes.toBase64(Hash.sha512_256(new TextEncoder().encode(JSON.stringify(list))))
}
