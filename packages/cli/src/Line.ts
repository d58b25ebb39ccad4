/** One line as it grows under the keys. A terminal in raw mode leaves it to us what they mean. */

const maxLetters = 4_096

export type Typed = {
  readonly end: 'entered' | 'interrupted' | 'overlong'
  readonly text: string
  /** What came after the end of the line. */
  readonly rest: string
}

const interrupt = '\u0003'
const endOfInput = '\u0004'
const eraseLine = '\u0015'
const eraseWord = '\u0017'
const escapeKey = '\u001b'
const isErase = (letter: string): boolean => letter === '\u007f' || letter === '\b'
const isControl = (letter: string): boolean => letter < ' ' || (letter >= '\u007f' && letter < '\u00a0')

export class Line {
  #letters: string[] = []
  #escape = ''
  #isOverlong = false
  readonly #show: (text: string) => void

  constructor(show: (text: string) => void) {
    this.#show = show
  }

  /** The line, once it has ended. */
  type(text: string): Typed | undefined {
    const letters = [...text]
    for (const [index, letter] of letters.entries()) {
      if (this.#isEscaped(letter)) continue
      if (letter === interrupt || (letter === endOfInput && this.#letters.length === 0)) {
        return { end: 'interrupted', text: '', rest: '' }
      }
      if (letter === '\r' || letter === '\n') return this.#finish(letters.slice(index + 1).join(''))
      this.#edit(letter)
    }
    return undefined
  }

  #finish(rest: string): Typed {
    const text = this.#letters.join('')
    this.#letters = []
    return this.#isOverlong ? { end: 'overlong', text: '', rest: '' } : { end: 'entered', text, rest }
  }

  #edit(letter: string): void {
    if (isErase(letter)) this.#erase(1)
    else if (letter === eraseLine) this.#erase(this.#letters.length)
    else if (letter === eraseWord) this.#erase(this.#lastWordLength())
    else if (isControl(letter)) return
    // A line that is cut short unseen would be another password than the one that was typed.
    else if (this.#letters.length >= maxLetters) this.#isOverlong = true
    else {
      this.#letters.push(letter)
      this.#show(letter)
    }
  }

  /** Arrow keys and their like do nothing, instead of leaving their letters in a password. */
  #isEscaped(letter: string): boolean {
    if (letter === escapeKey) {
      this.#escape = escapeKey
      return true
    }
    if (this.#escape === '') return false
    // Escape and then Enter, or Ctrl-C, is what it would be without the Escape.
    if (isControl(letter)) {
      this.#escape = ''
      return false
    }
    this.#escape += letter
    const isWhole = /^\u001b(?:[^[O]|O.|\[[0-9;?]*[@-~])$/u.test(this.#escape)
    if (isWhole || this.#escape.length > 16) this.#escape = ''
    return true
  }

  #lastWordLength(): number {
    const isBlank = (letter: string): boolean => letter === ' '
    const wordEnd = this.#letters.findLastIndex((letter) => !isBlank(letter))
    return this.#letters.length - 1 - this.#letters.slice(0, wordEnd + 1).findLastIndex(isBlank)
  }

  #erase(count: number): void {
    const erased = this.#letters.splice(Math.max(0, this.#letters.length - count))
    this.#show('\b \b'.repeat(erased.reduce((columns, letter) => columns + widthOf(letter), 0)))
  }
}

/** Columns on the screen, near enough. */
function widthOf(letter: string): number {
  if (/\p{M}/u.test(letter)) return 0
  const isWide =
    /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
  return isWide.test(letter) ? 2 : 1
}
