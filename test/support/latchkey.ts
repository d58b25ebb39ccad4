/** The command `latchkey` as a script uses it: no terminal, secrets through files and open descriptors. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { latchkeyCommand } from './devnet.js'

export type Outcome = { code: number | null; stdout: string; stderr: string }

export type RunOptions = {
  /** Of the key daemon. */
  dataDir?: string
  home?: string
  env?: NodeJS.ProcessEnv
  /** What descriptor 0 gives; it is empty unless told. */
  stdin?: string
  /** What descriptors 3, 4 and so on give. */
  descriptors?: readonly (string | Uint8Array)[]
}

const patienceMs = 30_000

/** In a session of its own, so that also where a person runs the tests there is no terminal to ask at. */
export async function latchkey(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const { stdin = '', descriptors = [] } = options
  const child = spawn(process.execPath, [latchkeyCommand, ...args], {
    env: environment(options),
    stdio: ['pipe', 'pipe', 'pipe', ...descriptors.map(() => 'pipe' as const)],
    detached: true,
    timeout: patienceMs,
  })
  for (const [index, content] of [stdin, '', '', ...descriptors].entries()) {
    if (index === 1 || index === 2) continue
    const stream = child.stdio[index] as Writable
    // Whoever fails before reading closes it.
    stream.on('error', () => {})
    stream.end(content)
  }
  return collect(child)
}

/** A line for `sh`, in which `latchkey` is the command. */
export function shell(line: string, options: RunOptions = {}): Promise<Outcome> {
  const define = `latchkey() { '${process.execPath}' '${latchkeyCommand}' "$@"; }\n`
  const child = spawn('sh', ['-c', `${define}${line}`], {
    env: environment(options),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    timeout: patienceMs,
  })
  return collect(child)
}

/** Nothing of the environment of the tests may answer for the person. */
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
