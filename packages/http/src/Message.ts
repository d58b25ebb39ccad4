/** Requests and responses as handlers receive them, without the socket. */

/** A request in the host's own form. Nothing is parsed, copied or allocated before the handler reads it. */
export type RawRequest = {
  method: string
  /** Path and query, as sent. */
  target: string
  /** All headers by lower-case name. Present on requests from a `Server`. */
  headers?: ReadonlyMap<string, string>
  header: (lowerCaseName: string) => string | undefined
  /** The local address of the connection. */
  localAddress?: () => string | undefined
  /** The address of the peer. */
  remoteAddress?: () => string | undefined
  /**
   * The two ends of the connection, as the same object for all of its requests. Present on requests from a `Server`.
   */
  ends?: () => ConnectionEnds
  /**
   * Calls `listener` once if the peer disconnects before the response. A half-closed connection looks the same as a
   * disconnected one, so it counts too; the response is still sent to it.
   */
  onClose?: (listener: () => void) => void
  /**
   * Declares that the request has a valid token, and its holder: a named one, or the owner of the server if there is no
   * name. A full server closes connections without a valid token first, then those of holders. The connections of
   * holders are limited (see `Limits.connections`) to leave room for the owner. A response with the status 401 revokes
   * the declaration.
   *
   * @returns whether the request may be served; false if the holder has too many connections in use.
   */
  authenticated?: (holder?: string) => boolean
  /**
   * Declares that the handler is still identifying the sender. A full server may close the connection in the meantime,
   * although its request is in progress. `authenticated` ends this state.
   */
  unverified?: () => void
  /** The id of the request, as in the `X-Request-Id` of its response, on a server with `onRequest`. */
  id?: string | undefined
  /**
   * Sets the route of the path, for `onRequest` of the server. Pass a pattern such as `/v2/accounts/{address}`, because
   * the path itself may contain secrets.
   */
  matched?: (route: string) => void
  /** Sets the id of the payment of the request, for `onRequest` of the server. */
  concerns?: (payment: string) => void
  /**
   * Reads the body. May be called once, before the response is returned.
   *
   * @param limit a lower limit than the server's, for a request that needs no token
   * @throws {@link BodyError} if the body is too large, malformed or too slow, or if the request is over.
   * @throws TypeError if the body has already been read.
   */
  body: (limit?: number) => Buffer | Promise<Buffer>
}

/** The ends of a connection. A Unix socket has neither address nor port. */
export type ConnectionEnds = {
  readonly localAddress: string | undefined
  readonly localPort: number | undefined
  readonly remoteAddress: string | undefined
  readonly remotePort: number | undefined
  /** The descriptor of the socket in this process, or undefined if the system has none. */
  readonly descriptor: number | undefined
}

/**
 * A response whose `headers` alternate names and values. Its bytes must not change, because large bodies are not
 * copied. With `wipe` the body is a secret, which is overwritten as soon as it is sent or cannot be sent. With `isAscii`
 * the body is known to be ASCII text, whose length need not be counted. Frozen headers are serialized once for all
 * responses that use them.
 */
export type RawResponse = {
  status: number
  headers: string[]
  body: string | Uint8Array
  wipe?: boolean
  isAscii?: boolean
}

/** Returned instead of a response: the host closes the connection without one. */
export const dropConnection: unique symbol = Symbol('dropConnection')

/** The result of a {@link RawHandler}. */
export type RawAnswer = RawResponse | typeof dropConnection

/** The host's own form of a handler. A response that is returned synchronously avoids the cost of a promise. */
export type RawHandler = (request: RawRequest) => RawAnswer | Promise<RawAnswer>

/** The connection of a request: its two ends, and its holder. */
export type ConnectionInfo = {
  remoteAddress?: string | undefined
  localAddress?: string | undefined
  /** Like that of {@link RawRequest}. */
  authenticated?: ((holder?: string) => boolean) | undefined
  /** Like `id` of {@link RawRequest}. */
  requestId?: string | undefined
  /** Like that of {@link RawRequest}. */
  matched?: ((route: string) => void) | undefined
  /** Like that of {@link RawRequest}. */
  concerns?: ((payment: string) => void) | undefined
  /** Like `body` of {@link RawRequest}, for a handler that needs the bytes. Cheaper than those of `Request`. */
  readBody?: ((limit?: number) => Uint8Array | Promise<Uint8Array>) | undefined
  /**
   * Creates a text `Response` for a handler that has the complete text. The host sends the text directly, which is
   * cheaper than reading a response. `headers` alternate lower-case names and values.
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
  /** Returns the next piece, or undefined after the last one. */
  next: () => Promise<Uint8Array | undefined>
  cancel: () => void
}

/**
 * The responses that a connection can send: a raw response, including one without a known body (`undefined`, only for
 * `HEAD`).
 */
export type HostResponse =
  | RawResponse
  | StreamedResponse
  | { status: number; headers: string[]; body: undefined }
  | typeof dropConnection

export type HostHandler = (request: RawRequest) => HostResponse | Promise<HostResponse>
