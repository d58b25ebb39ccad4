/** How requests reach a node. Each runtime has its own implementation behind the package import `#transport`. */
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
  /** Must not reach the node twice: not repeated after a stale connection. */
  once: boolean
  /** Called when it is sent, with what cancels it: then it fails. */
  onStart?: ((cancel: () => void) => void) | undefined
}

/** What the server answered, whole. */
export type TransportResponse = { status: number; text: string }

/** Sends requests to servers, over connections of its own. */
export type Transport = {
  /** Does not follow redirects. Rejects with `TransportError`. */
  send: (request: TransportRequest) => Promise<TransportResponse>
  /** Closes idle connections. Requests after that open new ones. */
  close: () => Promise<void>
}

/** Options of `createTransport`. */
export type TransportOptions = {
  /**
   * The most connections to one server, where the transport holds them; further requests wait for one.
   *
   * @default 64
   */
  readonly maxConnections?: number | undefined
  /**
   * Whether requests go by `globalThis.fetch` while the program has replaced it, or has set how it connects: by a proxy, or
   * with certificates of its own.
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
  /** The system's code, such as `ECONNREFUSED`, where there is one. */
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

/** The server had closed the idle connection before it can have seen the request. */
export class StaleConnectionError extends TransportError {}

const refusals = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'])
