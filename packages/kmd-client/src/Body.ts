/** Request bodies, in the one form that every daemon reads: compact JSON, bytes as base64, nothing that is absent. */

export type Json = string | number | boolean | readonly Json[] | { readonly [name: string]: Json | undefined }
export type Members = { readonly [name: string]: Json | undefined }

/** Passwords, by member name. They are written from bytes to bytes, so that no string of them is left behind. */
export type Secrets = { readonly [name: string]: Uint8Array | undefined }

/** Wipe it when it was sent. */
export function write(members: Members, secrets: Secrets = {}): Buffer {
  const present = Object.entries(secrets).filter((entry): entry is [string, Uint8Array] => (entry[1]?.length ?? 0) > 0)
  const open = Buffer.from(JSON.stringify(members).slice(0, -1))
  if (present.length === 0) return Buffer.concat([open, Buffer.from('}')])
  const parts: Uint8Array[] = [open]
  let isFirst = open.length === 1
  for (const [name, bytes] of present) {
    parts.push(Buffer.from(`${isFirst ? '' : ','}"${name}":"`), escapeText(bytes), Buffer.from('"'))
    isFirst = false
  }
  parts.push(Buffer.from('}'))
  const body = Buffer.concat(parts)
  for (const part of parts) part.fill(0)
  return body
}

/** Standard base64. */
export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
}

const hexDigits = Buffer.from('0123456789abcdef')

/** Any bytes as the inside of a JSON string; those that are no UTF-8 go as they are, because passwords are bytes. */
function escapeText(bytes: Uint8Array): Uint8Array {
  const out = Buffer.alloc(bytes.length * 6)
  let length = 0
  for (const byte of bytes) {
    if (byte < 0x20) {
      length += out.write('\\u00', length, 'latin1')
      out[length++] = hexDigits[byte >> 4]!
      out[length++] = hexDigits[byte & 15]!
      continue
    }
    if (byte === 0x22 || byte === 0x5c) out[length++] = 0x5c
    out[length++] = byte
  }
  return out.subarray(0, length)
}
