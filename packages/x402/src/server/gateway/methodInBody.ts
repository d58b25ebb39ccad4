/**
 * Finds a member `_method` in the body of a POST, which Rack and Rails, Laravel, Symfony, Spring and others take for the
 * method of the request: in a form, and in a JSON object. Bodies are read while they are forwarded, in a constant amount
 * of memory. A body is broken off before the value, so that the service never gets both.
 */
import type { NodeRequest } from '../adapters/NodeMessage.js'
import { isOverrideParameter } from '../routes/MethodOverride.js'
import { type BodyScanner, hasBody } from './bodies.js'

/** No spelling of `_method` is longer, except with text before or after it that is ignored. */
const maxNameBytes = 64
const maxLineBytes = 4_096

/** The scanner for a request; undefined if services read no members from its body. */
export function scannerFor(request: NodeRequest): BodyScanner | undefined {
  const { method = '', headers } = request
  if (method.toUpperCase() !== 'POST' || !hasBody(request)) return undefined
  const type = headers['content-type'] ?? ''
  const scanners: BodyScanner[] = []
  // Rack reads a body without a type as a form.
  if (/urlencoded/i.test(type) || type.trim() === '') scanners.push(formScanner())
  if (/multipart/i.test(type)) scanners.push(multipartScanner())
  if (/json/i.test(type)) scanners.push(jsonScanner())
  if (scanners.length === 0) return undefined
  return (bytes) => scanners.map((scan) => scan(bytes)).some((isFound) => isFound)
}

/** Whether a body is compressed. Some services decompress it, and the scanner cannot read it. */
export function isEncoded({ headers }: NodeRequest): boolean {
  return !/^\s*(identity)?\s*$/i.test(headers['content-encoding'] ?? '')
}

const code = (character: string): number => character.charCodeAt(0)
const [ampersand, semicolon, equals, quote, backslash, colon] = [...'&;="\\:'].map(code) as [
  number,
  number,
  number,
  number,
  number,
  number,
]

/** Reads the names of a form in the type `application/x-www-form-urlencoded`. */
function formScanner(): BodyScanner {
  /** Undefined within a value, or within a name that is another. */
  let name: number[] | undefined = []
  return (bytes) => {
    for (const byte of bytes) {
      if (byte === ampersand || byte === semicolon) name = []
      else if (name === undefined) continue
      else if (byte === equals) {
        if (isMethod(name)) return true
        name = undefined
      } else if (name.length < maxNameBytes) name.push(byte)
      // Programs ignore spaces before a name, and any text after a NUL.
      else if (isMethod(name) || /^[\s+]|^%[02]/.test(textOf(name))) return true
      else name = undefined
    }
    return false
  }
}

function isMethod(name: readonly number[]): boolean {
  return isOverrideParameter(decoded(textOf(name).replaceAll('+', ' ')))
}

/** Decodes each byte separately: the name that is searched for is ASCII. */
function decoded(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
}

function textOf(bytes: readonly number[]): string {
  return String.fromCharCode(...bytes)
}

/** Reads the members of a JSON object, but not those of objects in it. */
function jsonScanner(): BodyScanner {
  let depth = 0
  let text: number[] | undefined
  let isEscaped = false
  /** The string that has just ended. It is a name if a colon follows. */
  let last: readonly number[] | undefined
  const readString = (byte: number): void => {
    if (byte === quote && !isEscaped) {
      last = text
      text = undefined
      return
    }
    isEscaped = byte === backslash && !isEscaped
    // A longer string has one byte too many, and is another name.
    if (text!.length <= maxNameBytes) text!.push(byte)
  }
  return (bytes) => {
    for (const byte of bytes) {
      if (text !== undefined) {
        readString(byte)
        continue
      }
      if (byte === quote) text = []
      else if (byte === colon && depth === 1 && last !== undefined && isMethodMember(last)) return true
      // { and [, then } and ].
      else if (byte === 0x7b || byte === 0x5b) depth++
      else if (byte === 0x7d || byte === 0x5d) depth--
      if (byte > 0x20) last = undefined
    }
    return false
  }
}

function isMethodMember(string: readonly number[]): boolean {
  if (string.length > maxNameBytes) return false
  try {
    return isOverrideParameter(JSON.parse(`"${textOf(string)}"`) as string)
  } catch {
    return false
  }
}

/**
 * Reads the headers `Content-Disposition` of the parts of a form. Parsers disagree about boundaries, so every line counts
 * that starts with this name, and the lines that continue it.
 */
function multipartScanner(): BodyScanner {
  let line: number[] = []
  let disposition = ''
  return (bytes) => {
    for (const byte of bytes) {
      if (byte !== 0x0d && byte !== 0x0a) {
        if (line.length < maxLineBytes) line.push(byte)
        continue
      }
      const text = textOf(line)
      const isTooLong = line.length === maxLineBytes
      line = []
      if (text === '') continue
      const isContinued = disposition !== '' && /^[ \t]/.test(text)
      if (!isContinued && !/^\s*content-disposition/i.test(text)) {
        disposition = ''
        continue
      }
      disposition = isContinued ? `${disposition}${text}` : text
      if (isTooLong || disposition.length > maxLineBytes || namesMethod(disposition)) return true
    }
    return false
  }
}

/**
 * Whether a parameter of a header `Content-Disposition` may be `_method`, or is written in a form that RFC 7578, section
 * 4.2, forbids: in pieces, or in an encoding of mail.
 */
function namesMethod(disposition: string): boolean {
  if (/(?<!file)name\s*\*|=\?/i.test(disposition)) return true
  const text = decoded(disposition.replace(/\\/g, ''))
  return /(?<![a-z0-9])[_.[]method(?![a-z0-9_])/i.test(text)
}
