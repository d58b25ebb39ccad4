/** Finds members of JSON objects as `json_ref` does: its scanner accepts more than JSON, its values do not. */
import * as Utf8 from './Utf8.js'

const code = (character: string): number => character.charCodeAt(0)
const [quoteMark, backslash, comma, colon] = [code('"'), code('\\'), code(','), code(':')]
const [openBrace, closeBrace, openBracket, closeBracket] = [code('{'), code('}'), code('['), code(']')]
const literals = ['true', 'false', 'null']

const invalid = 'error while parsing JSON text, invalid json text'

/** Returns the text of each member by its name, or the problem with the text. Bytes after the object are ignored. */
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

/** Decodes a string literal. Returns undefined if it is not JSON. Invalid UTF-8 becomes the replacement character. */
export function decodeString(literal: Uint8Array): string | undefined {
  try {
    const value: unknown = JSON.parse(Utf8.decode(literal))
    return typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\ufffd') : undefined
  } catch {
    return undefined
  }
}

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
    const start = this.position
    if (!this.#skipString()) return undefined
    const name = decodeString(this.#text.subarray(start, this.position))
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
    return this.#skipString() || this.#skipLiteral() || this.#skipNumber() ? false : undefined
  }

  #skipString(): boolean {
    if (this.#text[this.position] !== quoteMark) return false
    for (let position = this.position + 1; position < this.#text.length; position++) {
      if (this.#text[position] === backslash) position++
      else if (this.#text[position] === quoteMark) {
        this.position = position + 1
        return true
      }
    }
    return false
  }

  #skipLiteral(): boolean {
    const literal = literals.find((word) => this.#startsWith(word))
    this.position += literal?.length ?? 0
    return literal !== undefined
  }

  #startsWith(word: string): boolean {
    return [...word].every((character, index) => this.#text[this.position + index] === code(character))
  }

  /** The grammar of numbers is checked when their value is read. */
  #skipNumber(): boolean {
    const start = this.position
    while (!this.isAtEnd && /[-+.0-9eE]/.test(String.fromCharCode(this.#text[this.position]!))) this.position++
    return this.position > start
  }
}
