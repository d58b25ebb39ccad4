/** `latchkey wallet list`: names and ids. */
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { columns } from '../../format.js'
import { printJson, printMessage, printResult } from '../../messages.js'

export const walletListCommand = command({
  description: 'Lists the wallets: one line each with name and id. With --json, all that the daemon returns for them.',
  options: { ...daemonOptions, ...jsonOption },
  examples: ['latchkey wallet list', "latchkey wallet list --json | jq -r '.wallets[].name'"],
  exits: ['unreachable'],
  run: ({ options }) =>
    withDaemon(options, async (kmd) => {
      const wallets = await kmd.wallets.list()
      if (options.json) printJson({ wallets })
      else if (wallets.length === 0) {
        printMessage('There is no wallet yet; latchkey wallet new NAME creates one.')
      } else printResult(columns(wallets.map(({ name, id }) => [name, id])))
      return exitCodes.ok
    }),
})
