/** `latchkey wallet list`: lists the names and ids of wallets. */
import { type Kmd, KmdClientError } from '@latchkey/kmd-client'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, withDaemon } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { columns } from '../../format.js'
import { printJson, printMessage, printResult, printWarning } from '../../messages.js'

export const walletListCommand = command({
  description: `List the wallets, one line each: name and id. --json prints every field that the daemon returns. Wallet files that the daemon \
cannot use are named on stderr.`,
  options: { ...daemonOptions, ...jsonOption },
  examples: ['latchkey wallet list', "latchkey wallet list --json | jq -r '.wallets[].name'"],
  exits: ['unreachable'],
  run: ({ options }) =>
    withDaemon(options, async (kmd) => {
      const wallets = await kmd.wallets.list()
      for (const { file, problem } of await problemsOf(kmd)) printWarning(`the wallet file ${file} ${problem}`)
      if (options.json) printJson({ wallets })
      else if (wallets.length === 0) {
        printMessage('No wallets yet. To create one: latchkey wallet new NAME')
      } else printResult(columns(wallets.map(({ name, id }) => [name, id])))
      return exitCodes.ok
    }),
})

/** The Go daemon does not report them. */
async function problemsOf(kmd: Kmd): Promise<{ file: string; problem: string }[]> {
  try {
    return (await kmd.health()).walletProblems
  } catch (error) {
    if (error instanceof KmdClientError) return []
    throw error
  }
}
