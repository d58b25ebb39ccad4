/** `latchkey token rotate`: replaces the API token, also that of a running daemon. */
import { existsSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { Token } from '@latchkey/kmd'
import { command, jsonOption } from '../../Command.js'
import { daemonOptions, dataDirectory } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { printJson, printLine } from '../../messages.js'

export const tokenRotateCommand = command({
  description:
    'Replaces the API token in kmd.token. A running daemon accepts the new one at once and refuses the old one. The token is not printed.',
  options: { ...daemonOptions, ...jsonOption },
  examples: ['latchkey token rotate'],
  run: async ({ options }) => {
    const dataDir = dataDirectory(options['data-dir'])
    if (!existsSync(dataDir)) {
      throw new CommandError('data_directory_missing', `${dataDir} does not exist`, {
        hint: 'start the daemon there first, or give -d',
      })
    }
    const token = Token.rotate(dataDir)
    const tokenFile = Token.path(dataDir)
    const address = addressOf(dataDir)
    const daemon = address === undefined ? 'stopped' : await waitUntilAccepted(address, token)
    if (daemon === 'refuses') {
      const message = `the new token is in ${tokenFile}, but the daemon at ${address} does not accept it`
      throw new CommandError('token_refused', message, { hint: 'restart the daemon' })
    }
    if (options.json) printJson({ tokenFile, daemon })
    else {
      const state = daemon === 'running' ? `The daemon at ${address} uses it.` : 'No daemon runs there now.'
      printLine(`New API token in ${tokenFile}. ${state}`)
    }
    return exitCodes.ok
  },
})

function addressOf(dataDir: string): string | undefined {
  try {
    return readFileSync(join(dataDir, 'kmd.net'), 'utf8').split('\n')[0]
  } catch {
    return undefined
  }
}

const timeoutMs = 5_000

async function waitUntilAccepted(address: string, token: string): Promise<'running' | 'stopped' | 'refuses'> {
  const giveUpAt = Date.now() + timeoutMs
  for (;;) {
    const status = await statusOf(address, token)
    // A daemon that was killed leaves its kmd.net behind.
    if (status === undefined) return 'stopped'
    if (status === 200) return 'running'
    if (Date.now() > giveUpAt) return 'refuses'
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

function statusOf(address: string, token: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    const url = `http://${address.replace('[::]', '[::1]')}/v1/wallets`
    const sent = request(
      url,
      { headers: { 'X-KMD-API-Token': token }, timeout: timeoutMs, agent: false },
      (response) => {
        response.resume()
        resolve(response.statusCode)
      },
    )
    sent.on('timeout', () => sent.destroy())
    sent.on('error', () => resolve(undefined))
    sent.end()
  })
}
