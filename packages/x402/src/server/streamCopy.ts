/**
 * A copy of a response that streams, for its buyer to get it again: at its end a connection can break without a sign to the
 * server. A response that breaks off before its end has no copy.
 */
import type { ServerResponse } from 'node:http'
import { Bytes } from '@latchkey/algorand'
import { functions, Overlay } from './Overlay.js'
import type { NodeResponse } from './ResponseCapture.js'

/** Longer streams are sent once: copies of them would take the memory that streaming saves. */
export const maxCopyBytes = 1024 * 1024

class Copy {
  #chunks: Uint8Array[] | undefined = []
  #bytes = 0

  add(chunk: Uint8Array): void {
    this.#bytes += chunk.length
    if (this.#bytes > maxCopyBytes) this.drop()
    else this.#chunks?.push(chunk)
  }

  drop(): void {
    this.#chunks = undefined
  }

  /** Undefined if there is none. */
  body(): Uint8Array<ArrayBuffer> | undefined {
    return this.#chunks === undefined ? undefined : new Uint8Array(Bytes.concat(this.#chunks))
  }
}

/** Calls `onEnd` when the handler has ended its response, with its status and all of its body. */
export function copyStream(
  nodeResponse: NodeResponse,
  onEnd: (status: number, body: Uint8Array<ArrayBuffer>) => void,
): void {
  const response = nodeResponse as ServerResponse
  const own = { write: response.write.bind(response), end: response.end.bind(response) }
  const copy = new Copy()
  let hasEnded = false
  const take = (chunk: unknown, encoding: unknown): void => {
    if (typeof chunk === 'string') copy.add(Buffer.from(chunk, encodingOf(encoding)))
    else if (chunk instanceof Uint8Array) copy.add(new Uint8Array(chunk))
  }
  // What was sent until then is not all of it. Before that, the handler may still make all of it.
  response.once('close', () => {
    if (!hasEnded && response.headersSent) copy.drop()
  })
  new Overlay(
    response,
    functions({
      write: (chunk: unknown, ...rest: unknown[]): boolean => {
        // With HTTP/2 `end` calls `write`.
        if (!hasEnded) take(chunk, rest[0])
        return own.write(chunk as never, ...(rest as never[]))
      },
      end: (...args: unknown[]): ServerResponse => {
        const isFirst = !hasEnded
        if (isFirst) take(args[0], args[1])
        hasEnded = true
        const result = own.end(...(args as never[]))
        const body = copy.body()
        if (isFirst && body !== undefined) onEnd(response.statusCode, body)
        return result
      },
    }),
  )
}

/** The body of a web response, with `onEnd` called when all of it was read. */
export function copyBody(
  body: ReadableStream<Uint8Array>,
  onEnd: (body: Uint8Array<ArrayBuffer>) => void,
): ReadableStream<Uint8Array> {
  const copy = new Copy()
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        copy.add(new Uint8Array(chunk))
        controller.enqueue(chunk)
      },
      flush: () => {
        const whole = copy.body()
        if (whole !== undefined) onEnd(whole)
      },
    }),
  )
}

function encodingOf(encoding: unknown): BufferEncoding {
  return typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8'
}
