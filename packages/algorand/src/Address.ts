import * as Hash from './Hash.js'
import * as Base32 from './internal/Base32.js'

const publicKeyLength = 32
const checksumLength = 4
const textLength = 58

export function encode(publicKey: Uint8Array): string {
  if (publicKey.length !== publicKeyLength) {
    throw new InvalidError(`a public key has ${publicKeyLength} bytes, not ${publicKey.length}`)
  }
  const bytes = new Uint8Array(publicKeyLength + checksumLength)
  bytes.set(publicKey)
  const digest = Hash.sha512_256(publicKey)
  for (let index = 0; index < checksumLength; index++) {
    bytes[publicKeyLength + index] = digest[digest.length - checksumLength + index]!
  }
  return Base32.encode(bytes)
}

/** The public key of an address. Only the one canonical spelling is read. */
export function decode(text: string): Uint8Array {
  if (text.length !== textLength) {
    throw new InvalidError(`an address has ${textLength} characters, not ${text.length}`)
  }
  const bytes = Base32.decode(text)
  if (bytes === undefined) throw new InvalidError('an address is written in upper-case base32')
  const publicKey = bytes.slice(0, publicKeyLength)
  const digest = Hash.sha512_256(publicKey)
  for (let index = 0; index < checksumLength; index++) {
    if (bytes[publicKeyLength + index] !== digest[digest.length - checksumLength + index]) {
      throw new InvalidError('the checksum of the address does not match')
    }
  }
  return publicKey
}

export function isValid(text: string): boolean {
  try {
    decode(text)
    return true
  } catch (error) {
    if (error instanceof InvalidError) return false
    throw error
  }
}

export class InvalidError extends Error {
  override name = 'Address.InvalidError'
}
