/** `latchkey kmd`: the daemon in the foreground, with everything one needs next on the screen. */
import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { Daemon, exitCodes, StartError, version, type Wire, wires } from '@latchkey/kmd'
import { type Command, dataDirectory, readOptions, UsageError } from '../Command.js'
import { startUnderSignals } from '../signals.js'

const help = `Runs the key daemon until it is told to stop (Ctrl-C, SIGTERM).

Usage:
  latchkey kmd [options]

Options:
  -d, --data-dir DIR   where wallets, token and settings are kept (~/.latchkey/kmd-v0.5); made if it is missing
  -t, --timeout SECS   stop after this many seconds without a request (0: never)
      --wire FORM      form of answers: documented (bytes as integers) or reference (exactly as the Go daemon)
      --json           print the first block as one line of JSON

Settings are in kmd_config.json in the data directory; kmd_config.json.example there shows them all.
Exit codes: 0 stopped, 1 wrong usage, 2 log file cannot be written, 3 failed to start, 4 already running there.
`

export const kmdCommand: Command = {
  help,
  run: async (args) => {
    const options = readOptions(args, {
      'data-dir': { type: 'string', short: 'd' },
      timeout: { type: 'string', short: 't' },
      wire: { type: 'string' },
      json: { type: 'boolean' },
    })
    const dataDir = dataDirectory(options['data-dir'])
    const idleSecs = readSeconds(options.timeout ?? '0')
    const forceWire = readWire(options.wire)
    makeDirectory(dataDir)
    const start = () => Daemon.start({ dataDir, idleSecs, forceWire, wire: 'documented' })
    const daemon = await startUnderSignals(start).catch((error: unknown) => explainFailure(error, dataDir))
    if (typeof daemon === 'number') return daemon
    process.stdout.write(options.json ? `${JSON.stringify(facts(daemon, dataDir))}\n` : block(daemon, dataDir))
    for (const warning of daemon.warnings) process.stderr.write(`warning: ${warning}\n`)
    await daemon.stopped
    return exitCodes.ok
  },
}

function explainFailure(error: unknown, dataDir: string): number {
  if (!(error instanceof StartError)) throw error
  process.stderr.write(`latchkey kmd: could not start in ${dataDir}: ${error.message}\n`)
  if (error.exitCode === exitCodes.locked) {
    process.stderr.write('Its address is in kmd.net there. To stop it: kill the process whose number is in kmd.pid.\n')
  }
  return error.exitCode
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
  curl -s -H "X-KMD-API-Token: $(cat ${shellQuote(tokenFile)})" ${address}/v1/wallets

`
}

function shellQuote(path: string): string {
  return /^[A-Za-z0-9_/.+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
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

function readSeconds(text: string): number {
  if (!/^[0-9]{1,7}$/.test(text)) throw new UsageError('--timeout takes a number of seconds')
  return Number(text)
}

function readWire(text: string | undefined): Wire | undefined {
  if (text === undefined) return undefined
  const wire = wires.find((known) => known === text)
  if (wire === undefined) throw new UsageError(`--wire takes ${wires.join(' or ')}`)
  return wire
}
