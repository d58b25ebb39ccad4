/** The 25-word mnemonic of a key. */
import { errors } from './errors.js'
import * as Hash from './Hash.js'
import { LatchkeyError } from './LatchkeyError.js'
import { english } from './wordlist.js'

const keyLength = 32
const wordCount = 25
const bitsPerWord = 11

/** The 2048 words, each at the index of its value. */
export const wordList: readonly string[] = english.trim().split(/\s+/)
const indices = new Map(wordList.map((word, index) => [word, index]))

/**
 * Returns the 25 words of a 32-byte key or seed: 24 carry the bits, the last is a checksum.
 *
 * @throws MnemonicError with the code `invalid_key_length`.
 */
export function encode(key: Uint8Array): string {
  if (key.length !== keyLength) {
    throw new MnemonicError('invalid_key_length', `a key has ${keyLength} bytes, not ${key.length}`)
  }
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

/**
 * Returns the key of a mnemonic. Extra white space and upper case are accepted. Errors contain positions, never the
 * secret words.
 *
 * @throws MnemonicError with the code `invalid_mnemonic`.
 */
export function decode(text: string): Uint8Array {
  const given = text.trim().toLowerCase().split(/\s+/)
  if (given.length !== wordCount) {
    throw new MnemonicError('invalid_mnemonic', `a mnemonic has ${wordCount} words, not ${given.length}`)
  }
  const values = given.map((word, position) => {
    const index = indices.get(word)
    if (index === undefined) {
      throw new MnemonicError('invalid_mnemonic', `word ${position + 1} of the mnemonic is not in the word list`)
    }
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
  // 24 words hold eight bits more than the key. If any of them were allowed, two mnemonics would represent one key.
  if (buffer !== 0 || values[wordCount - 1] !== checksum(key)) {
    throw new MnemonicError(
      'invalid_mnemonic',
      'the checksum of the mnemonic does not match: a word is wrong or out of place',
    )
  }
  return key
}

function checksum(key: Uint8Array): number {
  const digest = Hash.sha512_256(key)
  return (digest[0]! | (digest[1]! << 8)) & 0x7ff
}

/** The text is not a mnemonic, or the bytes do not have the length of a key. The message never contains the words. */
export class MnemonicError extends LatchkeyError<'invalid_mnemonic' | 'invalid_key_length'> {
  override name = 'MnemonicError'

  constructor(code: 'invalid_mnemonic' | 'invalid_key_length', message: string) {
    super(code, message, { hint: errors[code].hint })
  }
}
