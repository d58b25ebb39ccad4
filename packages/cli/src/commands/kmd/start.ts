/** `latchkey kmd start`: runs the key daemon in the background. */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Kmd } from '@latchkey/kmd-client'
import { command, jsonOption, readNumber } from '../../Command.js'
import * as DaemonProcess from '../../DaemonProcess.js'
import { dataDirectory } from '../../daemon.js'
import { CommandError } from '../../errors.js'
import { exitCodes } from '../../exitCodes.js'
import { printable } from '../../format.js'
import { printJson, printResult, withProgress } from '../../messages.js'
import { createDirectory, kmdOptions } from './options.js'

const defaultWaitSecs = 30
/** Output of the daemon and of Node; the log is kmd.log. Launchers of the Go daemon use the same name. */
const outputFile = 'kmd-err.log'

export const kmdStartCommand = command({
  description: `Start the key daemon in the background and return when it responds. The daemon keeps running when the terminal is closed. It writes \
its log to kmd.log in the data directory, and stderr to kmd-err.log.`,
  options: {
    ...kmdOptions,
    wait: {
      type: 'string',
      placeholder: 'SECS',
      description: `how long to wait for the daemon (${defaultWaitSecs})`,
    },
    ...jsonOption,
  },
  examples: ['latchkey kmd start', 'latchkey kmd start -d /var/lib/kmd-v0.5 --log-level warning'],
  exits: ['running', 'interrupted'],
  run: async ({ options }) => {
    const dataDir = dataDirectory(options['data-dir'])
    const waitSecs = readNumber('--wait', options.wait, 1, 3600) ?? defaultWaitSecs
    const passedOn = ['timeout', 'wire', 'node', 'log-format', 'log-level'] as const
    const args = passedOn.flatMap((name) => (options[name] === undefined ? [] : [`--${name}=${options[name]}`]))
    // Resolved here, because the daemon runs in its data directory.
    if (options['unix-socket'] !== undefined) args.push(`--unix-socket=${resolve(options['unix-socket'])}`)
    createDirectory(dataDir)
    const before = DaemonProcess.find(dataDir)
    if (before.state === 'running') throw alreadyRunning(dataDir, before.pid)
    const started = await withProgress('Starting the key daemon', start(dataDir, args, waitSecs * 1000))
    if (options.json) printJson({ ...started, dataDir, logFile: join(dataDir, 'kmd.log') })
    else printResult(block(started, dataDir))
    return exitCodes.ok
  },
})

type Started = { readonly pid: number; readonly address: string; readonly version: string }

async function start(dataDir: string, args: readonly string[], timeoutMs: number): Promise<Started> {
  const output = join(dataDir, outputFile)
  let child: ChildProcess | undefined
  // Registered before the process exists, because a signal in between would leave it running.
  const interruption = onInterrupt(() => child?.kill('SIGTERM'))
  const descriptor = openSync(output, 'a', 0o600)
  const from = statSync(output).size
  child = spawn(process.execPath, [process.argv[1]!, 'kmd', `--data-dir=${dataDir}`, ...args], {
    // A separate session, which neither Ctrl-C nor the end of the terminal reaches.
    detached: true,
    cwd: dataDir,
    env: withoutSecrets(process.env),
    stdio: ['ignore', 'ignore', descriptor],
  })
  closeSync(descriptor)
  try {
    const started = await answers(dataDir, child, timeoutMs)
    if (started !== undefined && !interruption.happened()) return started
    const end = await endOf(child)
    throw notStarted({ dataDir, end, isInterrupted: interruption.happened(), said: newText(output, from) })
  } finally {
    interruption.remove()
    child.unref()
  }
}

/** The daemon needs no secrets, and the environment of a process can be read for as long as it runs. */
function withoutSecrets(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !secrets.test(name)))
}

const secrets = /^(AVM_(MNEMONIC|PRIVATE_KEY)(_\d+)?|KMD_PASSWORD|PGPASSWORD|LATCHKEY_FACILITATOR_STORE)$/

