/** The backup of a wallet: its recovery mnemonic, and the two words asked to verify that it was written down. */
import { Mnemonic } from '@latchkey/algorand'

/** A word to be typed. `position` counts from one. */
export type WordToCheck = { position: number; word: string }

const wordCount = 25

/** Returns the mnemonic of a master derivation key, and overwrites the key. */
export function wordsOf(key: Uint8Array): readonly string[] {
  try {
    return Mnemonic.encode(key).split(' ')
  } finally {
    key.fill(0)
  }
}

/** Two different words, in the order in which they were written down. */
export function wordsToCheck(words: readonly string[], random: () => number = randomShare): readonly WordToCheck[] {
  const first = Math.floor(random() * wordCount)
  const step = 1 + Math.floor(random() * (wordCount - 1))
  const positions = [first, (first + step) % wordCount].toSorted((a, b) => a - b)
  return positions.map((index) => ({ position: index + 1, word: words[index] ?? '' }))
}

/** Returns the positions of the words that were typed incorrectly. */
export function wrongPositions(asked: readonly WordToCheck[], typed: readonly string[]): number[] {
  const isRight = ({ word }: WordToCheck, index: number): boolean => (typed[index] ?? '').trim().toLowerCase() === word
  return asked.filter((one, index) => !isRight(one, index)).map(({ position }) => position)
}

function randomShare(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 32
}
