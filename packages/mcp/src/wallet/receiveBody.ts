/** Reads the part of a response body that a model receives. */
import { plainText } from './untrusted.js'

export type ReceivedBody = {
  /** Undefined for a body that is not text. */
  readonly text: string | undefined
  /** The media type, without parameters. */
  readonly type: string
  /** The number of bytes that arrived. */
  readonly bytes: number
  /** Whether the text is only the beginning of the body. */
  readonly isCut: boolean
}

export type BodyLimits = {
  /** The maximum number of bytes read from a body. */
  readonly maxBytes: number
  /** The maximum number of characters of text returned. */
  readonly maxLength: number
}

/** Never reads beyond the limit, which also applies to a decompressed body. */
export async function receiveBody(response: Response, { maxBytes, maxLength }: BodyLimits): Promise<ReceivedBody> {
  const type = plainText(response.headers.get('content-type')?.split(';')[0]?.trim() ?? '', 100)
  const reader = response.body?.getReader()
  const pieces: Uint8Array[] = []
  let bytes = 0
  for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
    pieces.push(read.value)
    bytes += read.value.length
    if (bytes > maxBytes) {
      // Enough of the body has arrived.
      await reader?.cancel().catch(() => {})
      break
    }
  }
  const text = decode(Buffer.concat(pieces).subarray(0, maxBytes), bytes > maxBytes)
  if (text === undefined) return { text: undefined, type, bytes, isCut: bytes > maxBytes }
  return { text: plainText(text, maxLength), type, bytes, isCut: bytes > maxBytes || text.length > maxLength }
}

/** Returns undefined for data that is not UTF-8, or that contains zeros as only binary files do. */
function decode(bytes: Uint8Array, isCut: boolean): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    // The cut may split a character.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut })
  } catch {
    return undefined
  }
}
