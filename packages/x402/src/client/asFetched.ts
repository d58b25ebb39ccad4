export type FetchedAs = Pick<Response, 'url' | 'redirected' | 'type'>

/** Gives a response, and its clones, what only `fetch` can set. */
export function asFetched(response: Response, { url, redirected, type }: FetchedAs): Response {
  const clone = (): Response => asFetched(Response.prototype.clone.call(response), { url, redirected, type })
  for (const [name, value] of Object.entries({ url, redirected, type, clone })) {
    Object.defineProperty(response, name, { value, configurable: true })
  }
  return response
}
