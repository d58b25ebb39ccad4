/**
 * The interface for sending requests to a node. Each runtime has an implementation behind the package import
 * `#transport`.
 */
import { LatchkeyError } from '@latchkey/algorand'

/** One exchange with a server. */
export type TransportRequest = {
  url: URL
  path: string
  method: 'GET' | 'POST'
  headers: { readonly [name: string]: string }
  body?: Uint8Array<ArrayBuffer> | undefined
  timeoutMs: number
  maxResponseBytes: number
  /** The request must not reach the node twice, so it is not repeated after a stale connection. */
  once: boolean
  /** Called when the request is sent, with a function that cancels it and makes it fail. */
  onStart?: ((cancel: () => void) => void) | undefined
}

/** The complete response of the server. */
export type TransportResponse = { status: number; text: string }

/** Sends requests to servers over its own connections. */
export type Transport = {
  /** Does not follow redirects. Rejects with `TransportError`. */
  send: (request: TransportRequest) => Promise<TransportResponse>
  /** Closes idle connections. Requests after that open new ones. */
  close: () => Promise<void>
}

/** Options of `createTransport`. */
export type TransportOptions = {
  /**
   * The maximum number of connections to one server, if the transport manages them. Further requests wait.
   *
   * @default 64
   */
  readonly maxConnections?: number | undefined
  /**
   * Whether requests use `globalThis.fetch` if the program has replaced it, or has configured its connections with a
   * proxy or custom certificates.
   *
   * @default false
   */
  readonly followsFetch?: boolean | undefined
}

/** Why an exchange failed. */
export type TransportFailure = 'network' | 'timeout' | 'too_large'

/** The reason for a failed exchange, for `Node` to explain. */
export class TransportError extends LatchkeyError<TransportFailure> {
  override name = 'TransportError'
  /** The system's code, such as `ECONNREFUSED`, if there is one. */
  readonly systemCode: string | undefined

  constructor(
    code: TransportFailure,
    { systemCode, cause }: { systemCode?: string | undefined; cause?: unknown } = {},
  ) {
    super(code, code, { cause })
    this.systemCode = systemCode
  }

  /** Whether no connection was made, so that nothing can have arrived. */
  get isRefused(): boolean {
    return this.systemCode !== undefined && refusals.has(this.systemCode)
  }
}

/** The server had closed the idle connection before it could see the request. */
export class StaleConnectionError extends TransportError {}

const refusals = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])
