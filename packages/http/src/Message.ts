/** Requests and responses as handlers see them, without the socket. */

/** A request in the host's own form: nothing is parsed, copied or allocated before the handler reads it. */
export type RawRequest = {
  method: string
  /** Path and query, as sent. */
  target: string
  /** All headers by lower-case name. Present on requests that come from a `Server`. */
  headers?: ReadonlyMap<string, string>
  header: (lowerCaseName: string) => string | undefined
  /** The local address of the connection. */
  localAddress?: () => string | undefined
  /** The address of the peer. */
  remoteAddress?: () => string | undefined
  /** The two ends of the connection: the same object for all requests of one. Present on requests that come from a `Server`. */
  ends?: () => ConnectionEnds
  /**
   * Calls `listener` once if the peer disconnects before the response. A half-closed connection looks the same as a
   * disconnected one, so it counts too; the response is still sent to it.
   */
  onClose?: (listener: () => void) => void
  /**
   * Says that the request has a valid token, and whose: that of a named holder, or without a name that of the owner of the
   * server. When the server is full, it closes connections without a valid token first, then those of holders. The
   * connections of holders are limited (see `Limits.connections`), so that room is left for the owner. A response with the
   * status 401 takes it back.
   *
   * @returns whether the request may be served; false if the holder has too many connections in use.
   */
  authenticated?: (holder?: string) => boolean
  /**
   * Says that the handler waits to learn who sent the request: a full server may close the connection meanwhile, although
   * its request is under way. `authenticated` ends it.
   */
  unverified?: () => void
  /** The id of the request, as in the `X-Request-Id` of its response, on a server with `onRequest`. */
  id?: string | undefined
  /**
   * Says which route the path belongs to, for `onRequest` of the server. A pattern, such as `/v2/accounts/{address}`: the
   * path itself may hold secrets.
   */
  matched?: (route: string) => void
  /** Says which payment the request is about, by its id, for `onRequest` of the server. */
  concerns?: (payment: string) => void
  /**
   * Reads the body. May be called once, before the response is returned.
   *
   * @param limit fewer bytes than the server allows, for a request that needs no token
   * @throws {@link BodyError} if the body is too large, malformed or too slow, or if the request is over.
   * @throws TypeError if the body has already been read.
   */
  body: (limit?: number) => Buffer | Promise<Buffer>
}

/** The ends of a connection. Those of a Unix socket have neither address nor port. */
export type ConnectionEnds = {
  readonly localAddress: string | undefined
  readonly localPort: number | undefined
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  /** The descriptor of the socket in this process; undefined where the system has none. */
  readonly descriptor: number | undefined
}

/**
 * A response whose `headers` alternate names and values. Its bytes must not change: large ones are not copied. With
 * `wipe` they are a secret, which is overwritten as soon as it is sent, or cannot be. Headers that are frozen are written
 * once for all responses that have them.
 */
export type RawResponse = { status: number; headers: string[]; body: string | Uint8Array; wipe?: boolean }

/** Returned in place of a response: the host closes the connection without one. */
export const dropConnection: unique symbol = Symbol('dropConnection')

/** What a {@link RawHandler} returns. */
export type RawAnswer = RawResponse | typeof dropConnection

/** The host's own form of a handler. A response that is returned without a promise costs none. */
export type RawHandler = (request: RawRequest) => RawAnswer | Promise<RawAnswer>

/** The connection that a request arrived by: its two ends, and whom it belongs to. */
export type ConnectionInfo = {
  remoteAddress?: string | undefined
  localAddress?: string | undefined
  /** As that of {@link RawRequest}. */
  authenticated?: ((holder?: string) => boolean) | undefined
  /** As `id` of {@link RawRequest}. */
  requestId?: string | undefined
  /** As that of {@link RawRequest}. */
  matched?: ((route: string) => void) | undefined
  /** As that of {@link RawRequest}. */
  concerns?: ((payment: string) => void) | undefined
  /** As `body` of {@link RawRequest}, for a handler that wants the bytes: they cost less than those of `Request`. */
  readBody?: ((limit?: number) => Uint8Array | Promise<Uint8Array>) | undefined
  /**
   * A `Response` of a text, for a handler that has all of it: the host sends it as it is, which costs less than reading one.
   * `headers` alternate lower-case names and values.
   */
  textResponse?: ((status: number, headers: readonly string[], text: string) => Response) | undefined
}

/**
 * The web-standard form of a handler, which any server can host. `request.signal` aborts when the peer disconnects.
 * `Response.error()` closes the connection without a response.
 */
export type FetchHandler = (request: Request, info?: ConnectionInfo) => Response | Promise<Response>

/** A response whose body arrives in pieces. */
export type StreamedResponse = { status: number; headers: string[]; body: BodySource }

export type BodySource = {
  /** The next piece; undefined after the last one. */
  next: () => Promise<Uint8Array | undefined>
  cancel: () => void
}

/** What a connection can send: a raw response, also one without a known body (`undefined`, to `HEAD` only). */
export type HostResponse =
  | RawResponse
  | StreamedResponse
  | { status: number; headers: string[]; body: undefined }
  | typeof dropConnection

export type HostHandler = (request: RawRequest) => HostResponse | Promise<HostResponse>

/** Whether a body is written in parts. */
export function isSource(body: Exclude<HostResponse, symbol>['body']): body is BodySource {
  return typeof body === 'object' && 'next' in body
}

/** Whether the body has to be wiped once it is written. */
export function isSecret(response: Exclude<HostResponse, symbol>): response is RawResponse & { body: Uint8Array } {
  return 'wipe' in response && response.wipe === true && response.body instanceof Uint8Array
}
