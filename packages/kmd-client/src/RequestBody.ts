/**
 * Encodes request bodies in the form that every daemon accepts: compact JSON, bytes as base64, absent members omitted.
 */

export type Json = string | number | boolean | readonly Json[] | { readonly [name: string]: Json | undefined }
export type Members = { readonly [name: string]: Json | undefined }

/** Passwords by member name. The encoder copies them as bytes, so no password string stays in memory. */
export type Secrets = { readonly [name: string]: Uint8Array | undefined }

const encoder = new TextEncoder()

/** The caller wipes the result after sending it. */
export function encode(members: Members, secrets: Secrets = {}): Uint8Array<ArrayBuffer> {
  const open = encoder.encode(JSON.stringify(members).slice(0, -1))
  const parts: Uint8Array[] = [open]
  let isFirst = open.length === 1
  for (const [name, bytes] of Object.entries(secrets)) {
    if (bytes === undefined || bytes.length === 0) continue
    parts.push(encoder.encode(`${isFirst ? '' : ','}"${name}":"`), escapeBytes(bytes), encoder.encode('"'))
    isFirst = false
  }
  parts.push(encoder.encode('}'))
  return join(parts)
}

/** `Bytes.concat` is not used, because its results share memory with other arrays. */
function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let offset = 0
  for (const part of parts) {
    body.set(part, offset)
    offset += part.length
    part.fill(0)
  }
  return body
}

const hexDigits = encoder.encode('0123456789abcdef')
const controlPrefix = encoder.encode('\\u00')

/** Escapes bytes as the content of a JSON string. Invalid UTF-8 is kept, because passwords are bytes. */
function escapeBytes(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(bytes.length * 6)
  let length = 0
  for (const byte of bytes) {
    if (byte < 0x20) {
      out.set(controlPrefix, length)
      length += controlPrefix.length
      out[length++] = hexDigits[byte >> 4]!
      out[length++] = hexDigits[byte & 15]!
      continue
    }
    if (byte === 0x22 || byte === 0x5c) out[length++] = 0x5c
    out[length++] = byte
  }
  // The caller wipes the subarray; nothing was written beyond its end.
  return out.subarray(0, length)
}
