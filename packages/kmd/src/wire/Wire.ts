/**
 * The two forms of a response. `reference` is what the Go daemon sends, byte for byte: sorted members, two spaces,
 * base64, no empty members. `documented` follows its documentation: integers for bytes, `error` and `message` always
 * present.
 */
import type { Member, MembersOf, Shape, Wire } from '@latchkey/kmd-api'
import type { KmdError } from '../errors.js'

/** Writes the body of a successful response. */
export function write<const M extends readonly Member[]>(wire: Wire, members: M, output: MembersOf<M>): string {
  const values = output as Record<string, unknown>
  return wire === 'reference' ? writeReference(members, values) : writeDocumented(members, values)
}

const asciiTypes: ReadonlySet<Shape['type']> = new Set(['base64', 'bool', 'uint'] as const)

/** Whether every successful response with these members is ASCII. */
export function isAscii(members: readonly Member[]): boolean {
  return members.every(({ shape }) => asciiTypes.has(shape.type))
}

/** Writes the body of an error response. `refusal` is JSON, as in its header. */
export function writeError(wire: Wire, error: KmdError, refusal?: string): string {
  const message = quoteText(error.message)
  const [pretty, compact] = refusal === undefined ? ['', ''] : [`,\n  "refusal": ${refusal}`, `,"refusal":${refusal}`]
  return wire === 'reference'
    ? `{\n  "error": true,\n  "message": ${message}${pretty}\n}`
    : `{"error":true,"message":${message}${compact}}`
}

function writeDocumented(members: readonly Member[], values: Record<string, unknown>): string {
  // A `message` member replaces the envelope's.
  let text = members.some(isMessage) ? '{"error":false' : '{"error":false,"message":""'
  for (const member of members) {
    if (isWritten(member, values)) text += `,"${member.name}":${compact(member.shape, values[member.name])}`
  }
  return `${text}}`
}

function isWritten({ name, optional }: Member, values: Record<string, unknown>): boolean {
  return optional !== true || values[name] !== undefined
}

const isMessage = ({ name }: Member): boolean => name === 'message'

function compact(shape: Shape, value: unknown): string {
  switch (shape.type) {
    case 'key':
      return `[${Array.from(value as Uint8Array).join(',')}]`
    case 'list': {
      let text = ''
      for (const element of value as unknown[]) text += `${text === '' ? '' : ','}${compact(shape.of, element)}`
      return `[${text}]`
    }
    case 'object': {
      const values = value as Record<string, unknown>
      let text = ''
      for (const member of shape.members) {
        if (!isWritten(member, values)) continue
        text += `${text === '' ? '"' : ',"'}${member.name}":${compact(member.shape, values[member.name])}`
      }
      return `{${text}}`
    }
    default:
      return scalar(shape, value)
  }
}

/** Only the outermost object omits empty members. */
function writeReference(members: readonly Member[], values: Record<string, unknown>): string {
  return pretty(members, values, '', (member) => !isEmpty(values[member.name]))
}

function isEmpty(value: unknown): boolean {
  if (value instanceof Uint8Array) return value.every((byte) => byte === 0)
  if (Array.isArray(value)) return value.length === 0
  return value === undefined || value === false || value === 0 || value === ''
}

/** Builds one growing string, because a list of lines would double the cost of a signature's response. */
function pretty(
  members: readonly Member[],
  values: Record<string, unknown>,
  indent: string,
  isShown = (member: Member): boolean => isWritten(member, values),
): string {
  const inner = `${indent}  `
  let text = ''
  for (const member of sortedByName(members)) {
    if (!isShown(member)) continue
    text += `${text === '' ? '{\n' : ',\n'}${inner}"${member.name}": ${prettyValue(member.shape, values[member.name], inner)}`
  }
  return text === '' ? '{}' : `${text}\n${indent}}`
}

const sortedMembers = new WeakMap<readonly Member[], readonly Member[]>()

/** Sorts once per shape, because a list writes the same members for every element. */
function sortedByName(members: readonly Member[]): readonly Member[] {
  if (members.length === 1) return members
  let sorted = sortedMembers.get(members)
  if (sorted === undefined) {
    sorted = [...members].sort((a, b) => (a.name < b.name ? -1 : 1))
    sortedMembers.set(members, sorted)
  }
  return sorted
}

function prettyValue(shape: Shape, value: unknown, indent: string): string {
  switch (shape.type) {
    case 'key':
      return scalar({ type: 'base64' }, value)
    case 'list': {
      const elements = value as unknown[]
      if (elements.length === 0) return '[]'
      const inner = `${indent}  `
      const lines = elements.map((element) => inner + prettyValue(shape.of, element, inner))
      return `[\n${lines.join(',\n')}\n${indent}]`
    }
    case 'object':
      return pretty(shape.members, value as Record<string, unknown>, indent)
    default:
      return scalar(shape, value)
  }
}

function scalar(
  shape: { type: 'string' | 'text' | 'integer' | 'bool' | 'uint' | 'base64' | 'json' },
  value: unknown,
): string {
  switch (shape.type) {
    case 'json':
      return JSON.stringify(value)
    case 'base64': {
      const bytes = value as Uint8Array
      return `"${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')}"`
    }
    case 'text':
      return quoteText(decodeText(value as Uint8Array))
    case 'string':
    case 'integer':
      return quoteText(value as string)
    default:
      return String(value)
  }
}

/**
 * Text without characters to escape: addresses, ids, numbers, most names. A long list consists almost entirely of
 * these.
 */
const isPlain = /^[ !#-[\]-~]*$/

/** Escapes like the Go daemon: also the two line separators, and U+FFFD for invalid UTF-8. */
function quoteText(text: string): string {
  if (isPlain.test(text)) return `"${text}"`
  const quoted = text
    .split(invalidByte)
    .map((part) => JSON.stringify(part).slice(1, -1))
    .join('\\ufffd')
  return `"${quoted.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}"`
}

/** Valid UTF-8 never decodes to a lone surrogate, so a writer can distinguish it from a character. */
export const invalidByte = '\ud800'

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Decodes a text on this wire: bytes that are usually but not necessarily UTF-8. Invalid bytes become
 * {@link invalidByte}.
 */
export function decodeText(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes)
  } catch {
    return decodeLoosely(bytes)
  }
}

function decodeLoosely(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const length = sequenceLength(bytes[at]!)
    const character = length === 0 ? undefined : decodeOne(bytes.subarray(at, at + length))
    text += character ?? invalidByte
    at += character === undefined ? 1 : length
  }
  return text
}

function decodeOne(sequence: Uint8Array): string | undefined {
  try {
    return strict.decode(sequence)
  } catch {
    return undefined
  }
}

function sequenceLength(first: number): number {
  if (first < 0x80) return 1
  if (first >= 0xc2 && first <= 0xdf) return 2
  if (first >= 0xe0 && first <= 0xef) return 3
  if (first >= 0xf0 && first <= 0xf4) return 4
  return 0
}
