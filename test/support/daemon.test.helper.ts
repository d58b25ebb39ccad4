/**
 * A real `kmd` process for a test, and a small HTTP client for it.
 *
 *     const daemon = await startDaemon()
 *     const { status, json } = await daemon.call('POST', '/v1/wallet', { wallet_name: 'w', wallet_driver_name: 'sqlite' })
 *     await daemon.stop()
 *
 * Without `dir` the daemon gets a temporary directory, which `stop` and `kill` remove. A test that starts a second
 * daemon on the files of the first creates the directory itself (`makeDataDir`) and removes it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import * as http from 'node:http'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startHosted } from './commandHost.test.helper.js'

/** The root of the checkout: this file runs as test/dist/support/daemon.js. */
export const root = fileURLToPath(new URL('../../../', import.meta.url))
export const kmdCommand = join(root, 'node_modules', '.bin', 'kmd')
export const defaultToken = 'a'.repeat(64)

/** A free port, and a key derivation that takes no time. */
export const fastConfig: Config = {
  address: '127.0.0.1:0',
  drivers: { sqlite: { allow_unsafe_scrypt: true, scrypt: { scrypt_n: 2 } }, ledger: { disable: true } },
}

export type Config = { [name: string]: unknown }

export type StartOptions = {
  /** Command line arguments after `-d DIR`. */
  args?: readonly string[]
  /** Members of kmd_config.json on top of `fastConfig`. `null` writes no file. */
  config?: Config | null
  /** Content of kmd.token. `null` writes no file and reads the token after the start. */
  token?: string | null
  /** An existing data directory, which is not removed. */
  dir?: string
  env?: NodeJS.ProcessEnv
  /** The timeout of the start. */
  timeoutMs?: number
}

export type CallOptions = {
  /** A token other than the daemon's; `null` sends none. */
  token?: string | null
  headers?: { [name: string]: string }
  timeoutMs?: number
}

/** Untyped on purpose: a test checks the body, and a type would assert what is to be checked. */
export type Json = ReturnType<typeof JSON.parse>

export type TestResponse = {
  status: number
  headers: http.IncomingHttpHeaders
  body: Buffer
  text: string
  /** Undefined if the body is not JSON. */
  json: Json
}

export type TestDaemon = {
  dir: string
  /** As in kmd.net. */
  address: string
  baseUrl: string
  token: string
  pid: number
  child: { kill: (signal: NodeJS.Signals) => unknown; readonly exitCode: number | null }
  /** The exit code or signal, once the process has exited. */
  exited: Promise<number | NodeJS.Signals>
  /** Returns the output of the process on stdout and stderr. */
  output: () => string
  /** A string or Buffer is sent unchanged, anything else as JSON. */
  call: (method: string, path: string, body?: unknown, options?: CallOptions) => Promise<TestResponse>
  /** Sends SIGTERM, waits for the exit, cleans up, and returns the exit code. */
  stop: () => Promise<number | NodeJS.Signals>
  /** Sends SIGKILL, waits for the exit, and cleans up. */
  kill: () => Promise<void>
}

/** Creates a directory that only its owner can read, as launchers require. */
export function makeDataDir(): string {
  const dir = mkdtempSync(join(tmpdir(), 'kmd-test-'))
  chmodSync(dir, 0o700)
  return dir
}

export function removeDataDir(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
}

export async function startDaemon(options: StartOptions = {}): Promise<TestDaemon> {
  return startWith(spawnDaemon, options)
}

/** Starts a daemon like `startDaemon`, in a process that ran others before; see `startHosted`. `kill` stops it, too. */
export async function startHostedDaemon(options: StartOptions = {}): Promise<TestDaemon> {
  return startWith(hostDaemon, options)
}

type Launched = Pick<TestDaemon, 'pid' | 'child' | 'exited' | 'output'> & { kill: () => Promise<unknown> }

async function startWith(
  launch: (args: readonly string[], env: NodeJS.ProcessEnv) => Launched,
  options: StartOptions,
): Promise<TestDaemon> {
  const dir = options.dir ?? makeDataDir()
  const cleanUp = options.dir === undefined ? () => removeDataDir(dir) : () => {}
  if (options.config !== null) {
    writeFileSync(join(dir, 'kmd_config.json'), JSON.stringify({ ...fastConfig, ...options.config }))
  }
  if (options.token !== null) writeFileSync(join(dir, 'kmd.token'), options.token ?? defaultToken)
  const path = `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`
  const launched = launch(['-d', dir, ...(options.args ?? [])], { ...process.env, PATH: path, ...options.env })
  const { pid, child, exited, output } = launched
  try {
    const address = await untilListening({ pid, dir, output, exited, timeoutMs: options.timeoutMs ?? 180_000 })
    const token = readFileSync(join(dir, 'kmd.token'), 'utf8').split('\n')[0]!
    const call = client(address, token)
    return {
      dir,
      address,
      baseUrl: `http://${address}`,
      token,
      pid,
      child,
      exited,
      output,
      call,
      stop: async () => {
        child.kill('SIGTERM')
        const code = await within(exited, 60_000, 'kmd did not stop on SIGTERM')
        cleanUp()
        return code
      },
      kill: async () => {
        await launched.kill()
        cleanUp()
      },
    }
  } catch (error) {
    await launched.kill().catch(() => {})
    cleanUp()
    throw error
  }
}

