import * as Hash from './Hash.js'
import { english } from './wordlist.js'

const keyLength = 32
const wordCount = 25
const bitsPerWord = 11

/** Every word there is, in the order of what they stand for. */
export const wordList: readonly string[] = english.trim().split(/\s+/)
const indices = new Map(wordList.map((word, index) => [word, index]))

/** The 25 words of a 32-byte key or seed: 24 carry the bits, the last is a checksum. */
export function encode(key: Uint8Array): string {
  if (key.length !== keyLength) throw new InvalidError(`a key has ${keyLength} bytes, not ${key.length}`)
  const chosen: string[] = []
  let buffer = 0
  let bits = 0
  for (const byte of key) {
    buffer |= byte << bits
    bits += 8
    if (bits < bitsPerWord) continue
    chosen.push(wordList[buffer & 0x7ff]!)
    buffer >>>= bitsPerWord
    bits -= bitsPerWord
  }
  chosen.push(wordList[buffer]!, wordList[checksum(key)]!)
  return chosen.join(' ')
}

/** The key of a mnemonic. White space and case are forgiven; errors name positions, never the secret words. */
export function decode(text: string): Uint8Array {
  const given = text.trim().toLowerCase().split(/\s+/)
  if (given.length !== wordCount) throw new InvalidError(`a mnemonic has ${wordCount} words, not ${given.length}`)
  const values = given.map((word, position) => {
    const index = indices.get(word)
    if (index === undefined) throw new InvalidError(`word ${position + 1} of the mnemonic is not in the word list`)
    return index
  })
  const key = new Uint8Array(keyLength)
  let buffer = 0
  let bits = 0
  let length = 0
  for (const value of values.slice(0, wordCount - 1)) {
    buffer |= value << bits
    bits += bitsPerWord
    for (; bits >= 8 && length < keyLength; bits -= 8) {
      key[length++] = buffer & 0xff
      buffer >>>= 8
    }
  }
  // 24 words hold eight bits more than the key; with any of them set, two mnemonics would stand for one key.
  if (buffer !== 0 || values[wordCount - 1] !== checksum(key)) {
    throw new InvalidError('the checksum of the mnemonic does not match: a word is wrong or out of place')
  }
  return key
}

function checksum(key: Uint8Array): number {
  const digest = Hash.sha512_256(key)
  return (digest[0]! | (digest[1]! << 8)) & 0x7ff
}

export class InvalidError extends Error {
  override name = 'Mnemonic.InvalidError'
}
