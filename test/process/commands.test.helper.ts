/** Provides helpers of the process tests: cleanup at the end of a test, a client for the daemon, and raw sockets. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startHosted as hostCommand } from '../support/commandHost.test.helper.js'
import {
  type CallOptions,
  client,
  fastConfig,
  type Json,
  kmdCommand,
  root,
  startDaemon,
  startHostedDaemon,
  type TestDaemon,
  type TestResponse,
} from '../support/daemon.test.helper.js'

export type { Json, TestResponse }

/** The script of the `kmd` command. */
export const kmdScript = join(root, 'packages', 'cli', 'bin', 'kmd.js')

/** Long enough for an overloaded machine; a timeout means that the expected event does not happen. */
const timeoutMs = 180_000

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export async function until<T>(what: string, look: () => T | undefined | false | Promise<T | undefined | false>) {
  const giveUpAt = performance.now() + timeoutMs
  for (;;) {
    const found = await look()
    if (found !== undefined && found !== false) return found
    assert.ok(performance.now() < giveUpAt, `waited too long for: ${what}`)
    await sleep(10)
  }
}

/** A zombie process does not count as alive: a container without an init never collects it. */
export const isAlive = (pid: number): boolean => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2, text.lastIndexOf(')') + 3) !== 'Z'
  } catch {
    return false
  }
}

/** Returns the result of `work` and the time it took. */
export async function timed<T>(work: Promise<T>): Promise<{ result: T; elapsedMs: number }> {
  const startedAt = performance.now()
  const result = await work
  return { result, elapsedMs: performance.now() - startedAt }
}

/** A test, or a suite (`suiteScope`). */
export type Scope = Pick<TestContext, 'after'>

const cleanups = new WeakMap<Scope, (() => unknown)[]>()

/** Runs `work` at the end of the test, in reverse order of registration. */
export function atEnd(t: Scope, work: () => unknown): void {
  const known = cleanups.get(t)
  if (known !== undefined) {
    known.push(work)
    return
  }
  const steps = [work]
  cleanups.set(t, steps)
  t.after(async () => {
    for (const step of steps.reverse()) await step()
  })
}

/** Returns the scope of resources that all tests of a suite share; called in the body of the suite. */
export function suiteScope(): Scope {
  const steps: (() => unknown)[] = []
  after(async () => {
    for (const step of steps) await step()
  })
  return { after: (step) => void steps.push(step as () => unknown) }
}

export function temporaryDirectory(t: Scope): string {
  const directory = mkdtempSync(join(tmpdir(), 'kmd-test-'))
  atEnd(t, () => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
  return directory
}

/** Creates a data directory with settings on top of `fastConfig`. A string is the whole file; `false` writes none. */
export function dataDirectory(t: Scope, settings: { [name: string]: unknown } | string | false = {}): string {
  const dataDir = join(temporaryDirectory(t), 'kmd-v0.5')
  mkdirSync(dataDir, { mode: 0o700 })
  if (settings !== false) configure(dataDir, settings)
  return dataDir
}

export function configure(dataDir: string, settings: { [name: string]: unknown } | string): void {
  const text = typeof settings === 'string' ? settings : JSON.stringify({ ...fastConfig, ...settings })
  writeFileSync(join(dataDir, 'kmd_config.json'), text)
}

/** The default key derivation, which takes half a second per password. */
export const slowDrivers = { drivers: { ledger: { disable: true } } }

export type Run = { code: number | null; stdout: string; stderr: string }

/** Runs the command until it exits. */
export async function run(t: Scope, args: readonly string[]): Promise<Run> {
  const child = spawn(kmdCommand, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs })
  atEnd(t, () => child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (part: Buffer) => {
    stdout += part
  })
  child.stderr.on('data', (part: Buffer) => {
    stderr += part
  })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, stdout, stderr }
}

/** Runs the command until it exits, in a process that ran others before; see `startHosted`. */
export async function runHosted(args: readonly string[]): Promise<Run> {
  const output = { stdout: '', stderr: '' }
  const { ended } = hostCommand({ command: 'kmd', args, env: process.env }, (name, text) => {
    output[name] += text
  })
  const end = await ended
  return { code: typeof end === 'number' ? end : null, ...output }
}