function spawnDaemon(args: readonly string[], env: NodeJS.ProcessEnv): Launched {
  const child = spawn(kmdCommand, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  const killWithTest = (): void => void child.kill('SIGKILL')
  process.once('exit', killWithTest)
  const parts: Buffer[] = []
  child.stdout.on('data', (part: Buffer) => parts.push(part))
  child.stderr.on('data', (part: Buffer) => parts.push(part))
  const exited = once(child, 'close').then(([code, signal]) => {
    process.removeListener('exit', killWithTest)
    return (code ?? signal) as number | NodeJS.Signals
  })
  const kill = (): Promise<unknown> => {
    child.kill('SIGKILL')
    return exited
  }
  return { pid: child.pid!, child, exited, output: () => Buffer.concat(parts).toString(), kill }
}

function hostDaemon(args: readonly string[], env: NodeJS.ProcessEnv): Launched {
  let text = ''
  const server = startHosted({ command: 'kmd', args, env }, (_name, piece) => {
    text += piece
  })
  let exitCode: number | null = null
  void server.ended.then((end) => {
    exitCode = typeof end === 'number' ? end : null
  })
  const child = {
    kill: (signal: NodeJS.Signals) => server.kill(signal),
    get exitCode() {
      return exitCode
    },
  }
  return { pid: server.pid, child, exited: server.ended, output: () => text, kill: server.end }
}

/** Sends one request on a new connection. */
export function client(address: string, token: string): TestDaemon['call'] {
  const separator = address.lastIndexOf(':')
  const host = address.slice(0, separator).replace(/^\[|\]$/g, '')
  const port = Number(address.slice(separator + 1))
  return (method, path, body, options = {}) => {
    const bytes = body === undefined ? undefined : toBytes(body)
    const headers: http.OutgoingHttpHeaders = { ...options.headers }
    const sentToken = options.token === undefined ? token : options.token
    if (sentToken !== null) headers['X-KMD-API-Token'] = sentToken
    if (bytes !== undefined) headers['Content-Length'] = bytes.length
    return new Promise<TestResponse>((resolve, reject) => {
      const request = http.request({ host, port, method, path, headers, agent: false }, (response) => {
        const parts: Buffer[] = []
        response.on('data', (part: Buffer) => parts.push(part))
        response.on('error', reject)
        response.on('end', () => resolve(toTestResponse(response, Buffer.concat(parts))))
      })
      request.setTimeout(options.timeoutMs ?? 60_000, () =>
        request.destroy(new Error(`${method} ${path}: no answer in time`)),
      )
      request.on('error', reject)
      request.end(bytes)
    })
  }
}

function toBytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

function toTestResponse(response: http.IncomingMessage, body: Buffer): TestResponse {
  const text = body.toString()
  let json: Json
  try {
    json = JSON.parse(text)
  } catch {
    // Not every response is JSON; a test that expects it gets undefined.
  }
  return { status: response.statusCode!, headers: response.headers, body, text, json }
}

type Starting = {
  pid: number
  dir: string
  output: () => string
  exited: Promise<number | NodeJS.Signals>
  timeoutMs: number
}

/** kmd.pid is written after kmd.net, so the pid of this process means that both files belong to it. */
async function untilListening({ pid, dir, output, exited, timeoutMs }: Starting): Promise<string> {
  let end: number | NodeJS.Signals | undefined
  exited.then(
    (code) => {
      end = code
    },
    () => {
      end = -1
    },
  )
  const deadline = Date.now() + timeoutMs
  while (Date.now() < deadline) {
    if (end !== undefined) throw new DaemonEndedError(end, output(), readIfThere(join(dir, 'kmd.log')))
    if (readIfThere(join(dir, 'kmd.pid')) === String(pid)) return readFileSync(join(dir, 'kmd.net'), 'utf8')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`kmd was not listening after ${timeoutMs} ms: ${output()}`)
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

async function within<T>(promise: Promise<T>, ms: number, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** The process exited instead of listening. */
export class DaemonEndedError extends Error {
  override name = 'DaemonEndedError'
  readonly exit: number | NodeJS.Signals
  readonly output: string
  readonly log: string

  constructor(exit: number | NodeJS.Signals, output: string, log: string) {
    super(`kmd ended with ${exit} before it listened: ${output}${log}`)
    this.exit = exit
    this.output = output
    this.log = log
  }
}
