/** Checks JSON as the standard library of Go does, in its words. */
import { quoteCharacter } from './quote.js'

/** Where the next character is read. */
type Place =
  | { readonly kind: 'value' | 'firstElement' | 'key' | 'firstKey' | 'colon' | 'afterMember' | 'afterElement' | 'end' }
  | { readonly kind: 'string'; readonly isKey: boolean }

const space = /[ \t\r\n]/
const number = /^-?(?:(?:0|[1-9]\d*)(?:\.(?:\d+(?:[eE](?:[-+]?\d*)?)?)?|[eE](?:[-+]?\d*)?)?)?/
const words: { readonly [first: string]: string } = { t: 'true', f: 'false', n: 'null' }

const places: { readonly [kind: string]: string } = {
  value: 'looking for beginning of value',
  firstElement: 'looking for beginning of value',
  key: 'looking for beginning of object key string',
  firstKey: 'looking for beginning of object key string',
  colon: 'after object key',
  afterMember: 'after object key:value pair',
  afterElement: 'after array element',
  end: 'after top-level value',
}

/**
 * Returns the problem with a text whose characters are bytes, or undefined.
 *
 * @example
 * problemWith('[1 2]') // "invalid character '2' after array element"
 */
export function problemWith(text: string): string | undefined {
  return new Checker(text).check()
}

class Checker {
  readonly #text: string
  readonly #open: ('{' | '[')[] = []
  #position = 0
  #place: Place = { kind: 'value' }

  constructor(text: string) {
    this.#text = text
  }

  check(): string | undefined {
    for (;;) {
      while (this.#place.kind !== 'string' && space.test(this.#next)) this.#position++
      if (this.#place.kind === 'end' && this.#position >= this.#text.length) return undefined
      const problem = this.#step()
      if (problem !== undefined) return problem
    }
  }

  get #next(): string {
    return this.#text[this.#position] ?? ''
  }

  #invalid(place: string): string {
    const next = this.#next
    return next === '' ? 'unexpected end of JSON input' : `invalid character ${quoteCharacter(next)} ${place}`
  }

  #step(): string | undefined {
    const place = this.#place
    const next = this.#next
    switch (place.kind) {
      case 'string':
        return this.#string(place.isKey)
      case 'firstElement':
        if (next === ']') return this.#close()
        return this.#value()
      case 'value':
        return this.#value()
      case 'firstKey':
        if (next === '}') return this.#close()
        return this.#key()
      case 'key':
        return this.#key()
      case 'colon':
        return this.#advance(':', { kind: 'value' })
      case 'afterMember':
        if (next === '}') return this.#close()
        return this.#advance(',', { kind: 'key' })
      case 'afterElement':
        if (next === ']') return this.#close()
        return this.#advance(',', { kind: 'value' })
      default:
        return this.#invalid(places[place.kind]!)
    }
  }

  #advance(expected: string, place: Place): string | undefined {
    if (this.#next !== expected) return this.#invalid(places[this.#place.kind]!)
    this.#position++
    this.#place = place
    return undefined
  }

  #key(): string | undefined {
    return this.#advance('"', { kind: 'string', isKey: true })
  }

  #close(): undefined {
    this.#position++
    this.#open.pop()
    this.#endValue()
  }

  #endValue(): undefined {
    const container = this.#open.at(-1)
    if (container === undefined) this.#place = { kind: 'end' }
    else this.#place = { kind: container === '{' ? 'afterMember' : 'afterElement' }
  }

  #value(): string | undefined {
    const next = this.#next
    if (next === '{' || next === '[') {
      this.#open.push(next)
      return this.#advance(next, { kind: next === '{' ? 'firstKey' : 'firstElement' })
    }
    if (next === '"') return this.#advance(next, { kind: 'string', isKey: false })
    if (/[-\d]/.test(next)) return this.#number()
    const word = words[next]
    return word === undefined ? this.#invalid(places['value']!) : this.#word(word)
  }

  #word(word: string): string | undefined {
    for (const character of word) {
      if (this.#next !== character) return this.#invalid(`in literal ${word} (expecting '${character}')`)
      this.#position++
    }
    return this.#endValue()
  }

  #number(): string | undefined {
    const [valid] = number.exec(this.#text.slice(this.#position))!
    this.#position += valid.length
    if (/\d$/.test(valid)) return this.#endValue()
    // The checker of Go reads a space behind the last character.
    const next = this.#next === '' ? ' ' : this.#next
    return `invalid character ${quoteCharacter(next)} ${placeAfter(valid)}`
  }

  #string(isKey: boolean): string | undefined {
    for (;;) {
      const next = this.#next
      if (next === '' || next < ' ') return this.#invalid('in string literal')
      this.#position++
      if (next === '"') {
        if (!isKey) return this.#endValue()
        this.#place = { kind: 'colon' }
        return undefined
      }
      const problem = next === '\\' ? this.#escape() : undefined
      if (problem !== undefined) return problem
    }
  }

  #escape(): string | undefined {
    const next = this.#next
    if (!/["\\/bfnrtu]/.test(next)) return this.#invalid('in string escape code')
    this.#position++
    for (let count = 0; next === 'u' && count < 4; count++) {
      if (!/[\da-fA-F]/.test(this.#next)) return this.#invalid('in \\u hexadecimal character escape')
      this.#position++
    }
    return undefined
  }
}

function placeAfter(valid: string): string {
  if (valid.endsWith('.')) return 'after decimal point in numeric literal'
  return valid === '-' ? 'in numeric literal' : 'in exponent of numeric literal'
}
