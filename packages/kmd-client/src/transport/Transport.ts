/** How requests reach the daemon. Each runtime has its own implementation behind the package import `#transport`. */
import { LatchkeyError } from '@latchkey/algorand'

export type TransportRequest = {
  host: string
  port: number
  /** Host and port as a URL has them. */
  authority: string
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
}

export type TransportResponse = {
  status: number
  header: (name: string) => string | undefined
  /** Memory of its own, for the caller to wipe. */
  body: Uint8Array
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
 * - `timeout`, `too_large`: a limit of the request was reached.
 */
export type TransportFailure = 'refused' | 'broken' | 'timeout' | 'too_large'

/** The reason for a failed exchange, for `Connection` to explain. */
export class TransportError extends LatchkeyError<TransportFailure> {
  override name = 'TransportError'
  /** The system's code, such as `ECONNREFUSED`, where there is one. */
  readonly systemCode: string | undefined

  constructor(
    code: TransportFailure,
    { systemCode, cause }: { systemCode?: string | undefined; cause?: unknown } = {},
  ) {
    super(code, code, { cause })
    this.systemCode = systemCode
  }

  /** Whether the peer reset the connection: if it was a reused one, possibly before the peer saw the request. */
  get isReset(): boolean {
    return this.systemCode !== undefined && resets.has(this.systemCode)
  }
}

const refusals = new Set([
  ...['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'],
  'UND_ERR_CONNECT_TIMEOUT',
])
const resets = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/** A failure of the network, by the system's code for it. */
export function networkError(cause: unknown, systemCode: string | undefined): TransportError {
  const code = systemCode !== undefined && refusals.has(systemCode) ? 'refused' : 'broken'
  return new TransportError(code, { systemCode, cause })
}
