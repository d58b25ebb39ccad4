import { Bytes, Hash } from '@latchkey/algorand'
import type { FacilitatorLimits } from '../FacilitatorOptions.js'
import type { PolicyOptions } from '../limits/Policy.js'
import type { ReplicaSettings, SettingDigests } from '../store/SharedSettings.js'

/** Settings that must be the same on all replicas. */
export type ComparedSettings = {
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
