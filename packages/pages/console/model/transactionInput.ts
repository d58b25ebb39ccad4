/** Reads transactions that people paste or open from a file. */
import { Bytes } from '@latchkey/algorand'
import { ConsoleError } from '../errors.js'

/** Decodes one or more base64 strings, which may be separated by whitespace, quotes, commas or brackets. */
export function fromText(text: string): Uint8Array {
  const parts = text.replace(/[\s"',[\]]+/g, '').match(/[^=]+={0,2}/g) ?? []
  if (parts.length === 0) throw new ConsoleError('not_base64')
  return Bytes.concat(parts.map(fromBase64))
}

/** Reads a file as binary if it starts like a MessagePack map, and otherwise as base64. */
export function fromFile(bytes: Uint8Array): Uint8Array {
  const first = bytes[0] ?? 0
  const isMap = (first >= 0x80 && first <= 0x8f) || first === 0xde || first === 0xdf
  return isMap ? bytes : fromText(new TextDecoder().decode(bytes))
}

/** Accepts both alphabets, with and without padding: tools differ. */
function fromBase64(text: string): Uint8Array {
  const bytes = Bytes.fromBase64Url(text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''))
  if (bytes === undefined) throw new ConsoleError('not_base64')
  return bytes
}
