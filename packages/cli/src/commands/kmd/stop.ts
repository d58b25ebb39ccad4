/** `latchkey kmd stop`: stops the key daemon of a data directory. */
import { command, jsonOption, readNumber } from '../../Command.js'
import * as DaemonProcess from '../../DaemonProcess.js'
import { daemonOptions, dataDirectory } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { printable } from '../../format.js'
import { printJson, printResult, printWarning, withProgress } from '../../messages.js'

/** The same as in launchers of the Go daemon. */
const defaultTimeoutSecs = 30

export const kmdStopCommand = command({
  description: `Stop the key daemon of a data directory. The daemon finishes requests in progress first. The process in kmd.pid is stopped only if it \
holds the lock of the directory, so no other program is stopped.`,
  options: {
    ...daemonOptions,
    timeout: {
      type: 'string',
      short: 't',
      placeholder: 'SECS',
      description: `kill the daemon if it has not stopped after SECS (${defaultTimeoutSecs})`,
    },
    ...jsonOption,
  },
  examples: ['latchkey kmd stop', 'latchkey kmd stop -d /var/lib/kmd-v0.5'],
  exits: ['unreachable'],
  run: async ({ options }) => {
    const dataDir = dataDirectory(options['data-dir'])
    const timeoutSecs = readNumber('--timeout', options.timeout, 1, 3600) ?? defaultTimeoutSecs
    const found = DaemonProcess.find(dataDir)
    if (found.state !== 'running') throw notRunning(dataDir, found)
    const { pid } = found
    let isKilled = false
    const onKill = (): void => {
      isKilled = true
    }
    const stopping = DaemonProcess.stop(dataDir, pid, { timeoutMs: timeoutSecs * 1000, onKill })
    await withProgress('Stopping the key daemon', stopping)
    if (isKilled) printWarning(`the key daemon did not stop within ${timeoutSecs} s and was killed`)
    if (options.json) printJson({ pid, dataDir, killed: isKilled })
    else printResult(`The key daemon in ${printable(dataDir)} (process ${pid}) has stopped.\n`)
    return exitCodes.ok
  },
})

function notRunning(dataDir: string, found: Exclude<DaemonProcess.DaemonProcess, { state: 'running' }>): CommandError {
  const message = `no key daemon is running in ${dataDir}`
  if (found.state === 'stopped') return new CommandError('daemon_not_running', message)
  const detail = found.isAlive
    ? `${message}: process ${found.pid} in kmd.pid is another program and was not stopped`
    : `${message}: the last daemon was killed and left kmd.pid behind`
  return new CommandError('daemon_not_running', detail)
}
