/** The body of a request: its type, its size, the time it may take, and its JSON. */
import { Bytes, Json } from '@latchkey/algorand'
import { json } from './jsonResponse.js'

export type BodyLimits = { readonly maxBodyBytes: number; readonly bodyTimeoutMs: number }

/**
 * The text of the body, or the response that refuses it. Whatever length is announced, no more than the limit is read:
 * not every host enforces the length.
 */
export async function readText(
  request: Request,
  { maxBodyBytes, bodyTimeoutMs }: BodyLimits,
): Promise<string | Response> {
  const tooLarge = (): Response => json(413, { error: `the body is larger than ${maxBodyBytes} bytes` })
  if (Number(request.headers.get('Content-Length') ?? 0) > maxBodyBytes) return tooLarge()
  if (request.body === null) return ''
  const reader = request.body.getReader()
  let isLate = false
  // A read that waits ends when the reader is cancelled.
  const timer = setTimeout(() => {
    isLate = true
    cancel(reader)
  }, bodyTimeoutMs)
  try {
    const text = await readAll(reader, maxBodyBytes)
    if (isLate) return json(408, { error: 'the body did not arrive in time' })
    return text ?? tooLarge()
  } catch (error) {
    // A host that enforces its own limits throws an error with a status.
    const { status } = error as { status?: unknown }
    const isOfHost = status === 408 || status === 413
    return json(isOfHost ? status : 400, { error: 'the body could not be read' })
  } finally {
    clearTimeout(timer)
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

/** Undefined if the body is larger than the limit; the rest is not read then. */
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

/** The characters of `__proto__`, each of which JSON can write as an escape. */
const escapedLetters = /\\u00(5f|6f|7[024])/i

/** Undefined for what is not JSON, and for an object with a member `__proto__`: a copy of it would have that prototype. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    // Looked for in the text first: a reviver makes parsing twelve to thirty times slower.
    const mayHavePrototype = text.includes('__proto__') || escapedLetters.test(text)
    return mayHavePrototype && hasPrototypeMember(value) ? undefined : value
  } catch {
    return undefined
  }
}

function hasPrototypeMember(value: unknown): boolean {
  const open: unknown[] = [value]
  for (let one = open.pop(); one !== undefined; one = open.pop()) {
    if (Json.isObject(one) && Object.hasOwn(one, '__proto__')) return true
    if (typeof one === 'object' && one !== null) for (const member of Object.values(one)) open.push(member ?? null)
  }
  return false
}
