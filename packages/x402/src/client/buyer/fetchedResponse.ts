/** Responses of `fetch`: how complete they are, the properties that only `fetch` sets, and the end of their bodies. */
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

type FetchedAs = Pick<Response, 'url' | 'redirected' | 'type'>

/** Sets the properties on a response and its clones that only `fetch` can set. */
export function asFetched(response: Response, { url, redirected, type }: FetchedAs): Response {
  const clone = (): Response => asFetched(Response.prototype.clone.call(response), { url, redirected, type })
  for (const [name, value] of Object.entries({ url, redirected, type, clone })) {
    Object.defineProperty(response, name, { value, configurable: true })
  }
  return response
}

type BodyEvents = {
  /** The body was read to its end, or the reader canceled it. */
  readonly onEnd: () => void
  /** The body broke off. Returns the error for the reader. */
  readonly onError: (error: unknown) => unknown
}

/** Returns a response whose body reports how it ended, long after the status and the headers have arrived. */
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
      // A reader with its own buffer waits for the end too.
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
 * The next piece that is not empty, because the stream rejects empty ones; undefined at the end. The piece is a copy:
 * the stream detaches the memory it gets, and pieces from other fetches share theirs, even with Node itself.
 */
async function nextPiece(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | undefined> {
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return undefined
    if (value.length > 0) return new Uint8Array(value)
  }
}
