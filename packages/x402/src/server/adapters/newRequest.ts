/** The parts of a request that the gate sees, without the body. */
type RequestParts = { readonly method: string; readonly headers: Headers; readonly signal: AbortSignal }

/** Like {@link newRequest}; undefined for a URL that no request can have, such as one with credentials. */
export function tryNewRequest(url: string, parts: RequestParts): Request | undefined {
  try {
    return newRequest(url, parts)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/** Creates a web `Request` with any method, including methods that `fetch` does not send. */
export function newRequest(url: string, { method, headers, signal }: RequestParts): Request {
  if (!/^(connect|trace|track)$/i.test(method)) return new Request(url, { method, headers, signal })
  return Object.defineProperty(new Request(url, { headers, signal }), 'method', { value: method })
}
