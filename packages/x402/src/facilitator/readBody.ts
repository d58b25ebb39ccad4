/** Reads the body of a request, with limits on its size and time. */
import { Bytes } from '@latchkey/algorand'
import { json } from './jsonResponse.js'

export type BodyLimits = { readonly maxBodyBytes: number; readonly bodyTimeoutMs: number }

/**
 * Returns the text of the body, or the response that refuses it. Reads no more than the limit for any announced length,
 * because not every host enforces the length.
 */
export async function readText(
  request: Request,
  { maxBodyBytes, bodyTimeoutMs }: BodyLimits,
  readBody?: ReadBody | undefined,
): Promise<string | Response> {
  if (Number(request.headers.get('Content-Length') ?? 0) > maxBodyBytes) return tooLarge(maxBodyBytes)
  if (readBody !== undefined) return readBytes(readBody, maxBodyBytes, bodyTimeoutMs)
  if (request.body === null) return ''
  const reader = request.body.getReader()
  let isLate = false
  // Cancelling the reader ends a pending read.
  const timer = setTimeout(() => {
    isLate = true
    cancel(reader)
  }, bodyTimeoutMs)
  try {
    const text = await readAll(reader, maxBodyBytes)
    return isLate ? late() : (text ?? tooLarge(maxBodyBytes))
  } catch (error) {
    return unreadable(error)
  } finally {
    clearTimeout(timer)
  }
}

/** Reads a body of at most the limit. Throws an error with a status if the body is larger. */
export type ReadBody = (limit: number) => Uint8Array | Promise<Uint8Array>

const utf8 = new TextDecoder()

/** Reads through the host, which enforces the limit. Most bodies arrive with the head and need no timer. */
async function readBytes(read: ReadBody, maxBodyBytes: number, timeoutMs: number): Promise<string | Response> {
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    const body = read(maxBodyBytes)
    if (body instanceof Uint8Array) return utf8.decode(body)
    const timeUp = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, timeoutMs, undefined)
    })
    const bytes = await Promise.race([body, timeUp])
    if (bytes !== undefined) return utf8.decode(bytes)
    body.catch(() => {})
    return late()
  } catch (error) {
    return (error as { status?: unknown }).status === 413 ? tooLarge(maxBodyBytes) : unreadable(error)
  } finally {
    clearTimeout(timer)
  }
}

function tooLarge(maxBodyBytes: number): Response {
  return json(413, { error: `the body is larger than ${maxBodyBytes} bytes` })
}

function late(): Response {
  return json(408, { error: 'the body did not arrive in time' })
}

/** A host that enforces its own limits throws an error with a status. */
function unreadable(error: unknown): Response {
  const { status } = error as { status?: unknown }
  const isOfHost = status === 408 || status === 413
  return json(isOfHost ? status : 400, { error: 'the body could not be read' })
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** Undefined if the body is larger than the limit; the rest is then not read. */
async function readAll(reader: Reader, maxBodyBytes: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes += read.value.length
    if (bytes > maxBodyBytes) {
      cancel(reader)
      return undefined
    }
    chunks.push(read.value)
  }
  return new TextDecoder().decode(Bytes.concat(chunks))
}

function cancel(reader: Reader): void {
  void reader.cancel().catch(() => {})
}
