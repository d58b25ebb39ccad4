import { createHmac } from 'node:crypto'

const masterKeyLength = 32
const maxIndex = 2n ** 63n - 1n

/**
 * The seed of the index-th key of a wallet. This is the expand step of HKDF (RFC 5869) alone: the master key is
 * already uniform, so nothing is extracted, and one block of output is all that is needed. `crypto.hkdf` always
 * extracts first and would give other keys.
 */
export function seed(masterDerivationKey: Uint8Array, index: bigint | number): Uint8Array {
  if (masterDerivationKey.length !== masterKeyLength) {
    throw new InvalidError(`a master derivation key has ${masterKeyLength} bytes, not ${masterDerivationKey.length}`)
  }
  if (typeof index === 'number' && !Number.isSafeInteger(index)) throw new InvalidError('a key index is an integer')
  if (index < 0 || index > maxIndex) throw new InvalidError('a key index lies between 0 and 2^63 - 1')
  const info = `AlgorandDeterministicKey-${index}`
  const digest = createHmac('sha512-256', masterDerivationKey).update(`${info}\x01`, 'latin1').digest()
  return new Uint8Array(digest.buffer, digest.byteOffset, digest.byteLength)
}

export class InvalidError extends Error {
  override name = 'KeyDerivation.InvalidError'
}
