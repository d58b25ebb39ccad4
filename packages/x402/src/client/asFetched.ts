const whole = new WeakSet<Response>()

/** Notes that the whole body has arrived with the head, so that it cannot break off any more. */
export function noteWhole(response: Response): Response {
  whole.add(response)
  return response
}

/** Whether it was noted; false where it is not known. */
export function isWhole(response: Response): boolean {
  return whole.has(response)
}

export type FetchedAs = Pick<Response, 'url' | 'redirected' | 'type'>

/** Gives a response, and its clones, what only `fetch` can set. */
export function asFetched(response: Response, { url, redirected, type }: FetchedAs): Response {
  const clone = (): Response => asFetched(Response.prototype.clone.call(response), { url, redirected, type })
  for (const [name, value] of Object.entries({ url, redirected, type, clone })) {
    Object.defineProperty(response, name, { value, configurable: true })
  }
  return response
}
