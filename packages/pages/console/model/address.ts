/** Addresses: a public key and four bytes that tell a mistyped one. */
import { sha512_256 } from '@noble/hashes/sha2.js'
import { concat } from './bytes.js'

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function encode(publicKey: Uint8Array): string {
  return base32(concat([publicKey, checksum(publicKey)]))
}

/** The public key; throws what is wrong, in words for the person who typed it. */
export function decode(address: string): Uint8Array {
  if (address.length !== 58) throw new AddressError(`An address has 58 characters, this has ${address.length}.`)
  const bytes = fromBase32(address)
  const publicKey = bytes.slice(0, 32)
  if (encode(publicKey) !== address) throw new AddressError('This address is mistyped: its checksum does not fit.')
  return publicKey
}

function checksum(publicKey: Uint8Array): Uint8Array {
  return sha512_256(publicKey).slice(-4)
}

function base32(bytes: Uint8Array): string {
  let text = ''
  let held = 0
  let bits = 0
  for (const byte of bytes) {
    held = (held << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += letters[(held >> bits) & 31]
    }
    held &= (1 << bits) - 1
  }
  return bits === 0 ? text : text + letters[(held << (5 - bits)) & 31]
}

function fromBase32(text: string): Uint8Array {
  const bytes: number[] = []
  let held = 0
  let bits = 0
  for (const letter of text) {
    const value = letters.indexOf(letter)
    if (value < 0) throw new AddressError(`An address has only A to Z and 2 to 7, not "${letter}".`)
    held = (held << 5) | value
    bits += 5
    if (bits < 8) continue
    bits -= 8
    bytes.push((held >> bits) & 255)
    held &= (1 << bits) - 1
  }
  return Uint8Array.from(bytes)
}

export class AddressError extends Error {
  override name = 'AddressError'
}
