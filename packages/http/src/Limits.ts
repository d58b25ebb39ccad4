/** Limits on what peers send and how long they take. */
export type Limits = {
  /** The largest request body. */
  bodyBytes: number
  /** The largest request line with headers. */
  headerBytes: number
  /** Time for the headers to arrive. */
  headersMs: number
  /** Time for the whole request to arrive. */
  requestMs: number
  /**
   * Time between requests, and without progress of a response stream. Clients are told a shorter time; see
   * {@link keepAliveValue}.
   */
  idleMs: number
  /**
   * Maximum number of open connections. Beyond it, the connection that has been idle longest is closed, starting with
   * those whose requests had no valid token or were never complete. See `RawRequest.authenticated`: one named token
   * holder has at most a quarter of the connections, and all named holders together have at most half of them.
   */
  connections: number
  /** Time for the peer to close a connection after its last response, while anything it still sends is dropped. */
  lingerMs: number
  /** Time for running requests to finish after `stop()`. */
  stopMs: number
}

/** The default limits of a server. */
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
/**
 * The share of the idle time that clients are told, because a request may be in flight when they stop using a
 * connection.
 */
const announcedShare = 0.8

/**
 * The value of `Connection` for a client that keeps its connections, with the time they are kept (RFC 2068, section
 * 19.7.1.1). A client that sent a request later might find the connection being closed.
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
