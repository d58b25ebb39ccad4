import { asFetched } from './asFetched.js'

export type BodyEvents = {
  /** It was read to its end, or the reader wants no more. */
  readonly onEnd: () => void
  /** It broke off. Returns the error for the reader. */
  readonly onError: (error: unknown) => unknown
}

/** A response whose body reports how it ended, which is long after the status and the headers have arrived. */
export function watchBody(response: Response, { onEnd, onError }: BodyEvents): Response {
  if (response.body === null) {
    onEnd()
    return response
  }
  const reader = response.body.getReader()
  const body = new ReadableStream({
    type: 'bytes',
    pull: async (controller) => {
      try {
        const piece = await nextPiece(reader)
        if (piece !== undefined) {
          controller.enqueue(piece)
          return
        }
      } catch (error) {
        controller.error(onError(error))
        return
      }
      onEnd()
      controller.close()
      // A reader with a buffer of its own waits for the end too.
      controller.byobRequest?.respond(0)
    },
    cancel: (reason) => {
      onEnd()
      return reader.cancel(reason)
    },
  })
  const { status, statusText, headers, url, redirected, type } = response
  return asFetched(new Response(body, { status, statusText, headers }), { url, redirected, type })
}

/**
 * The next piece with bytes, which the stream refuses to be without; undefined at the end. It is a copy: the stream takes
 * the memory of what it gets away from everybody else, and pieces of other fetches share theirs, with Node itself too.
 */
async function nextPiece(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | undefined> {
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return undefined
    if (value.length > 0) return new Uint8Array(value)
  }
}
