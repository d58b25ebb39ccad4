/** Limits on what peers send and how long they take. */
export type Limits = {
  /** Largest request body. */
  bodyBytes: number
  /** Largest request line with headers. */
  headerBytes: number
  /** Time for the headers to arrive. */
  headersMs: number
  /** Time for the whole request to arrive. */
  requestMs: number
  /** Time between requests, and without progress of a response stream. */
  idleMs: number
  /**
   * Connections open at the same time. Beyond it, the one that has been idle longest is closed: first of those whose
   * requests had no valid token, or were never complete. See `RawRequest.authenticated`: one named holder of a token has at
   * most a quarter of the connections, and all named holders together have half of them.
   */
  connections: number
  /** Time for the peer to close a connection after its last response, or for it to go on sending what is dropped. */
  lingerMs: number
  /** Time for requests under way to finish after `stop()`. */
  stopMs: number
}

/** The limits of a server without limits of its own. */
export const defaultLimits: Limits = {
  bodyBytes: 1024 * 1024,
  headerBytes: 16 * 1024,
  headersMs: 10_000,
  requestMs: 30_000,
  idleMs: 75_000,
  connections: 1024,
  lingerMs: 2_000,
  stopMs: 10_000,
}
