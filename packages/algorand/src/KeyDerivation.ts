/** Derives the keys of a wallet from its master key, like the Go daemon. */
import * as platform from '#platform'
import { errors } from './errors.js'
import * as Bytes from './internal/Bytes.js'
import { LatchkeyError } from './LatchkeyError.js'

const masterKeyLength = 32
const maxIndex = 2n ** 63n - 1n

/**
 * Returns the seed of a wallet's key by its index. This is only the expand step of HKDF (RFC 5869): the master key is
 * already uniform, so nothing needs to be extracted, and one block of output suffices. `platform.hkdf` always extracts
 * first and would give different keys.
 *
 * @throws KeyDerivationError with the code `invalid_key_length` or `invalid_key_index`.
 */
export function seed(masterDerivationKey: Uint8Array, index: bigint | number): Uint8Array {
  if (masterDerivationKey.length !== masterKeyLength) {
    throw new KeyDerivationError(
      'invalid_key_length',
      `a master derivation key has ${masterKeyLength} bytes, not ${masterDerivationKey.length}`,
    )
  }
  if (typeof index === 'number' && !Number.isSafeInteger(index)) {
    throw new KeyDerivationError('invalid_key_index', 'a key index must be an integer')
  }
  if (index < 0 || index > maxIndex) {
    throw new KeyDerivationError('invalid_key_index', 'a key index must be between 0 and 2^63 - 1')
  }
  return platform.hmacSha512_256(masterDerivationKey, Bytes.fromUtf8(`AlgorandDeterministicKey-${index}\x01`))
}

/** No key can be derived from these values. */
export class KeyDerivationError extends LatchkeyError<'invalid_key_length' | 'invalid_key_index'> {
  override name = 'KeyDerivationError'

  constructor(code: 'invalid_key_length' | 'invalid_key_index', message: string) {
    super(code, message, { hint: errors[code].hint })
  }
}
