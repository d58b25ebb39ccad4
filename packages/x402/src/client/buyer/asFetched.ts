const whole = new WeakSet<Response>()

/** Marks a response whose whole body arrived with the head, so that the body can no longer break off. */
export function noteWhole(response: Response): Response {
  whole.add(response)
  return response
}

/** Whether the response was marked; false if that is not known. */
export function isWhole(response: Response): boolean {
  return whole.has(response)
}

export type FetchedAs = Pick<Response, 'url' | 'redirected' | 'type'>

/** Sets the properties on a response and its clones that only `fetch` can set. */
export function asFetched(response: Response, { url, redirected, type }: FetchedAs): Response {
  const clone = (): Response => asFetched(Response.prototype.clone.call(response), { url, redirected, type })
  for (const [name, value] of Object.entries({ url, redirected, type, clone })) {
    Object.defineProperty(response, name, { value, configurable: true })
  }
  return response
}