type RunningDaemon = Pick<TestDaemon, 'dir' | 'address' | 'token' | 'pid' | 'exited' | 'output' | 'call'> & {
  child: Pick<TestDaemon['child'], 'kill'>
}

/** A running daemon with the most common calls. */
export class Kmd {
  readonly dataDir: string
  readonly address: string
  readonly port: number
  readonly token: string
  readonly pid: number
  readonly exited: TestDaemon['exited']
  readonly output: TestDaemon['output']
  readonly call: TestDaemon['call']
  readonly #daemon: RunningDaemon

  constructor(daemon: RunningDaemon) {
    this.#daemon = daemon
    this.dataDir = daemon.dir
    this.address = daemon.address
    this.port = Number(daemon.address.slice(daemon.address.lastIndexOf(':') + 1))
    this.token = daemon.token
    this.pid = daemon.pid
    this.exited = daemon.exited
    this.output = daemon.output
    this.call = daemon.call
  }

  path(...names: string[]): string {
    return join(this.dataDir, ...names)
  }

  walletPath(...names: string[]): string {
    return this.path('sqlite_wallets', ...names)
  }

  log(): string {
    return readFileSync(this.path('kmd.log'), 'utf8')
  }

  /** Returns the body; any status other than 200 fails the test. */
  async ok(method: string, path: string, body?: unknown, options?: CallOptions): Promise<Json> {
    const { status, json, text } = await this.call(method, path, body, options)
    assert.equal(status, 200, `${method} ${path}: ${status} ${text}`)
    return json
  }

  /** Creates a wallet and returns its id. */
  async create(name: string, password: string, more: { [name: string]: unknown } = {}): Promise<string> {
    const body = { wallet_name: name, wallet_driver_name: 'sqlite', wallet_password: password, ...more }
    return (await this.ok('POST', '/v1/wallet', body)).wallet.id
  }

  tryUnlock(walletId: string, password: string): Promise<TestResponse> {
    return this.call('POST', '/v1/wallet/init', { wallet_id: walletId, wallet_password: password })
  }

  /** Unlocks a wallet and returns the handle. */
  async unlock(walletId: string, password: string): Promise<string> {
    const body = { wallet_id: walletId, wallet_password: password }
    return (await this.ok('POST', '/v1/wallet/init', body)).wallet_handle_token
  }

  /** Generates a key and returns its address. */
  async generate(handle: string): Promise<string> {
    return (await this.ok('POST', '/v1/key', { wallet_handle_token: handle })).address
  }

  async keys(handle: string): Promise<string[]> {
    return (await this.ok('POST', '/v1/key/list', { wallet_handle_token: handle })).addresses ?? []
  }

  async wallets(): Promise<{ id: string; name: string }[]> {
    return (await this.ok('GET', '/v1/wallets')).wallets ?? []
  }

  async walletNames(): Promise<string[]> {
    return (await this.wallets()).map(({ name }) => name)
  }

