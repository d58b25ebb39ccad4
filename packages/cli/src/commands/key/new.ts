/** `latchkey key new`: generates the next keys of a wallet. */
import type { Wallet } from '@latchkey/kmd-client'
import { command, jsonOption, readNumber } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { printJson, printLine, printMessage } from '../../messages.js'

export const maxKeys = 10_000

export const keyNewCommand = command({
  description:
    'Generate keys and print their addresses. Any backup of the wallet, even an earlier one, restores these keys.',
  options: {
    count: { type: 'string', short: 'n', placeholder: 'COUNT', description: 'number of keys (1)' },
    ...walletOptions,
    ...jsonOption,
  },
  examples: ['latchkey key new', 'latchkey key new -n 5 --wallet savings'],
  exits: ['unreachable', 'password', 'interrupted'],
  run: ({ options }) => {
    const count = readNumber('--count', options.count, 1, maxKeys) ?? 1
    return withWallet(options, async ({ wallet }) => {
      const addresses = await generateKeys(wallet, count, options.json ? undefined : printLine)
      if (options.json) {
        printJson({ wallet: { id: wallet.id, name: wallet.name }, addresses })
      }
      return exitCodes.ok
    })
  },
})

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
