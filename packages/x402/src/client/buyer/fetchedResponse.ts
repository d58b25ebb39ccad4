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
  /** The signal of the request. */
  readonly signal?: AbortSignal | undefined
  /** The body was read to its end, or the reader canceled it. */
  readonly onEnd: () => void
  /** The body broke off. Returns the error for the reader. */
  readonly onError: (error: unknown) => unknown
}

/**
 * Returns a response whose body reports how it ended, long after the status and the headers have arrived. The body fails
 * once its request is aborted. Node's `fetch` does not ensure that: if the last bytes arrived before and were not read,
 * a body that is being read never ends, and one that is not looks complete.
 */
export function watchBody(response: Response, { signal, onEnd, onError }: BodyEvents): Response {
  const source = response.body
  if (source === null) {
    onEnd()
    return response
  }
  const canceled = new AbortController()
  if (response.bodyUsed) canceled.abort(incomplete())
  const reader = source.getReader()
  // An aborted `fetch` cancels the body, which has no effect while a reader holds it. It holds its response weakly, and
  // cancels the body of one that is still referenced.
  const cancel = async (cause: unknown): Promise<void> => canceled.abort(incomplete(cause))
  Object.assign(source, { response, cancel })
  const signals = signal === undefined ? [canceled.signal] : [signal, canceled.signal]
  const body = new ReadableStream({
    type: 'bytes',
    pull: async (controller) => {
      try {
        const piece = await unlessAborted(nextPiece(reader), signals)
        if (piece !== undefined) {
          controller.enqueue(piece)
          return
        }
      } catch (error) {
        controller.error(onError(error))
        reader.cancel(error).catch(() => {})
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

function incomplete(cause?: unknown): TypeError {
  return new TypeError('the body was canceled before it was read', { cause })
}

/** Rejects with the reason of the first signal that is aborted, even if the work never ends. */
function unlessAborted<T>(work: Promise<T>, signals: readonly AbortSignal[]): Promise<T> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      const aborted = signals.find((signal) => signal.aborted)
      if (aborted !== undefined) reject(aborted.reason)
    }
    for (const signal of signals) signal.addEventListener('abort', check)
    const stop = (): void => {
      for (const signal of signals) signal.removeEventListener('abort', check)
    }
    work.then(resolve, reject).finally(stop)
    check()
  })
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
