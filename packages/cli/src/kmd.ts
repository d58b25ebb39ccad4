/** The command `kmd`: the key daemon with the flags, texts and exit codes of the Go daemon, for its launchers. */
import { Daemon, exitCodes, StartError } from '@latchkey/kmd'
import { limitDaemonMemory } from './daemonMemory.js'
import * as GoFlags from './GoFlags.js'
import { latchkeyCommand } from './latchkeyCommand.js'
import { printLine, printMessage, printResult, reportCrashes } from './messages.js'
import { startUnderSignals } from './signals.js'

const usage = `Usage:
  kmd -d <data directory> [flags]

Flags:
  -d, --data-dir string    kmd data directory.
  -h, --help               help for kmd
  -t, --timout-secs uint   Number of seconds without a request after which kmd stops. 0 means never.
      --wire string        format of responses: reference (like the Go daemon, the default) or documented
`

const flags = {
  'data-dir': { short: 'd', type: 'string' },
  'timout-secs': { short: 't', type: 'uint' },
  wire: { type: 'wire' },
  help: { short: 'h', type: 'bool' },
} as const satisfies GoFlags.Definitions

export async function main(args: readonly string[]): Promise<number> {
  reportCrashes('kmd', 1)
  let values: GoFlags.Values<typeof flags>
  try {
    values = GoFlags.parse(args, flags)
    if (!values.help && values['data-dir'] === undefined)
      throw new GoFlags.FlagError('required flag(s) "data-dir" not set')
  } catch (error) {
    if (!(error instanceof GoFlags.FlagError)) throw error
    printMessage(`Error: ${error.message}`)
    for (const line of usage.split('\n')) printMessage(line)
    printLine(error.message)
    return exitCodes.usage
  }
  if (values.help) {
    printResult(`Key Management Daemon (kmd)\n\n${usage}`)
    return exitCodes.ok
  }
  try {
    const daemon = await startUnderSignals(
      () =>
        Daemon.start({
          onWorkerStart: limitDaemonMemory(),
          command: latchkeyCommand(),
          dataDir: values['data-dir']!,
          wire: 'reference',
          forceWire: values.wire,
          idleSecs: values['timout-secs'] ?? 0,
        }),
      { onHangup: (started) => started.reload() },
    )
    await daemon.stopped
    return exitCodes.ok
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    if (error.exitCode === exitCodes.log || error.isLogLost) printMessage(error.message)
    return error.exitCode
  }
}
