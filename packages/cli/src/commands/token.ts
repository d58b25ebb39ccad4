/** `latchkey token rotate`: a new API token, taken over by a daemon that runs. */
import { existsSync, readFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { Token } from '@latchkey/kmd'
import { command, jsonOption } from '../Command.js'
import { daemonOptions, dataDirectory } from '../daemon.js'
import { exitCodes } from '../exitCodes.js'

export const tokenCommand = command({
  text: 'Replaces the API token. A daemon that runs takes the new one at once and refuses the old. The token itself is never printed; it is in kmd.token.',
  options: { ...daemonOptions, ...jsonOption },
  examples: ['latchkey token rotate'],
  run: async ({ options }) => {
    const dataDir = dataDirectory(options['data-dir'])
    if (!existsSync(dataDir)) throw new Error(`${dataDir} does not exist; start the daemon there first, or give -d`)
    const token = Token.rotate(dataDir)
    const tokenFile = Token.path(dataDir)
    const address = addressOf(dataDir)
    const daemon = address === undefined ? 'stopped' : await waitUntilTaken(address, token)
    if (daemon === 'refuses') {
      throw new Error(`the new token is in ${tokenFile}, but the daemon at ${address} does not take it; restart it`)
    }
    if (options.json) process.stdout.write(`${JSON.stringify({ tokenFile, daemon })}\n`)
    else {
      const who = daemon === 'running' ? `The daemon at ${address} uses it.` : 'No daemon runs there just now.'
      process.stdout.write(`New API token in ${tokenFile}. ${who}\n`)
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

const patienceMs = 5_000

async function waitUntilTaken(address: string, token: string): Promise<'running' | 'stopped' | 'refuses'> {
  const giveUpAt = Date.now() + patienceMs
  for (;;) {
    const status = await statusOf(address, token)
    // kmd.net may be left over from a daemon that was killed.
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
      { headers: { 'X-KMD-API-Token': token }, timeout: patienceMs, agent: false },
      (answer) => {
        answer.resume()
        resolve(answer.statusCode)
      },
    )
    sent.on('timeout', () => sent.destroy())
    sent.on('error', () => resolve(undefined))
    sent.end()
  })
}
