/** `latchkey key new`: generates the next keys of a wallet. */
import { command, jsonOption, readNumber } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { printJson, printLine } from '../../messages.js'
import { generateKeys, maxKeys } from './generateKeys.js'

export const keyNewCommand = command({
  description: 'Generate keys and print their addresses. Any backup of the wallet restores them, even an earlier one.',
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
