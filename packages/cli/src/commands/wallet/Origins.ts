/** Which keys of a wallet come from its master derivation key, so that its backup brings them back. */
import { Address, Ed25519, KeyDerivation } from '@latchkey/algorand'

/**
 * How many places in a row may be empty: keys that were deleted leave theirs. Some milliseconds of work. A key further
 * out would be taken for an imported one, which errs on the side of keeping it.
 */
const longestGap = 5_000
const firstPlace = 1

/** Each generated address and its place in the order of generation, from 1; imported ones are not among them. */
export function places(masterDerivationKey: Uint8Array, addresses: readonly string[]): Map<string, number> {
  const missing = new Set(addresses)
  const found = new Map<string, number>()
  let last = firstPlace - 1
  for (let place = firstPlace; missing.size > 0 && place <= last + longestGap; place++) {
    const seed = KeyDerivation.seed(masterDerivationKey, place)
    const address = Address.encode(Ed25519.publicKey(seed))
    seed.fill(0)
    if (!missing.delete(address)) continue
    found.set(address, place)
    last = place
  }
  return found
}
