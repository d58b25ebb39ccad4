/** Finds members of JSON objects as `json_ref` does: its scanner accepts more than JSON, its values do not. */
import { Bytes } from '@latchkey/algorand'

const code = (character: string): number => character.charCodeAt(0)
const [quoteMark, backslash, comma, colon] = [code('"'), code('\\'), code(','), code(':')]
const [openBrace, closeBrace, openBracket, closeBracket] = [code('{'), code('}'), code('['), code(']')]
const literals = ['true', 'false', 'null']
const hexDigits = 4

const invalid = 'error while parsing JSON text, invalid json text'

/**
 * Returns the text of each member by its name, or the problem with the text. Bytes after the object are ignored. A
 * character of a name is a byte, so that names that are not UTF-8 stay different.
 */
export function members(text: Uint8Array): ReadonlyMap<string, Uint8Array> | string {
  const scanner = new Scanner(text)
  scanner.skipSpace()
  if (scanner.isAtEnd || scanner.isBadNull) return invalid
  if (!scanner.take(openBrace)) return `${invalid}, only json object is allowed`
  const found = new Map<string, Uint8Array>()
  scanner.skipSpace()
  if (scanner.take(closeBrace)) return found
  do {
    const name = scanner.name()
    if (name === undefined) return invalid
    scanner.skipSpace()
    const start = scanner.position
    if (!scanner.skipValue()) return invalid
    if (found.has(name)) return `${invalid}, duplicate keys not allowed`
    found.set(name, text.subarray(start, scanner.position))
    scanner.skipSpace()
  } while (scanner.take(comma))
  return scanner.take(closeBrace) ? found : invalid
}

/** The characters that an escape sequence stands for. The scanner permits an escaped apostrophe, JSON does not. */
const escapes: { readonly [character: string]: string } = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  "'": "'",
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

/** The UTF-8 of the replacement character. */
const replacement = '\xef\xbf\xbd'

class Scanner {
  readonly #text: Uint8Array
  position = 0

  constructor(text: Uint8Array) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.position >= this.#text.length
  }

  /** Whether the text begins like null, but is another word. */
  get isBadNull(): boolean {
    return this.#text[this.position] === code('n') && !this.#startsWith('null')
  }

  skipSpace(): void {
    while ([0x20, 0x09, 0x0a, 0x0d].includes(this.#text[this.position]!)) this.position++
  }

  take(byte: number): boolean {
    if (this.#text[this.position] !== byte) return false
    this.position++
    return true
  }

  /** Reads the name of a member and the colon after it. */
  name(): string | undefined {
    this.skipSpace()
    const name = this.#string()
    this.skipSpace()
    return this.take(colon) ? name : undefined
  }

  /** Skips a value of any depth without recursion. */
  skipValue(): boolean {
    const closers: number[] = []
    for (;;) {
      this.skipSpace()
      const isOpened = this.#skipOpening(closers)
      if (isOpened === undefined) return false
      if (isOpened) continue
      for (;;) {
        const closer = closers.at(-1)
        if (closer === undefined) return true
        this.skipSpace()
        if (this.take(comma)) {
          if (closer === closeBrace && this.name() === undefined) return false
          break
        }
        if (!this.take(closer)) return false
        closers.pop()
      }
    }
  }

  /** Skips a scalar or an empty container (false), or the start of a container (true). */
  #skipOpening(closers: number[]): boolean | undefined {
    if (this.take(openBrace)) {
      this.skipSpace()
      if (this.take(closeBrace)) return false
      closers.push(closeBrace)
      return this.name() === undefined ? undefined : true
    }
    if (this.take(openBracket)) {
      this.skipSpace()
      if (this.take(closeBracket)) return false
      closers.push(closeBracket)
      return true
    }
    return this.#string() !== undefined || this.#skipLiteral() || this.#skipNumber() ? false : undefined
  }

  /** Reads a string as bytes, or returns undefined if there is none. Its characters are not checked, its escapes are. */
  #string(): string | undefined {
    const text = this.#text
    if (text[this.position] !== quoteMark) return undefined
    let value = ''
    for (let position = this.position + 1; position < text.length; position++) {
      const byte = text[position]!
      if (byte === quoteMark) {
        this.position = position + 1
        return value
      }
      if (byte !== backslash) {
        value += String.fromCharCode(byte)
        continue
      }
      position++
      if (text[position] === code('u')) {
        const unit = this.#codeUnit(position - 1)
        if (unit === undefined) return undefined
        position += hexDigits
        // A surrogate takes the escape sequence behind it along, whatever that stands for.
        const isPaired = isSurrogate(unit) && this.#codeUnit(position + 1) !== undefined
        if (isPaired) position += hexDigits + 2
        value += isSurrogate(unit) ? replacement : utf8Of(unit)
        continue
      }
      const character = escapes[String.fromCharCode(text[position] ?? 0)]
      if (character === undefined) return undefined
      value += character
    }
    return undefined
  }

  /** The code unit of `\\uXXXX` at a position. Anything but hexadecimal digits stands for the replacement character. */
  #codeUnit(position: number): number | undefined {
    if (this.#text[position] !== backslash || this.#text[position + 1] !== code('u')) return undefined
    const digits = this.#text.subarray(position + 2, position + 2 + hexDigits)
    if (digits.length < hexDigits || digits.includes(quoteMark)) return undefined
    const text = String.fromCharCode(...digits)
    return /^[\da-fA-F]+$/.test(text) ? Number.parseInt(text, 16) : 0xfffd
  }

  #skipLiteral(): boolean {
    const literal = literals.find((word) => this.#startsWith(word))
    this.position += literal?.length ?? 0
    return literal !== undefined
  }

  #startsWith(word: string): boolean {
    return [...word].every((character, index) => this.#text[this.position + index] === code(character))
  }

  /** Takes what a float can be read from, or a sign alone. The grammar of JSON is checked when the value is read. */
  #skipNumber(): boolean {
    const start = this.position
    let text = ''
    for (; !this.isAtEnd; this.position++) {
      const character = String.fromCharCode(this.#text[this.position]!)
      if (!/[-+.0-9eE]/.test(character)) break
      text += character
    }
    if (text === '+' || text === '-') return true
    const isNumber = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$/.test(text) && Number.isFinite(Number(text))
    if (!isNumber) this.position = start
    return isNumber
  }
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff
}

function utf8Of(unit: number): string {
  return String.fromCharCode(...Bytes.fromUtf8(String.fromCharCode(unit)))
}
