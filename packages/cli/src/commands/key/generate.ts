/** Keys made one after the other, each told as soon as it is there. */
import type { Wallet } from '@latchkey/kmd-client'

export const maxKeys = 10_000

export async function generate(wallet: Wallet, count: number, onKey?: (address: string) => unknown): Promise<string[]> {
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
      process.stderr.write(`${addresses.length} of ${count} keys were made; latchkey key new makes the others.\n`)
    }
    throw error
  }
}
