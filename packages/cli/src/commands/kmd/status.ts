/** `latchkey kmd status`: shows daemon status and health for a data directory. */
import { join } from 'node:path'
import { type Health, Kmd } from '@latchkey/kmd-client'
import { command, jsonOption } from '../../Command.js'
import * as DaemonProcess from '../../DaemonProcess.js'
import { daemonOptions, dataDirectory } from '../../daemon.js'
import { exitCodes } from '../../exitCodes.js'
import { explained } from '../../explained.js'
import { printable } from '../../format.js'
import { printJson, printResult } from '../../messages.js'

const timeoutMs = 5_000

export const kmdStatusCommand = command({
  description: 'Show daemon status and health: the process, the address, and whether the daemon responds.',
  options: { ...daemonOptions, ...jsonOption },
  examples: ['latchkey kmd status', 'latchkey kmd status --json'],
  exits: ['unreachable'],
  run: async ({ options }) => {
    const dataDir = dataDirectory(options['data-dir'])
    const found = DaemonProcess.find(dataDir)
    const status = found.state === 'running' ? await ask(dataDir) : undefined
    const facts = {
      running: found.state === 'running',
      ...found,
      dataDir,
      logFile: join(dataDir, 'kmd.log'),
      ...status,
    }
    if (options.json) printJson(facts)
    else printResult(block(found, dataDir, status))
    return status?.answers === true ? exitCodes.ok : exitCodes.unreachable
  },
})

type Status =
  | { readonly answers: true; readonly address: string; readonly health: Health }
  | { readonly answers: false; readonly reason: string }

async function ask(dataDir: string): Promise<Status> {
  try {
    const kmd = await Kmd.connect({ dataDir, timeoutMs })
    try {
      return { answers: true, address: kmd.address, health: await kmd.health() }
    } finally {
      kmd.close()
    }
  } catch (error) {
    return { answers: false, reason: explained(error).message }
  }
}

function block(found: DaemonProcess.DaemonProcess, dataDir: string, status: Status | undefined): string {
  const places = `  Directory  ${printable(dataDir)}\n  Log        ${printable(join(dataDir, 'kmd.log'))}\n`
  if (found.state !== 'running' || status === undefined) {
    const left = found.state === 'killed' ? '; the last one was killed and left kmd.pid behind' : ''
    return `No key daemon is running${left}.\n\n${places}\nTo start one: latchkey kmd start\n`
  }
  if (!status.answers) {
    return `The key daemon is running but does not respond: ${printable(status.reason)}\n\n  Process    ${found.pid}\n${places}`
  }
  const { address, health } = status
  const lost = health.lostLogLines > 0 ? `  Lost       ${health.lostLogLines} lines of the log\n` : ''
  return `The key daemon ${printable(health.version)} has been running for ${duration(health.uptimeSeconds)}.

  Address    ${printable(address)}
  Process    ${found.pid}
  Wallets    ${health.wallets}
  Handles    ${health.openHandles} open
${places}${lost}`
}

function duration(seconds: number): string {
  const units = [
    [86_400, 'day'],
    [3_600, 'hour'],
    [60, 'minute'],
    [1, 'second'],
  ] as const
  const [length, name] = units.find(([one]) => seconds >= one) ?? [1, 'second']
  const count = Math.floor(seconds / length)
  return `${count} ${name}${count === 1 ? '' : 's'}`
}
