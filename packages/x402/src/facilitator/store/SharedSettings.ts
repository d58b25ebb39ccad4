/** Finds replicas with different settings. Limits hold over all replicas only if all have the same settings. */

/** A digest of each setting, by its name. */
export type SettingDigests = { readonly [setting: string]: string }

/** Another replica that works on the same store. */
export type ReplicaSettings = {
  /** The machine and process of the replica, for messages. */
  readonly replica: string
  readonly settings: SettingDigests
}

/** The settings that replicas announce to each other. */
export type SharedSettings = {
  /** Announces the settings of this replica, and returns those that others announced in the last minute. */
  readonly announce: (settings: SettingDigests) => Promise<readonly ReplicaSettings[]>
}
