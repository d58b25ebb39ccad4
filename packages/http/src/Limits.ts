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
  /** Time between requests, and without progress of a response stream. Clients are told a shorter one, see {@link keepAliveValue}. */
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

const keepAliveValues = new WeakMap<Limits, string>()
/** The share of the idle time that clients are told: a request may be on its way when they stop using a connection. */
const announcedShare = 0.8

/**
 * The value of `Connection` for a client that keeps its connections, with how long they are kept (RFC 2068, section 19.7.1.1). A client
 * that sent a request later might meet a connection that is being closed.
 */
export function keepAliveValue(limits: Limits): string {
  let value = keepAliveValues.get(limits)
  if (value === undefined) {
    const seconds = Math.floor((limits.idleMs * announcedShare) / 1000)
    value = seconds < 1 ? 'keep-alive' : `keep-alive\r\nKeep-Alive: timeout=${seconds}`
    keepAliveValues.set(limits, value)
  }
  return value
}
