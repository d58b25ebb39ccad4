/** `latchkey key new`: the next keys of a wallet. */
import { command, jsonOption, readNumber } from '../../Command.js'
import { walletOptions, withWallet } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { generate, maxKeys } from './generate.js'

export const keyNewCommand = command({
  text: "Generates keys and prints their addresses. The wallet's backup brings them back, also if it was made before.",
  options: {
    count: { type: 'string', short: 'n', value: 'COUNT', about: 'how many (1)' },
    ...walletOptions,
    ...jsonOption,
  },
  examples: ['latchkey key new', 'latchkey key new -n 5 --wallet savings'],
  ends: ['unreachable', 'password', 'interrupted'],
  run: ({ options }) => {
    const count = readNumber('--count', options.count, 1, maxKeys) ?? 1
    return withWallet(options, async ({ wallet }) => {
      const print = (address: string) => process.stdout.write(`${address}\n`)
      const addresses = await generate(wallet, count, options.json ? undefined : print)
      if (options.json) {
        process.stdout.write(`${JSON.stringify({ wallet: { id: wallet.id, name: wallet.name }, addresses })}\n`)
      }
      return exitCodes.ok
    })
  },
})