function onInterrupt(work: () => void): { happened: () => boolean; remove: () => void } {
  let isInterrupted = false
  const end = (): void => {
    isInterrupted = true
    work()
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, end)
  return {
    happened: () => isInterrupted,
    remove: () => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, end)
    },
  }
}

/** Returns the daemon's own information, or undefined if it ends or does not answer in time. */
async function answers(dataDir: string, child: ChildProcess, timeoutMs: number): Promise<Started | undefined> {
  let started: Started | undefined
  let hasEnded = false
  child.once('exit', () => {
    hasEnded = true
  })
  child.once('error', () => {
    hasEnded = true
  })
  await DaemonProcess.waitUntil(async () => {
    if (!hasEnded) started = await ask(dataDir, child.pid)
    return hasEnded || started !== undefined
  }, timeoutMs)
  return hasEnded ? undefined : started
}

/** Only the started process counts, because another one may have been faster. */
async function ask(dataDir: string, pid: number | undefined): Promise<Started | undefined> {
  const found = DaemonProcess.find(dataDir)
  if (found.state !== 'running' || found.pid !== pid) return undefined
  try {
    const kmd = await Kmd.connect({ dataDir, timeoutMs: 5_000 })
    try {
      const { version } = await kmd.health()
      return { pid, address: kmd.address, version }
    } finally {
      kmd.close()
    }
  } catch {
    return undefined
  }
}

type End = { readonly code: number | NodeJS.Signals; readonly isLate: boolean }

const endMs = 5_000

/** Returns how the process ended. A process that is still running is stopped. */
async function endOf(child: ChildProcess): Promise<End> {
  const isLate = child.exitCode === null && child.signalCode === null && child.pid !== undefined
  if (isLate) {
    child.kill('SIGTERM')
    const isOver = (): boolean => child.exitCode !== null || child.signalCode !== null
    if (!(await DaemonProcess.waitUntil(isOver, endMs))) child.kill('SIGKILL')
  }
  return { code: child.signalCode ?? child.exitCode ?? 1, isLate }
}

type Failure = { readonly dataDir: string; readonly end: End; readonly isInterrupted: boolean; readonly said: string }

function notStarted({ dataDir, end, isInterrupted, said }: Failure): CommandError {
  if (isInterrupted) return new CommandError('interrupted', 'interrupted; the daemon was stopped')
  if (end.code === exitCodes.running) return alreadyRunning(dataDir)
  const more = `see ${join(dataDir, 'kmd.log')}`
  if (end.isLate) {
    const hint = `${more}, or raise --wait`
    return new CommandError('daemon_not_started', 'the daemon did not respond in time and was stopped', { hint })
  }
  return new CommandError('daemon_not_started', said === '' ? `the daemon exited with ${end.code}` : said, {
    hint: more,
  })
}

function alreadyRunning(dataDir: string, pid?: number): CommandError {
  const which = pid === undefined ? '' : `, as process ${pid}`
  return new CommandError('daemon_already_running', `a key daemon is already running in ${dataDir}${which}`, {
    hint: 'use it, or stop it first with latchkey kmd stop; latchkey kmd status shows it',
  })
}

const longestText = 2_000

/** Returns the output since the start as one line, without the name of the command. */
function newText(path: string, from: number): string {
  try {
    const text = readFileSync(path).subarray(from).subarray(0, longestText).toString()
    return text
      .trim()
      .replace(/^latchkey kmd: /, '')
      .replaceAll('\n', ' ')
  } catch {
    return ''
  }
}

function block({ pid, address, version }: Started, dataDir: string): string {
  return `Latchkey key daemon ${version} runs in the background

  Address    ${printable(address)}
  Process    ${pid}
  Directory  ${printable(dataDir)}
  Log        ${printable(join(dataDir, 'kmd.log'))}

latchkey kmd stop ends it.

`
}
