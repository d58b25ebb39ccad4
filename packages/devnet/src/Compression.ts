/** Compresses large responses for clients that accept it. */
import { promisify } from 'node:util'
import { constants, gzip as gzipInBackground, gzipSync } from 'node:zlib'
import { dropConnection, type RawAnswer, type RawRequest, type RawResponse } from '@latchkey/http'

/** Below this size compression takes longer than it saves, even on a slow network. */
const minBytes = 8 * 1024
/** Larger bodies are compressed on another thread, so that no other request waits. */
const maxBytesAtOnce = 64 * 1024
const options = { level: constants.Z_BEST_SPEED }
const inBackground = promisify(gzipInBackground) as (body: Uint8Array, options: object) => Promise<Buffer>

/** Returns the same response in gzip, if the request accepts that and it is worthwhile. */
export function compress(response: RawAnswer, request: RawRequest): RawAnswer | Promise<RawAnswer> {
  if (response === dropConnection || !isLarge(response.body) || hasEncoding(response)) return response
  const varying = { ...response, headers: [...response.headers, 'Vary', 'Accept-Encoding'] }
  if (!acceptsGzip(request.header('accept-encoding'))) return varying
  const body = typeof response.body === 'string' ? Buffer.from(response.body) : response.body
  if (body.length <= maxBytesAtOnce) return encoded(varying, gzipSync(body, options))
  return inBackground(body, options).then((compressed) => encoded(varying, compressed))
}

/** A character has at least one byte. */
function isLarge(body: RawResponse['body']): boolean {
  return body.length >= minBytes
}

function hasEncoding({ headers }: RawResponse): boolean {
  return headers.some((name, index) => index % 2 === 0 && name.toLowerCase() === 'content-encoding')
}

/** The client does not accept a coding with the weight 0 (RFC 9110, 12.4.2). */
function acceptsGzip(header: string | undefined): boolean {
  if (header === undefined) return false
  return header.split(',').some((part) => {
    const [coding = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    const isRefused = parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter))
    return (coding === 'gzip' || coding === 'x-gzip' || coding === '*') && !isRefused
  })
}

function encoded(response: RawResponse, body: Uint8Array): RawResponse {
  return { ...response, headers: [...response.headers, 'Content-Encoding', 'gzip'], body }
}
