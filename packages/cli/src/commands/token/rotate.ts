/** `latchkey token rotate`: replaces the API token, including that of a running daemon. */
import { existsSync } from 'node:fs'
import { Token } from '@latchkey/kmd'
import { Kmd, KmdClientError } from '@latchkey/kmd-client'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, dataDirectory, explainDaemonError } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { printJson, printLine } from '../../messages.js'

export const tokenRotateCommand = command({
  description:
    'Replace the API token in kmd.token. A running daemon accepts the new token at once and refuses the old one. The token is not printed.',
  options: { ...daemonOptions, ...jsonOption },
  examples: ['latchkey token rotate'],
  run: async ({ options }) => {
    const dataDir = dataDirectory(options['data-dir'])
    if (!existsSync(dataDir)) {
      throw new CommandError('data_directory_missing', `${dataDir} does not exist`, {
        hint: 'start the daemon in that directory first, or give another with --data-dir',
      })
    }
    Token.rotate(dataDir)
    const tokenFile = Token.path(dataDir)
    const { state: daemon, address } = await waitUntilAccepted(dataDir)
    if (daemon === 'refuses') {
      const message = `the new token is in ${tokenFile}, but the daemon at ${address} does not accept it`
      throw new CommandError('token_refused', message, { hint: 'restart the daemon' })
    }
    if (options.json) printJson({ tokenFile, daemon })
    else {
      const state = daemon === 'running' ? `The daemon at ${address} accepts it.` : 'No daemon is running.'
      printLine(`New API token in ${tokenFile}. ${state}`)
    }
    return exitCodes.ok
  },
})

const timeoutMs = 5_000
const pauseMs = 50

type Accepting = { state: 'running' | 'stopped' | 'refuses'; address?: string }

async function waitUntilAccepted(dataDir: string): Promise<Accepting> {
  const giveUpAt = Date.now() + timeoutMs
  for (;;) {
    const accepting = await isAccepted(dataDir)
    if (accepting.state !== 'refuses' || Date.now() > giveUpAt) return accepting
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** Uses the client, which sends the token only to the daemon of the directory. */
async function isAccepted(dataDir: string): Promise<Accepting> {
  let kmd: Kmd | undefined
  try {
    kmd = await Kmd.connect({ dataDir, timeoutMs })
    await kmd.wallets.list()
    return { state: 'running', address: kmd.address }
  } catch (error) {
    if (!(error instanceof KmdClientError)) throw error
    if (error.code === 'foreign_listener') throw explainDaemonError(error, dataDir)
    if (error.status !== undefined && kmd !== undefined) return { state: 'refuses', address: kmd.address }
    // A killed daemon leaves its kmd.net behind.
    return { state: 'stopped' }
  } finally {
    kmd?.close()
  }
}
