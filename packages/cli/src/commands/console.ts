/** `latchkey console`: a link to the daemon's page that works once. */
import { spawn } from 'node:child_process'
import { command, jsonOption } from '../Command.js'
import { daemonOptions, withDaemon } from '../daemon.js'
import { exitCodes } from '../exitCodes.js'

export const consoleCommand = command({
  text: `Prints a link to the daemon's page, where wallets, keys, balances and payments can be seen, and transactions signed. It works once and \
for a minute; the page it opens is yours until you close it or half an hour passes unused. The API token is not in it.`,
  options: {
    open: { type: 'boolean', about: 'open it in the browser, too' },
    ...daemonOptions,
    ...jsonOption,
  },
  notes: 'Balances are shown where the daemon knows a node: latchkey kmd --node URL.',
  examples: ['latchkey console', 'latchkey console --open'],
  ends: ['unreachable'],
  run: ({ options }) =>
    withDaemon(options, async (kmd) => {
      const { url, expiresSeconds } = await kmd.consoleLink()
      process.stdout.write(`${options.json ? JSON.stringify({ url, expiresSeconds }) : url}\n`)
      if (options.open) openInBrowser(url)
      return exitCodes.ok
    }),
})

/** The link is on the screen in any case. */
function openInBrowser(url: string): void {
  const opener = process.platform === 'darwin' ? 'open' : 'xdg-open'
  const child = spawn(opener, [url], { stdio: 'ignore', detached: true })
  child.on('error', () => process.stderr.write(`warning: ${opener} could not be started; open the link yourself\n`))
  child.unref()
}
