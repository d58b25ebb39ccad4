/** `latchkey console`: a one-time link to the daemon's web console. */
import { spawn } from 'node:child_process'
import { command, jsonOption } from '../Command.js'
import { daemonOptions, withDaemon } from '../daemon.js'
import { exitCodes } from '../exitCodes.js'
import { printJson, printLine, printWarning } from '../messages.js'

export const consoleCommand = command({
  description: `Prints a link to the daemon's web console, which shows wallets, keys, balances and payments and signs transactions. The link works \
once and expires after a minute; the session it opens ends when the page is closed or after half an hour without use. The link does not contain the API token.`,
  options: {
    open: { type: 'boolean', description: 'also open it in the browser' },
    ...daemonOptions,
    ...jsonOption,
  },
  notes: 'The console shows balances if the daemon has a node: latchkey kmd --node URL.',
  examples: ['latchkey console', 'latchkey console --open'],
  exits: ['unreachable'],
  run: ({ options }) =>
    withDaemon(options, async (kmd) => {
      const { url, expiresSeconds } = await kmd.consoleLink()
      if (options.json) printJson({ url, expiresSeconds })
      else printLine(url)
      if (options.open) openInBrowser(url)
      return exitCodes.ok
    }),
})

/** A failure is only a warning: the link has been printed. */
function openInBrowser(url: string): void {
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const child = spawn(opener, [url], { stdio: 'ignore', detached: true })
  child.on('error', () => printWarning(`${opener} could not be started; open the link by hand`))
  child.unref()
}
