/** Finds the keys of a wallet that are derived from its master derivation key, which its backup restores. */
import { Address, Ed25519, KeyDerivation } from '@latchkey/algorand'

/**
 * How many consecutive indexes may be unused because their keys were deleted. Searching that many takes milliseconds. A
 * key beyond the gap counts as imported, which errs on the side of keeping it.
 */
const maxGap = 5_000
const firstIndex = 1

/** Returns the derivation index of each generated address, starting at 1. Imported addresses are not included. */
export function derivationIndexes(masterDerivationKey: Uint8Array, addresses: readonly string[]): Map<string, number> {
  const missing = new Set(addresses)
  const found = new Map<string, number>()
  let last = firstIndex - 1
  for (let index = firstIndex; missing.size > 0 && index <= last + maxGap; index++) {
    const seed = KeyDerivation.seed(masterDerivationKey, index)
    const address = Address.encode(Ed25519.publicKey(seed))
    seed.fill(0)
    if (!missing.delete(address)) continue
    found.set(address, index)
    last = index
  }
  return found
}
