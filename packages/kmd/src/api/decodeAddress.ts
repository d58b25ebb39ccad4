import { Address } from '@latchkey/algorand'
import { KmdError } from '../errors.js'

/**
 * Returns the public key of an address in a request.
 *
 * @throws {@link KmdError} `bad_address`.
 */
export function decodeAddress(text: string): Uint8Array {
  try {
    return Address.decode(text)
  } catch (error) {
    throw new KmdError('bad_address', { cause: error })
  }
}
