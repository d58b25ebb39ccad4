/** Runs `latchkey` as a script does: without a terminal, with secrets from files and open descriptors. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { CommandHost, type Outcome, startHosted } from './commandHost.test.helper.js'
import { latchkeyCommand } from './devnet.test.helper.js'

export type { Outcome }

export type RunOptions = {
  /** Data directory of the key daemon. */
  dataDir?: string
  home?: string
  env?: NodeJS.ProcessEnv
  /** Content of descriptor 0. @default '' */
  stdin?: string
  /** Contents of descriptors 3, 4 and so on. */
  descriptors?: readonly (string | Uint8Array)[]
}

/** Long enough for an overloaded machine. */
const timeoutMs = 180_000

/** Runs detached, in a separate session: even if the tests run in a terminal, the command has none. */
export async function latchkey(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { stdin = '', descriptors = [] } = options
  const child = spawn(process.execPath, [latchkeyCommand, ...args], {
    env: environment(options),
    stdio: ['pipe', 'pipe', 'pipe', ...descriptors.map(() => 'pipe' as const)],
    detached: true,
    timeout: timeoutMs,
  })
  for (const [index, content] of [stdin, '', '', ...descriptors].entries()) {
    if (index === 1 || index === 2) continue
    const stream = child.stdio[index] as Writable
    // A command that fails early closes the stream without reading.
    stream.on('error', () => {})
    stream.end(content)
  }
  return collect(child)
}

/**
 * Runs `latchkey` like `latchkey()`, but in a process that runs many commands, because most of a command's time is
 * its start. For tests of results and messages: not of signals, concurrent commands, or how a process ends.
 */
export function hostedLatchkey(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  if (options.stdin !== undefined || options.descriptors !== undefined) return latchkey(args, options)
  const outcome = lastHosted.then(() => runHosted({ args, env: environment(options) }))
  lastHosted = outcome.catch(() => {})
  return outcome
}

export type RunningServer = {
  kill: (signal: NodeJS.Signals) => void
  /** The exit code; null after SIGKILL. */
  exited: Promise<number | null>
  stdout: () => string
  stderr: () => string
}

/** Runs a server like `latchkey dev` in a process that ran others before, until the end of the test; see `startHosted`. */
export function startHostedLatchkey(
  t: { after: (work: () => unknown) => void },
  args: readonly string[],
  options: RunOptions = {},
): RunningServer {
  const output = { stdout: '', stderr: '' }
  const server = startHosted({ command: 'latchkey', args, env: environment(options) }, (name, text) => {
    output[name] += text
  })
  t.after(() => server.end())
  const exited = server.ended.then((end) => (typeof end === 'number' ? end : null))
  return { kill: server.kill, exited, stdout: () => output.stdout, stderr: () => output.stderr }
}

let lastHosted: Promise<unknown> = Promise.resolve()
let host: CommandHost | undefined

async function runHosted(call: { args: readonly string[]; env: NodeJS.ProcessEnv }): Promise<Outcome> {
  // A command that exits without a signal ends the host.
  if (host === undefined || host.isGone) host = new CommandHost()
  const used = host
  const timer = setTimeout(() => used.kill('SIGKILL'), timeoutMs)
  try {
    return await used.run({ command: 'latchkey', ...call })
  } finally {
    clearTimeout(timer)
  }
}

/** Runs a line of `sh` in which `latchkey` is the command. */
export function shell(line: string, options: RunOptions = {}): Promise<Outcome> {
  const define = `latchkey() { '${process.execPath}' '${latchkeyCommand}' "$@"; }\n`
  const child = spawn('sh', ['-c', `${define}${line}`], {
    env: environment(options),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    timeout: timeoutMs,
  })
  return collect(child)
}

/** Passes on nothing of the tests' environment, which could provide a wallet or a password. */
function environment({ dataDir, home = '/nonexistent', env = {} }: RunOptions): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: home, ...(dataDir === undefined ? {} : { KMD_DATA_DIR: dataDir }), ...env }
}

async function collect(child: ReturnType<typeof spawn>): Promise<Outcome> {
  let stdout = ''
  let stderr = ''
  child.stdout!.setEncoding('utf8').on('data', (piece: string) => {
    stdout += piece
  })
  child.stderr!.setEncoding('utf8').on('data', (piece: string) => {
    stderr += piece
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stdout, stderr }
}
