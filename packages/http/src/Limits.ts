/** Limits on what peers send and how long they take. */
export type Limits = {
  bodyBytes: number
  headerBytes: number
  headersMs: number
  requestMs: number
  idleMs: number
  connections: number
  /** How long requests under way may take after `stop()`. */
  stopMs: number
}

export const defaultLimits: Limits = {
  bodyBytes: 1024 * 1024,
  headerBytes: 16 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  idleMs: 75_000,
  connections: 1024,
  stopMs: 10_000,
}
