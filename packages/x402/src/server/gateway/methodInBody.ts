/**
 * Finds a member `_method` in a body, which Rack and Rails, Laravel, Symfony, Spring, Hono and others take for the
 * method of the request, most of them only of a POST: in a form, and in a JSON object. Bodies are read while they are forwarded, in a constant amount
 * of memory. A body is broken off before the value, so that the service never gets both.
 */
import type { NodeRequest } from '../adapters/NodeMessage.js'
import { isOverrideParameter } from '../routes/MethodOverride.js'
import { type BodyScanner, hasBody } from './bodies.js'

/** A longer name is read in pieces that overlap by half of this. No spelling of `_method` is longer than the half. */
const maxNameBytes = 128
/** How much of the head of a part is kept to be read with the rest. */
const maxKeptHead = 256
/** A header of a part with a name in a form that RFC 7578 forbids is found up to this length. */
const maxHeadLength = 4_096

/** The scanner for a request; undefined if services read no members from its body. */
export function scannerFor(request: NodeRequest): BodyScanner | undefined {
  if (!hasBody(request)) return undefined
  const { headers } = request
  const type = headers['content-type'] ?? ''
  const scanners: BodyScanner[] = []
  // Rack reads a body without a type as a form, and one without a boundary, too.
  const hasNoBoundary = /multipart/i.test(type) && !/^multipart\/.*boundary="?[^";,]/i.test(type)
  if (/urlencoded/i.test(type) || type.trim() === '' || hasNoBoundary) scanners.push(formScanner())
  if (/multipart/i.test(type)) scanners.push(multipartScanner())
  // Parsers read reports of browsers as JSON, too.
  if (/json|csp-report/i.test(type)) scanners.push(jsonScanner())
  if (scanners.length === 0) return undefined
  return (bytes) => scanners.map((scan) => scan(bytes)).some((isFound) => isFound)
}

/**
 * The reason why a body cannot be scanned; undefined if it can. Some services decompress a body, or decode it from
 * UTF-16, UTF-7 or EBCDIC, in which the scanner would not see the name.
 */
export function unreadable({ headers }: NodeRequest): 'content_encoding' | 'content_charset' | undefined {
  if (!/^\s*(identity)?\s*$/i.test(headers['content-encoding'] ?? '')) return 'content_encoding'
  // Each search ends at the next `charset`, so that all of them take a time in proportion to the length.
  const charsets = (headers['content-type'] ?? '').matchAll(/charset(?:(?!charset)[^=;,])*=[\s"']*([^\s;,"']*)/gi)
  return [...charsets].every(([, charset]) => likeAscii.test(charset!)) ? undefined : 'content_charset'
}

/** Charsets in which every ASCII character is written as one byte, and no other character as that byte. */
const likeAscii = /^(utf-?8|(us-)?ascii|iso-?8859-?[0-9]{1,2}|latin-?1|windows-125[0-9]|)$/i

const code = (character: string): number => character.charCodeAt(0)
const [ampersand, semicolon, equals, quote, backslash, colon, letter, slash, apostrophe, underscore] = [
  ...`&;="\\:x/'_`,
].map(code) as [number, number, number, number, number, number, number, number, number, number]

/** Reads the names of a form in the type `application/x-www-form-urlencoded`. */
function formScanner(): BodyScanner {
  /** Undefined within a value. */
  let name: number[] | undefined = []
  return (bytes) => {
    for (const byte of bytes) {
      if (byte === ampersand || byte === semicolon) name = []
      else if (name === undefined) continue
      else if (byte === equals) {
        if (isMethod(name)) return true
        name = undefined
      } else if (name.push(byte) === maxNameBytes) {
        if (isMethod(name)) return true
        // A letter stands for what was before: the name does not start here.
        name = [letter, ...name.slice(maxNameBytes / 2)]
      }
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
      // UTF-16 or UTF-32, which some parsers recognize by its zeros. JSON in UTF-8 has none.
      if (byte === 0) return true
      if (text !== undefined) {
        readString(byte)
        continue
      }
      // JSON has none of these outside of strings. Lenient parsers read comments, other quotes, and names without quotes.
      if (byte === slash || byte === apostrophe || byte === underscore) return true
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
  const text = textOf(string)
  try {
    return isOverrideParameter(JSON.parse(`"${text}"`) as string)
  } catch {
    // Ruby reads "\_" as "_".
    return isOverrideParameter(text.replaceAll('\\', ''))
  }
}

/**
 * Reads the headers `Content-Disposition` and `Content-ID` of the parts of a form, from which programs take its name.
 * Parsers disagree about boundaries, the ends of lines and where a header may start, so a head is everything from the
 * name of such a header, wherever it is, to the next empty line.
 */
function multipartScanner(): BodyScanner {
  const end = '\r\n\r\n'
  /** The end of what was read, or the last part of a head. */
  let kept = ''
  /** The length of the head that has begun. */
  let headLength: number | undefined
  return (bytes) => {
    let text = kept + Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    for (;;) {
      if (headLength === undefined) {
        const start = text.search(/content-(disposition|id)/i)
        if (start === -1) {
          kept = text.slice(-32)
          return false
        }
        text = text.slice(start)
        headLength = 0
      }
      const length = text.indexOf(end)
      const head = length === -1 ? text : text.slice(0, length)
      if (namesMethod(head, headLength)) return true
      if (length === -1) {
        const isCut = head.length > maxKeptHead
        headLength += isCut ? head.length - maxKeptHead : 0
        kept = isCut ? `x${head.slice(1 - maxKeptHead)}` : head
        return false
      }
      text = text.slice(length)
      headLength = undefined
    }
  }
}

/**
 * Whether the head of a part, or its next piece, has a name that may be `_method`, or one that is written in a form that
 * RFC 7578, section 4.2, forbids: in pieces, or in an encoding of mail. PHP joins lines without the break.
 */
function namesMethod(head: string, offset: number): boolean {
  if (offset < maxHeadLength && /(?<!file)name\s*\*|=\?/i.test(head)) return true
  const texts = [head, head.replace(/[\r\n]+[ \t]*/g, ''), head.replace(/[\r\n]/g, '')]
  return texts.some((text) => isOverrideParameter(decoded(text.replaceAll('\\', ''))))
}
