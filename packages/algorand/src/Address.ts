/** Algorand addresses: a public key and its checksum as 58 characters. */
import { errors } from './errors.js'
import * as Hash from './Hash.js'
import * as Bytes from './internal/Bytes.js'
import { LatchkeyError } from './LatchkeyError.js'

const publicKeyLength = 32
const checksumLength = 4
const textLength = 58

/**
 * The address of a public key, or of any other 32 bytes that name an account.
 *
 * @throws AddressError with the code `invalid_key_length`.
 */
export function encode(publicKey: Uint8Array): string {
  if (publicKey.length !== publicKeyLength) {
    throw new AddressError('invalid_key_length', `a public key has ${publicKeyLength} bytes, not ${publicKey.length}`)
  }
  const bytes = new Uint8Array(publicKeyLength + checksumLength)
  bytes.set(publicKey)
  const digest = Hash.sha512_256(publicKey)
  for (let index = 0; index < checksumLength; index++) {
    bytes[publicKeyLength + index] = digest[digest.length - checksumLength + index]!
  }
  return Bytes.toBase32(bytes)
}

/**
 * Returns the public key of an address. Only the canonical spelling is accepted.
 *
 * @throws AddressError with the code `invalid_address`.
 */
export function decode(text: string): Uint8Array {
  if (text.length !== textLength) {
    throw new AddressError('invalid_address', `an address has ${textLength} characters, not ${text.length}`)
  }
  const bytes = Bytes.fromBase32(text)
  if (bytes === undefined) throw new AddressError('invalid_address', 'an address is written in upper-case base32')
  const publicKey = bytes.slice(0, publicKeyLength)
  const digest = Hash.sha512_256(publicKey)
  for (let index = 0; index < checksumLength; index++) {
    if (bytes[publicKeyLength + index] !== digest[digest.length - checksumLength + index]) {
      throw new AddressError('invalid_address', 'the checksum of the address does not match')
    }
  }
  return publicKey
}

/** Whether {@link decode} accepts the text. */
export function isValid(text: string): boolean {
  try {
    decode(text)
    return true
  } catch (error) {
    if (error instanceof AddressError) return false
    throw error
  }
}

/** The text is not an address, or the bytes do not form one. */
export class AddressError extends LatchkeyError<'invalid_address' | 'invalid_key_length'> {
  override name = 'AddressError'

  constructor(code: 'invalid_address' | 'invalid_key_length', message: string) {
    super(code, message, { hint: errors[code].hint })
  }
}
