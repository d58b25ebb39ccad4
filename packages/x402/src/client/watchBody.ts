/**
 * A response whose body reports that it broke off, which happens after the status and the headers have arrived: its reader
 * gets the error that `onError` returns.
 */
export function watchBody(response: Response, onError: (error: unknown) => unknown): Response {
  if (response.body === null) return response
  const reader = response.body.getReader()
  const body = new ReadableStream({
    type: 'bytes',
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read()
        if (!done) {
          controller.enqueue(value)
          return
        }
      } catch (error) {
        controller.error(onError(error))
        return
      }
      controller.close()
      // A reader with a buffer of its own waits for the end too.
      controller.byobRequest?.respond(0)
    },
    cancel: (reason) => reader.cancel(reason),
  })
  const { status, statusText, headers, url, redirected, type } = response
  const watched = new Response(body, { status, statusText, headers })
  // What a constructor cannot set.
  for (const [name, value] of Object.entries({ url, redirected, type })) Object.defineProperty(watched, name, { value })
  return watched
}
