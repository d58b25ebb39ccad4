/** The body of a response, as far as a model reads it. */
import { plainText } from './untrusted.js'

export type ReceivedBody = {
  /** Undefined for a body that is not text. */
  readonly text: string | undefined
  /** The media type, without parameters. */
  readonly type: string
  /** How many bytes arrived. */
  readonly bytes: number
  /** Whether the text is only the beginning. */
  readonly isCut: boolean
}

export type BodyLimits = {
  /** How many bytes of a body are read at most. */
  readonly maxBytes: number
  /** How many characters of text are returned at most. */
  readonly maxLength: number
}

/** Reads no further than the limit, however long the body is, also when it is unpacked. */
export async function receiveBody(response: Response, { maxBytes, maxLength }: BodyLimits): Promise<ReceivedBody> {
  const type = plainText(response.headers.get('content-type')?.split(';')[0]?.trim() ?? '', 100)
  const reader = response.body?.getReader()
  const pieces: Uint8Array[] = []
  let bytes = 0
  for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
    pieces.push(read.value)
    bytes += read.value.length
    if (bytes > maxBytes) {
      // The answer has arrived as far as it is wanted.
      await reader?.cancel().catch(() => {})
      break
    }
  }
  const text = decode(Buffer.concat(pieces).subarray(0, maxBytes), bytes > maxBytes)
  if (text === undefined) return { text: undefined, type, bytes, isCut: bytes > maxBytes }
  return { text: plainText(text, maxLength), type, bytes, isCut: bytes > maxBytes || text.length > maxLength }
}

/** Undefined for what is not UTF-8, or has zeros as only binary files have them. */
function decode(bytes: Uint8Array, isCut: boolean): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    // A character may be cut in two.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut })
  } catch {
    return undefined
  }
}
