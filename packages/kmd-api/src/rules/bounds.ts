/** The maxima and defaults of an agent's rules, for every party that reads or writes them. */

/** The maxima of an agent and its rules. */
export const bounds = {
  /** The keys of one agent. */
  keys: 32,
  networks: 8,
  limits: 100,
  /** The addresses in each list of payees. */
  payees: 1_000,
  /** The applications, and the assets to opt in to. */
  items: 100,
  /** The amounts above which the owner is asked. */
  thresholds: 100,
  /** The number of payments of a limit. */
  count: 1_000_000_000,
  /** Amounts and ids: the maximum that the daemon's database can store. */
  integer: 2n ** 63n - 1n,
  /** Ten Algos: ten thousand times the usual fee. */
  feeMicroAlgos: 10_000_000n,
  /** No network accepts a longer validity. */
  validRounds: 1_000,
  /** The latest time that a JavaScript date can represent. */
  timeMs: 8_640_000_000_000_000,
  /** How long a denial also refuses new payments of the agent to the same payee for the same URL. */
  denialHoldMs: 10 * 60_000,
} as const

/** The values of rules that are left out. */
export const defaults = { maxFeeMicroAlgos: 10_000n, maxValidRounds: bounds.validRounds } as const