  /** Sends the signal and waits for the exit code, or the signal that ended the process. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | NodeJS.Signals> {
    this.signal(signal)
    return await this.exited
  }

  signal(signal: NodeJS.Signals): void {
    this.#daemon.child.kill(signal)
  }
}

export type StartOptions = {
  dataDir?: string
  settings?: { [name: string]: unknown }
  args?: readonly string[]
  umask?: number
}

/** Starts the daemon; kills it at the end of the test if it still runs. */
export async function start(t: Scope, options: StartOptions = {}): Promise<Kmd> {
  const dir = options.dataDir ?? dataDirectory(t, options.settings)
  const umask = process.umask()
  if (options.umask !== undefined) process.umask(options.umask)
  const starting = startDaemon({ dir, config: null, token: null, args: options.args ?? [] })
  // The process has been spawned and has inherited the mask.
  process.umask(umask)
  const daemon = await starting
  atEnd(t, () => daemon.kill())
  return new Kmd(daemon)
}

/**
 * Starts the daemon like `start`, but in a process that ran others before, which takes a fraction of the time. For tests
 * of files, settings, responses and signals: not of how a process starts and exits.
 */
export async function startHosted(t: Scope, options: Omit<StartOptions, 'umask'> = {}): Promise<Kmd> {
  const dir = options.dataDir ?? dataDirectory(t, options.settings)
  const daemon = await startHostedDaemon({ dir, config: null, token: null, args: options.args ?? [] })
  atEnd(t, () => daemon.kill())
  return new Kmd(daemon)
}

/**
 * Starts the daemon like `start`, but in this process, which takes a fraction of the time. For tests of files, settings
 * and responses. The only signal is the SIGTERM of `stop`.
 */
export async function startInProcess(t: Scope, options: Omit<StartOptions, 'args' | 'umask'> = {}): Promise<Kmd> {
  const dir = options.dataDir ?? dataDirectory(t, options.settings)
  // Loaded here, because most files of process tests need no daemon in their process.
  const { Daemon } = await import('@latchkey/kmd')
  const daemon = await Daemon.start({ dataDir: dir, wire: 'reference' })
  atEnd(t, () => daemon.stop())
  const token = readFileSync(daemon.tokenFile, 'utf8').split('\n')[0]!
  const { address } = daemon
  const kill = (name: NodeJS.Signals): void => {
    assert.equal(name, 'SIGTERM', 'a daemon in this process can only be stopped')
    void daemon.stop()
  }
  const exited = daemon.stopped.then(() => 0)
  return new Kmd({
    dir,
    address,
    token,
    pid: process.pid,
    exited,
    output: () => '',
    call: client(address, token),
    child: { kill },
  })
}

/**
 * Makes another program lock a wallet's database, so requests for it wait for up to five seconds. Returns the release.
 */
export async function holdDatabase(t: Scope, path: string): Promise<() => Promise<void>> {
  const script = fileURLToPath(new URL('./holdDatabase.test.helper.js', import.meta.url))
  const child = spawn(process.execPath, [script, path], { stdio: ['pipe', 'pipe', 'inherit'] })
  atEnd(t, () => child.kill('SIGKILL'))
  const ended = once(child, 'close')
  await once(child.stdout, 'data')
  return async () => {
    child.stdin.end()
    await ended
  }
}

export type Line = { socket: Socket; received: () => string; closed: Promise<void> }

/**
 * Opens a raw connection and collects received data; a reset counts as an end. `closed` rejects if the other side never
 * closes the connection.
 */
export async function dial(t: Scope, port: number, host = '127.0.0.1'): Promise<Line> {
  const socket = connect(port, host)
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk: string) => {
    text += chunk
  })
  // Ends the wait of a test for a connection that is never closed.
  const giveUpAt = performance.now() + timeoutMs
  const giveUp = setTimeout(() => socket.destroy(new Error('the connection was never closed')), timeoutMs)
  const closed = new Promise<void>((resolve, reject) => {
    socket.on('close', () => {
      clearTimeout(giveUp)
      if (performance.now() < giveUpAt) resolve()
      else reject(new Error('waited too long for the connection to be closed'))
    })
  })
  // Many tests do not await it.
  closed.catch(() => {})
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  socket.on('error', () => {})
  atEnd(t, () => socket.destroy())
  return { socket, received: () => text, closed }
}

/** Sends bytes over a new connection and returns everything received until the other side ends it. */
export async function exchange(t: Scope, port: number, bytes: string | Buffer): Promise<string> {
  const { socket, received, closed } = await dial(t, port)
  socket.write(bytes)
  await closed
  return received()
}

/** Returns the status of the first response; 0 without one. */
export const statusOf = (received: string): number => Number(/^HTTP\/1\.[01] ([0-9]{3})/.exec(received)?.[1] ?? 0)

/** Returns the status of every response, in order. */
export const statusesOf = (received: string): number[] =>
  [...received.matchAll(/HTTP\/1\.[01] ([0-9]{3}) /g)].map(([, status]) => Number(status))

export async function isReachable(t: Scope, port: number, host: string): Promise<boolean> {
  return await dial(t, port, host).then(
    ({ socket }) => {
      socket.destroy()
      return true
    },
    () => false,
  )
}
