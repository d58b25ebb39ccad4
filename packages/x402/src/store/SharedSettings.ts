/** Replicas with other settings than the rest: limits hold over all of them only if all have the same. */

/** A digest of each setting, by its name. */
export type SettingDigests = { readonly [setting: string]: string }

/** Another replica that works on the same store. */
export type ReplicaSettings = {
  /** Its machine and process, for messages. */
  readonly replica: string
  readonly settings: SettingDigests
}

/** What replicas tell each other about their settings. */
export type SharedSettings = {
  /** Tells the others the settings of this replica, and returns those that told theirs in the last minute. */
  readonly announce: (settings: SettingDigests) => Promise<readonly ReplicaSettings[]>
}
