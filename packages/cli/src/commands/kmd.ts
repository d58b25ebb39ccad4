/** `latchkey kmd`: the daemon in the foreground, with everything one needs next on the screen. */
import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { Daemon, exitCodes as daemonExitCodes, StartError, version, type Wire, wires } from '@latchkey/kmd'
import { command, jsonOption, readNumber, UsageError } from '../Command.js'
import { daemonOptions, dataDirectory } from '../daemon.js'
import { CommandError, exitCodes } from '../exitCodes.js'
import { shellWord } from '../printable.js'
import { startUnderSignals } from '../signals.js'

export const kmdCommand = command({
  text: 'Runs the key daemon until it is told to stop (Ctrl-C, SIGTERM).',
  options: {
    'data-dir': {
      ...daemonOptions['data-dir'],
      about: 'where wallets, token and settings are kept (~/.latchkey/kmd-v0.5); made if it is missing',
    },
    timeout: {
      type: 'string',
      short: 't',
      value: 'SECS',
      about: 'stop after this many seconds without a request (0: never)',
    },
    wire: {
      type: 'string',
      choices: wires,
      about: 'form of answers: documented (bytes as integers), or reference (exactly as the Go daemon)',
    },
    node: {
      type: 'string',
      value: 'URL',
      about: 'an algod that the console asks for balances; ALGOD_TOKEN is sent to it',
    },
    ...jsonOption,
  },
  notes: 'Settings are in kmd_config.json in the data directory; kmd_config.json.example there shows them all.',
  examples: ['latchkey kmd', 'latchkey kmd -d /var/lib/kmd-v0.5 --wire reference --node http://127.0.0.1:8080'],
  ends: ['running'],
  run: async ({ options }) => {
    const dataDir = dataDirectory(options['data-dir'])
    const idleSecs = readNumber('--timeout', options.timeout, 0, 2_147_483) ?? 0
    const forceWire = options.wire as Wire | undefined
    const node = readNode(options.node)
    makeDirectory(dataDir)
    const start = () => Daemon.start({ dataDir, idleSecs, forceWire, wire: 'documented', node })
    const daemon = await startUnderSignals(start).catch((error: unknown) => explainFailure(error, dataDir))
    process.stdout.write(options.json ? `${JSON.stringify(facts(daemon, dataDir))}\n` : block(daemon, dataDir))
    for (const warning of daemon.warnings) process.stderr.write(`warning: ${warning}\n`)
    await daemon.stopped
    return exitCodes.ok
  },
})

function explainFailure(error: unknown, dataDir: string): never {
  if (!(error instanceof StartError)) throw error
  const why = `could not start in ${dataDir}: ${error.message}`
  if (error.exitCode !== daemonExitCodes.locked) throw new CommandError('failed', why, { cause: error })
  const cure = 'Its address is in kmd.net there. To stop it: kill the process whose number is in kmd.pid.'
  throw new CommandError('running', `${why}\n${cure}`, { cause: error })
}

function facts(daemon: Daemon, dataDir: string) {
  const { address, tokenFile, wire } = daemon
  return { version, address: `http://${address}`, dataDir, tokenFile, wire, pid: process.pid }
}

function block(daemon: Daemon, dataDir: string): string {
  const { address, tokenFile, wire } = facts(daemon, dataDir)
  const other = wire === 'documented' ? 'for clients of the Go daemon: --wire reference' : 'as the Go daemon answers'
  return `Latchkey key daemon ${version}

  Address     ${address}
  Token file  ${tokenFile}
  Directory   ${dataDir}
  Wire        ${wire} (${other})

Try it:
  latchkey wallet new savings
  latchkey console
  curl -s -H "X-KMD-API-Token: $(cat ${shellWord(tokenFile)})" ${address}/v1/wallets

`
}

/** Keys live here, so nobody else may look in; existing tools refuse a directory that others can read. */
function makeDirectory(dataDir: string): void {
  if (mkdirSync(dataDir, { recursive: true, mode: 0o700 }) !== undefined) {
    chmodSync(dataDir, 0o700)
    return
  }
  if ((statSync(dataDir).mode & 0o077) !== 0) {
    process.stderr.write(`warning: ${dataDir} can be read by others; chmod 700 it\n`)
  }
}

function readNode(url: string | undefined): { url: string; token: string | undefined } | undefined {
  if (url === undefined) return undefined
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError('--node takes an http address')
  return { url, token: process.env['ALGOD_TOKEN'] }
}
