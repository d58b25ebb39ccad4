/**
 * Defines how requests reach the daemon. Each runtime has its own implementation behind the package import
 * `#transport`.
 */
import { LatchkeyError } from '@latchkey/algorand'

export type TransportRequest = {
  host: string
  port: number
  /** Host and port as in a URL. */
  authority: string
  /** The path of a Unix socket, used instead of host and port. Node only. */
  socketPath?: string | undefined
  path: string
  method: string
  headers: { readonly [name: string]: string }
  body: Uint8Array<ArrayBuffer> | undefined
  /** When the signal fires, the request rejects with its reason. */
  signal: AbortSignal | undefined
  timeoutMs: number
  maxResponseBytes: number
  /** Must not reach the daemon twice: never repeated, and not sent over a connection that may be stale. */
  once: boolean
  /**
   * May reach the daemon twice. A request that is neither `once` nor `repeatable` is repeated only if the daemon had
   * closed an idle connection.
   */
  repeatable: boolean
}

export type TransportResponse = {
  status: number
  header: (name: string) => string | undefined
  /** A separate buffer that the caller must wipe. */
  body: Uint8Array
}

export type Address = { address: string; port: number }

/** Both ends of a connection, from the client's side. */
export type Ends = { local: Address; remote: Address }

/** Why the peer is not accepted as the daemon. */
export type Doubt = {
  /** Another user's program, a daemon that has ended, or a system that does not reveal the peer. */
  reason: 'foreign' | 'stale' | 'unproven'
  message: string
}

/** Examines the peer before anything is sent to it. Resolves to undefined if the peer is the daemon. */
export type Examine = {
  connection: (ends: Ends) => Promise<Doubt | undefined>
  /** For connections that cannot be inspected. Rejects with `TransportError` if no connection can be made. */
  address: (host: string, port: number) => Promise<Doubt | undefined>
}

export type Transport = {
  /** Rejects with `TransportError` or with the signal's reason. */
  send: (request: TransportRequest) => Promise<TransportResponse>
  /** Closes idle connections. Later requests open new ones. */
  close: () => void
}

/**
 * - `refused`: no connection could be made, so nothing was sent.
 * - `broken`: the connection failed, possibly at an unknown point.
 * - `unproven`: the peer is not the daemon, so nothing was sent: `UnprovenPeerError`.
 * - `timeout`, `too_large`: the request reached a limit.
 */
export type TransportFailure = 'refused' | 'unproven' | 'broken' | 'timeout' | 'too_large'

type TransportErrorOptions = {
  systemCode?: string | undefined
  cause?: unknown
  hasResponse?: boolean | undefined
  isNewConnection?: boolean | undefined
  isUnsent?: boolean | undefined
}

/** The reason for a failed exchange. `Connection` turns it into a message. */
export class TransportError extends LatchkeyError<TransportFailure> {
  override name = 'TransportError'
  /** The system's error code, such as `ECONNREFUSED`, if there is one. */
  readonly systemCode: string | undefined
  /** Whether a response had started. */
  readonly hasResponse: boolean
  /** Whether this was the connection's first request, which rules out an idle timeout. */
  readonly isNewConnection: boolean
  /** Whether nothing was sent, so any request may be repeated. */
  readonly isUnsent: boolean
  /** Whether an earlier attempt of this request may have reached the daemon. */
  wasSentBefore = false

  constructor(
    code: TransportFailure,
    { systemCode, cause, hasResponse = false, isNewConnection = false, isUnsent = false }: TransportErrorOptions = {},
  ) {
    super(code, code, { cause })
    this.systemCode = systemCode
    this.hasResponse = hasResponse
    this.isNewConnection = isNewConnection
    this.isUnsent = isUnsent
  }

  /** Whether the peer closed the connection without a response. The peer may or may not have seen the request. */
  get isReset(): boolean {
    return !this.hasResponse && this.systemCode !== undefined && resets.has(this.systemCode)
  }
}

/** The listening program is not the daemon. Nothing was sent. */
export class UnprovenPeerError extends TransportError {
  override name = 'UnprovenPeerError'
  readonly doubt: Doubt

  constructor(doubt: Doubt) {
    super('unproven')
    this.doubt = doubt
  }
}

const refusals = new Set([
  ...['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'],
  // A Unix socket that does not exist or that this user may not access.
  ...['ENOENT', 'EACCES'],
  'UND_ERR_CONNECT_TIMEOUT',
])
const resets = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** Converts a system error code to a network failure. */
export function networkError(
  cause: unknown,
  systemCode: string | undefined,
  state: Omit<TransportErrorOptions, 'systemCode' | 'cause'> = {},
): TransportError {
  const code = systemCode !== undefined && refusals.has(systemCode) ? 'refused' : 'broken'
  return new TransportError(code, { systemCode, cause, ...state })
}
