/** Edits one line from key presses. A terminal in raw mode passes them on uninterpreted. */
import { printable } from './format.js'

const maxCharacters = 4_096

export type LineResult = {
  readonly end: 'entered' | 'interrupted' | 'too-long'
  readonly text: string
  /** The input after the end of the line. */
  readonly rest: string
}

const interrupt = '\u0003'
const endOfInput = '\u0004'
const eraseLine = '\u0015'
const eraseWord = '\u0017'
const escapeKey = '\u001b'
const isErase = (character: string): boolean => character === '\u007f' || character === '\b'
const isControl = (character: string): boolean => character < ' ' || (character >= '\u007f' && character < '\u00a0')

export class LineEditor {
  #characters: string[] = []
  #escape = ''
  #isTooLong = false
  readonly #show: (text: string) => void

  constructor(show: (text: string) => void) {
    this.#show = show
  }

  /** Takes more input and returns the line once it has ended. */
  type(text: string): LineResult | undefined {
    const characters = [...text]
    for (const [index, character] of characters.entries()) {
      if (this.#isEscaped(character)) continue
      if (character === interrupt || (character === endOfInput && this.#characters.length === 0)) {
        return { end: 'interrupted', text: '', rest: '' }
      }
      if (character === '\r' || character === '\n') return this.#finish(characters.slice(index + 1).join(''))
      this.#edit(character)
    }
    return undefined
  }

  #finish(rest: string): LineResult {
    const text = this.#characters.join('')
    this.#characters = []
    return this.#isTooLong ? { end: 'too-long', text: '', rest: '' } : { end: 'entered', text, rest }
  }

  #edit(character: string): void {
    if (isErase(character)) this.#erase(1)
    else if (character === eraseLine) this.#erase(this.#characters.length)
    else if (character === eraseWord) this.#erase(this.#lastWordLength())
    else if (isControl(character)) return
    // A silently truncated line would be a different password than the one typed.
    else if (this.#characters.length >= maxCharacters) this.#isTooLong = true
    else {
      this.#characters.push(character)
      // Pasted text is untrusted.
      this.#show(printable(character))
    }
  }

  /** Ignores escape sequences such as arrow keys, whose characters would end up in a password. */
  #isEscaped(character: string): boolean {
    if (character === escapeKey) {
      this.#escape = escapeKey
      return true
    }
    if (this.#escape === '') return false
    // A control character ends an escape sequence and keeps its own meaning.
    if (isControl(character)) {
      this.#escape = ''
      return false
    }
    this.#escape += character
    const isComplete = /^\u001b(?:[^[O]|O.|\[[0-9;?]*[@-~])$/u.test(this.#escape)
    if (isComplete || this.#escape.length > 16) this.#escape = ''
    return true
  }

  #lastWordLength(): number {
    const isBlank = (character: string): boolean => character === ' '
    const wordEnd = this.#characters.findLastIndex((character) => !isBlank(character))
    return this.#characters.length - 1 - this.#characters.slice(0, wordEnd + 1).findLastIndex(isBlank)
  }

  #erase(count: number): void {
    const erased = this.#characters.splice(Math.max(0, this.#characters.length - count))
    this.#show('\b \b'.repeat(erased.reduce((columns, character) => columns + widthOf(printable(character)), 0)))
  }
}

/** An approximation of the columns that a character takes on the screen. */
function widthOf(character: string): number {
  if (/\p{M}/u.test(character)) return 0
  const isWide =
    /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
  return isWide.test(character) ? 2 : 1
}
