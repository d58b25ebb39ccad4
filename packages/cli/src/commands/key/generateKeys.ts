import type { Wallet } from '@latchkey/kmd-client'
import { printMessage } from '../../messages.js'

export const maxKeys = 10_000

/** Generates keys one after the other, and calls `onKey` with the address of each. */
export async function generateKeys(
  wallet: Wallet,
  count: number,
  onKey?: (address: string) => unknown,
): Promise<string[]> {
  const addresses: string[] = []
  try {
    while (addresses.length < count) {
      const address = await wallet.generateKey()
      addresses.push(address)
      onKey?.(address)
    }
    return addresses
  } catch (error) {
    if (addresses.length > 0) {
      printMessage(`Generated ${addresses.length} of ${count} keys; run latchkey key new for the others.`)
    }
    throw error
  }
}
