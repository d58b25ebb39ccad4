/** `latchkey console`: prints a one-time link to the daemon's web console. */
import { command, jsonOption } from '../Command.js'
import { daemonOptions, withDaemon } from '../daemon.js'
import { exitCodes } from '../exitCodes.js'
import { printJson, printLine, printWarning } from '../messages.js'
import { openInBrowser } from '../openInBrowser.js'

export const consoleCommand = command({
  description: `Print a link to the daemon's web console, which shows wallets, keys, balances and payments and signs transactions. The link works \
once and expires after a minute; its session ends when you close the page or after half an hour without use. The link does not contain the API token.`,
  options: {
    open: { type: 'boolean', description: 'also open the link in the browser, through a file that only you can read' },
    ...daemonOptions,
    ...jsonOption,
  },
  notes: 'To see balances in the console, start the daemon with a node: latchkey kmd --node URL.',
  examples: ['latchkey console', 'latchkey console --open'],
  exits: ['unreachable'],
  run: ({ options }) =>
    withDaemon(options, async (kmd) => {
      const { url, expiresSeconds } = await kmd.consoleLink()
      if (options.json) printJson({ url, expiresSeconds })
      else printLine(url)
      if (options.open) {
        // Only a warning, because the link has already been printed.
        const onFailure = (opener: string): void =>
          printWarning(`${opener} could not be started; open the link by hand`)
        openInBrowser(url, { expiresSeconds, onFailure })
      }
      return exitCodes.ok
    }),
})
