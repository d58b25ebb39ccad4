/**
 * Writes responses that hold a secret key as bytes that are wiped after sending. A JavaScript string cannot be wiped
 * and is copied by the garbage collector.
 */

import type { Member, MembersOf, Wire } from '@latchkey/kmd-api'
import { encodeBase64Into } from './JsonLexer.js'
import { write as writeText } from './Wire.js'

/** Whether a response has a secret key. Keys inside lists are public. */
export function hasKey(members: readonly Member[]): boolean {
  return members.some(({ shape }) => shape.type === 'key')
}

/** Like `Wire.write`, for a response with one key. The caller wipes the result and the key. */
export function write(wire: Wire, members: readonly Member[], output: MembersOf<readonly Member[]>): Buffer {
  const values: { [name: string]: unknown } = { ...output }
  const { name } = members.find(({ shape }) => shape.type === 'key')!
  const key = values[name] as Uint8Array
  // Everything except the key is written as text, with a placeholder for the key.
  const open = members.map((member) => (member.name === name ? { name, shape: { type: 'string' } as const } : member))
  values[name] = key.every((byte) => byte === 0) && wire === 'reference' ? '' : place
  const text = writeText(wire, open, values as MembersOf<typeof open>)
  const [before = '', after = ''] = text.split(`"${place}"`)
  const out = Buffer.allocUnsafeSlow(text.length + longestInteger * key.length + 2)
  let length = out.write(before, 'latin1')
  if (before !== text) length = wire === 'reference' ? writeBase64(out, length, key) : writeIntegers(out, length, key)
  length += out.write(after, length, 'latin1')
  return out.subarray(0, length)
}

/** The placeholder, which no text of such a response contains. */
const place = 'KEY'
/** Three digits and a comma. */
const longestInteger = 4
const [quote, openBracket, comma, closeBracket, zero] = [0x22, 0x5b, 0x2c, 0x5d, 0x30] as const

function writeBase64(out: Buffer, start: number, key: Uint8Array): number {
  out[start] = quote
  const end = encodeBase64Into(out, start + 1, key)
  out[end] = quote
  return end + 1
}

function writeIntegers(out: Buffer, start: number, key: Uint8Array): number {
  let at = start
  out[at++] = openBracket
  for (const [index, byte] of key.entries()) {
    if (index > 0) out[at++] = comma
    if (byte >= 100) out[at++] = zero + Math.floor(byte / 100)
    if (byte >= 10) out[at++] = zero + (Math.floor(byte / 10) % 10)
    out[at++] = zero + (byte % 10)
  }
  out[at++] = closeBracket
  return at
}
