/**
 * A request that uses few features of `fetch`. Each runtime has its own implementation behind the package import
 * `#direct-send`.
 */
export type DirectRequest = {
  readonly url: string
  readonly method: string
  readonly headers: Headers
  readonly redirect: Request['redirect']
  readonly body: Uint8Array | undefined
  readonly signal: AbortSignal | undefined
}

/**
 * Sends a request without `fetch`, with the same result and the same errors; undefined if the request needs `fetch`.
 */
export type DirectSend = (request: DirectRequest) => Promise<Response> | undefined

/** Whether a request failed on a kept-alive connection, so that a new connection may work immediately. */
export type IsStaleFailure = (error: unknown) => boolean
