/** How requests reach the daemon. Each runtime has its own implementation behind the package import `#transport`. */
import { LatchkeyError } from '@latchkey/algorand'

export type TransportRequest = {
  host: string
  port: number
  /** Host and port as a URL has them. */
  authority: string
  /** The path of a Unix socket, in place of host and port. On Node only. */
  socketPath?: string | undefined
  path: string
  method: string
  headers: { readonly [name: string]: string }
  body: Uint8Array<ArrayBuffer> | undefined
  /** Rejects with its reason when it fires. */
  signal: AbortSignal | undefined
  timeoutMs: number
  maxResponseBytes: number
  /** Must not reach the daemon twice: never repeated, and not sent over a connection that may be stale. */
  once: boolean
  /** May reach the daemon twice. What is neither is repeated only where the daemon had closed an idle connection. */
  repeatable: boolean
}

export type TransportResponse = {
  status: number
  header: (name: string) => string | undefined
  /** Memory of its own, for the caller to wipe. */
  body: Uint8Array
}

export type Address = { address: string; port: number }

/** The two ends of a connection, as the client sees them. */
export type Ends = { local: Address; remote: Address }

/** Why the program at the other end is not taken for the daemon. */
export type Doubt = {
  /** Another user's program, a daemon that has ended, or a system that does not tell. */
  reason: 'foreign' | 'stale' | 'unproven'
  message: string
}

/** Examines the peer before anything is sent to it: undefined if it is the daemon. */
export type Examine = {
  connection: (ends: Ends) => Promise<Doubt | undefined>
  /** For connections that cannot be seen. Rejects with `TransportError` where there is no connection. */
  address: (host: string, port: number) => Promise<Doubt | undefined>
}

export type Transport = {
  /** Rejects with `TransportError`, or with the reason of the signal. */
  send: (request: TransportRequest) => Promise<TransportResponse>
  /** Closes idle connections. Requests after that open new ones. */
  close: () => void
}

/**
 * - `refused`: no connection could be made, so nothing was sent.
 * - `broken`: the connection failed, at a point that the runtime may not tell.
 * - `unproven`: the peer is not the daemon, so nothing was sent: `UnprovenPeerError`.
 * - `timeout`, `too_large`: a limit of the request was reached.
 */
export type TransportFailure = 'refused' | 'unproven' | 'broken' | 'timeout' | 'too_large'

type TransportErrorOptions = {
  systemCode?: string | undefined
  cause?: unknown
  hasResponse?: boolean | undefined
  isNewConnection?: boolean | undefined
  isUnsent?: boolean | undefined
}

/** The reason for a failed exchange, for `Connection` to explain. */
export class TransportError extends LatchkeyError<TransportFailure> {
  override name = 'TransportError'
  /** The system's code, such as `ECONNREFUSED`, where there is one. */
  readonly systemCode: string | undefined
  /** Whether a response had begun. */
  readonly hasResponse: boolean
  /** Whether the connection had no request before: then it was not closed for being idle. */
  readonly isNewConnection: boolean
  /** Whether nothing of the request was sent, so that anything may be repeated. */
  readonly isUnsent: boolean
  /** Whether an earlier attempt of the same request may have reached the daemon. */
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

  /** Whether the peer closed the connection without a response. It may have seen the request, or not. */
  get isReset(): boolean {
    return !this.hasResponse && this.systemCode !== undefined && resets.has(this.systemCode)
  }
}

/** The program that listens is not the daemon. Nothing was sent. */
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
  // Of a Unix socket: it is not there, or not for this user.
  ...['ENOENT', 'EACCES'],
  'UND_ERR_CONNECT_TIMEOUT',
])
const resets = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** A failure of the network, by the system's code for it. */
export function networkError(
  cause: unknown,
  systemCode: string | undefined,
  state: Omit<TransportErrorOptions, 'systemCode' | 'cause'> = {},
): TransportError {
  const code = systemCode !== undefined && refusals.has(systemCode) ? 'refused' : 'broken'
  return new TransportError(code, { systemCode, cause, ...state })
}
