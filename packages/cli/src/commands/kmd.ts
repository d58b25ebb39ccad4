/** `latchkey kmd`: runs the key daemon in the foreground and prints how to use it. */
import { join, resolve } from 'node:path'
import { Daemon, exitCodes as daemonExitCodes, StartError, version, type Wire } from '@latchkey/kmd'
import { command, jsonOption, readNumber } from '../Command.js'
import { dataDirectory } from '../daemon.js'
import { limitDaemonMemory } from '../daemonMemory.js'
import { CommandError, UsageError } from '../errors.js'
import { exitCodes } from '../exitCodes.js'
import { printable, shellWord } from '../format.js'
import { latchkeyCommand } from '../latchkeyCommand.js'
import { explainListenError, type ListenAttempt } from '../listenErrors.js'
import { printJson, printResult, printWarning } from '../messages.js'
import { openTerminalLog, readLogOptions } from '../serverLog.js'
import { startUnderSignals } from '../signals.js'
import { createDirectory, kmdOptions } from './kmd/options.js'

export const kmdCommand = command({
  description: 'Run the key daemon until Ctrl-C or SIGTERM.',
  options: {
    ...kmdOptions,
    ...jsonOption,
  },
  notes: `Settings are in kmd_config.json in the data directory; kmd_config.json.example lists all of them. The log goes to kmd.log in that directory and to the \
terminal. SIGHUP reopens kmd.log and reloads the settings that need no restart. To run the daemon in the background: latchkey kmd start.`,
  examples: ['latchkey kmd', 'latchkey kmd -d /var/lib/kmd-v0.5 --wire reference --node http://127.0.0.1:8080'],
  exits: ['running'],
  run: async ({ options }) => {
    const dataDir = dataDirectory(options['data-dir'])
    const idleSecs = readNumber('--timeout', options.timeout, 0, 2_147_483) ?? 0
    const forceWire = options.wire as Wire | undefined
    const node = readNode(options.node)
    const unixSocket = options['unix-socket'] === undefined ? undefined : resolve(options['unix-socket'])
    createDirectory(dataDir)
    const onWorkerStart = limitDaemonMemory()
    const forceLog = readLogOptions(options)
    const start = () =>
      Daemon.start({
        dataDir,
        idleSecs,
        forceWire,
        wire: 'documented',
        node,
        unixSocket,
        onWorkerStart,
        command: latchkeyCommand(),
        log: { format: 'json' },
        forceLog,
      })
    const onHangup = (started: Daemon): void => started.reload()
    const daemon = await startUnderSignals(start, { onHangup }).catch((error: unknown) => explain(error, dataDir))
    if (options.json) printJson(facts(daemon, dataDir))
    else printResult(block(daemon, dataDir))
    for (const warning of daemon.warnings) printWarning(warning)
    const terminal = openTerminalLog(forceLog)
    if (terminal !== undefined) daemon.log.copyTo(terminal)
    await daemon.stopped
    return exitCodes.ok
  },
})

function explain(cause: unknown, dataDir: string): never {
  if (!(cause instanceof StartError)) throw cause
  const listening = explainListenError(cause, listenAttempt(cause.message, dataDir))
  if (listening !== cause) throw listening
  const message = `could not start in ${dataDir}: ${cause.message}`
  if (cause.exitCode !== daemonExitCodes.locked) throw new CommandError('daemon_not_started', message, { cause })
  const hint = 'Use it, or stop it first with latchkey kmd stop; latchkey kmd status shows it'
  throw new CommandError('daemon_already_running', message, { hint, cause })
}

/** The system's message ends with the address. */
function listenAttempt(message: string, dataDir: string): ListenAttempt {
  const [, host = '', port = '0'] = /(\S+):([0-9]+)$/.exec(message) ?? []
  const cure = `set another address in ${join(dataDir, 'kmd_config.json')}, or stop the program that uses the port`
  return { host, port: Number(port), cure, hostCure: `set another address in ${join(dataDir, 'kmd_config.json')}` }
}

function facts(daemon: Daemon, dataDir: string) {
  const { address, unixSocket, tokenFile, wire } = daemon
  const unix = unixSocket === undefined ? {} : { unixSocket }
  return { version, address: `http://${address}`, ...unix, dataDir, tokenFile, wire, pid: process.pid }
}

function block(daemon: Daemon, dataDir: string): string {
  const { address, unixSocket, tokenFile, wire } = facts(daemon, dataDir)
  const socket = unixSocket === undefined ? '' : `\n  Unix socket ${printable(unixSocket)}`
  // Without the option, commands in another terminal look elsewhere.
  const option = dataDir === dataDirectory(undefined, {}) ? '' : ` -d ${shellWord(dataDir)}`
  const other =
    wire === 'documented' ? 'for clients of the Go daemon, give --wire reference' : 'the format of the Go daemon'
  return `Latchkey key daemon ${version}

  Address     ${address}${socket}
  Token file  ${printable(tokenFile)}
  Directory   ${printable(dataDir)}
  Wire        ${wire} (${other})

Try it:
  latchkey wallet new savings${option}
  latchkey console${option}
  curl -s -H "X-KMD-API-Token: $(cat ${shellWord(tokenFile)})" ${address}/v1/wallets

`
}

function readNode(url: string | undefined): { url: string; token: string | undefined } | undefined {
  if (url === undefined) return undefined
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new UsageError('--node must be an http or https URL', { code: 'invalid_value' })
  return { url, token: process.env['ALGOD_TOKEN'] }
}
