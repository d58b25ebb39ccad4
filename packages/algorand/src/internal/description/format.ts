// Formats values for people. Many come from untrusted sources, so no result may move a cursor, change the direction of
// text or contain invisible characters.
import { decodeUtf8Lossy, encodeBase64 } from '#platform'
import * as Address from '../../Address.js'
import * as Amount from '../../Amount.js'
import * as Bytes from '../Bytes.js'

/** Letters, digits, marks, punctuation, symbols and the plain space; no invisible or blank characters. */
const visible =
  /^(?!\p{Default_Ignorable_Code_Point}|[\u2800\u{1d159}\u{13441}\u{13442}])[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u
const maxShownCharacters = 200
const maxShownBytes = 72

/** The warning for content that this version does not know. */
export const unknownEffect = 'Its effect is unknown: sign it only if you know from another source what it does.'

/** MicroAlgos with thousands separators and their unit. */
export function algos(microAlgos: bigint): string {
  return Amount.formatAlgos(microAlgos)
}

/** A round or a count with thousands separators. */
export function grouped(value: bigint): string {
  return Amount.group(String(value))
}

/** Quotes a text so that it cannot end its quotes, escapes invisible characters, and truncates long text. */
export function quoted(text: string | Uint8Array): string {
  const characters = [...(typeof text === 'string' ? text : decodeUtf8Lossy(text))]
  const shown = characters.slice(0, maxShownCharacters).map(escaped).join('')
  const rest = characters.length - maxShownCharacters
  return rest > 0 ? `"${shown}" and ${rest} more characters` : `"${shown}"`
}

function escaped(character: string): string {
  if (character === '"' || character === '\\') return `\\${character}`
  if (visible.test(character)) return character
  if (character === '\n') return '\\n'
  return `\\u{${character.codePointAt(0)!.toString(16)}}`
}

/** Shows bytes as text if they are text, and otherwise in base64. */
export function textOrBytes(bytes: Uint8Array): string {
  const text = Bytes.toUtf8(bytes)
  const isText = text !== undefined && [...text].every((character) => visible.test(character) || /\s/.test(character))
  return isText ? quoted(text) : `${base64(bytes)} (base64)`
}

export function base64(bytes: Uint8Array): string {
  const shown = encodeBase64(bytes.subarray(0, maxShownBytes))
  const rest = bytes.length - maxShownBytes
  return rest > 0 ? `${shown} and ${rest} more bytes` : shown
}

export const zeroAddress = new Uint8Array(32)

export function address(publicKey: Uint8Array | undefined): string {
  return Address.encode(publicKey ?? zeroAddress)
}

export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

export function list(parts: readonly string[]): string {
  if (parts.length < 2) return parts.join('')
  return `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}
