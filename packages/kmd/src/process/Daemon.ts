/** The daemon as a process: a data directory, its files and lock, the server on top, and an orderly end. */
import { mkdirSync, readFileSync, unlinkSync, watch, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { App } from '../App.js'
import { ScryptPool } from '../derivation/index.js'
import { Handles } from '../Handles.js'
import { TokenCheck } from '../http/Doors.js'
import { type Limits, Server } from '../http/Server.js'
import type { Wire } from '../http/Wire.js'
import { Metrics } from '../Metrics.js'
import { version } from '../version.js'
import { PasswordThrottle } from '../wallet/PasswordThrottle.js'
import { Wallets } from '../wallet/Wallets.js'
import * as Config from './Config.js'
import * as Heap from './Heap.js'
import * as ListenAddress from './ListenAddress.js'
import * as Lock from './Lock.js'
import { Log } from './Log.js'
import * as Token from './Token.js'

export type DaemonOptions = {
  dataDir: string
  /** The form of answers, where kmd_config.json does not say. */
  wire: Wire
  /** Overrides kmd_config.json. */
  forceWire?: Wire | undefined
  /** Stop after this long without a request; never when 0. */
  idleSecs?: number
  limits?: Partial<Limits>
}

/** Unlocking takes half as much memory again as all the rest; it is given back when nobody does. */
const derivationIdleMs = 3_000

/** Exit codes of the Go daemon, which its launcher acts on. */
export const exitCodes = { ok: 0, usage: 1, log: 2, start: 3, locked: 4 } as const

export class Daemon {
  /** As in kmd.net. */
  readonly address: string
  readonly tokenFile: string
  readonly wire: Wire
  /** What the operator should know: doors that stand wider open than they might think. */
  readonly warnings: readonly string[]
  /** Fulfilled when the daemon has stopped, for whatever reason. */
  readonly stopped: Promise<void>
  readonly #stop: () => Promise<void>

  private constructor(state: Omit<Daemon, 'stop'> & { stop: () => Promise<void> }) {
    this.address = state.address
    this.tokenFile = state.tokenFile
    this.wire = state.wire
    this.warnings = state.warnings
    this.stopped = state.stopped
    this.#stop = state.stop
  }

  /** The order is the reference's; a second instance fails at the lock and touches nothing of the first. */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const log = openLog(options.dataDir)
    try {
      return new Daemon(await start(options, log))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      log.write('error', `couldn't start kmd: ${reason}`)
      log.close()
      throw new StartError(reason, error instanceof Lock.LockedError ? exitCodes.locked : exitCodes.start, error)
    }
  }

  /** Ends requests, handles and files, in that order. */
  stop(): Promise<void> {
    return this.#stop()
  }
}

async function start(options: DaemonOptions, log: Log) {
  const { dataDir } = options
  if (dataDir === '') throw new Error('the data directory must not be blank')
  const config = readConfig(dataDir)
  Config.validate(config)
  const walletsDir = Config.walletsDirectory(config, dataDir)
  makeDirectory(walletsDir)
  const token = new TokenCheck(Token.readOrCreate(dataDir))
  const lock = Lock.take(dataDir)
  const cleanup: (() => unknown)[] = [() => Lock.release(lock)]
  try {
    Heap.keepSmall()
    const derivation = new ScryptPool({ idleMs: derivationIdleMs, onWorkerStart: Heap.keepSmall })
    cleanup.unshift(() => derivation.close())
    const throttle = new PasswordThrottle({ file: join(dataDir, 'latchkey_failures.json') })
    const wallets = new Wallets({ directory: walletsDir, scrypt: config.scrypt, derivation, throttle })
    cleanup.unshift(() => wallets.close())
    const handles = new Handles({ lifetimeMs: config.sessionLifetimeSecs * 1000 })
    cleanup.unshift(() => handles.close())
    const metrics = new Metrics()
    addGauges(metrics, handles)
    const wire = options.forceWire ?? config.wire ?? options.wire
    const idle = new IdleTimer(options.idleSecs ?? 0)
    const app = new App({
      services: { wallets, handles, throttle, startedAtMs: Date.now(), version },
      wire,
      token,
      cors: { allowedOrigins: config.allowedOrigins, allowPrivateNetwork: config.allowHeaderPna },
      hosts: allowedHosts(config),
      metrics,
      onActivity: () => idle.restart(),
      onFailure: (operation, error) => log.write('error', `${operation}: ${explain(error)}`),
    })
    const server = new Server({
      handle: (request) => app.handle(request),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
    })
    const address = await listen(server, config.address)
    cleanup.unshift(() => server.stop())
    cleanup.unshift(followToken(dataDir, token, log))
    const files = [writeStateFile(dataDir, 'kmd.net', address), writeStateFile(dataDir, 'kmd.pid', String(process.pid))]
    log.write('info', `started kmd on sock: ${address}`)
    const warnings = findWarnings(config)
    for (const warning of warnings) log.write('warning', warning)
    const { stop, stopped } = stopOnce(async () => {
      idle.cancel()
      for (const step of cleanup.slice(0, 2)) await step()
      log.write('info', 'kmd wallet HTTP server stopped with: http: Server closed')
      for (const file of files) removeIfThere(file)
      for (const step of cleanup.slice(2)) await step()
      log.write('info', 'kmd server died. exiting...')
      log.close()
    })
    idle.start(() => {
      log.write('info', 'killing kmd after timeout')
      void stop()
    })
    return { address, tokenFile: Token.path(dataDir), wire, warnings, stop, stopped }
  } catch (error) {
    for (const step of cleanup) await step()
    throw error
  }
}

function openLog(dataDir: string): Log {
  try {
    return new Log(dataDir)
  } catch (error) {
    const { message } = error as Error
    // The reference resolves a blank directory to none at all and fails later.
    if (dataDir === '') throw new StartError('the data directory must not be blank', exitCodes.start, error)
    throw new StartError(`failed to open log file: ${message}`, exitCodes.log, error)
  }
}

function readConfig(dataDir: string): Config.Config {
  let text: string
  try {
    text = readFileSync(join(dataDir, 'kmd_config.json'), 'utf8')
  } catch {
    try {
      writeFileSync(join(dataDir, 'kmd_config.json.example'), Config.example())
    } catch {
      // It is only an example.
    }
    return Config.defaults
  }
  return Config.parse(text)
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Without an address, the usual port of the loopback interface, or any other when it is taken. */
async function listen(server: Server, address: string): Promise<string> {
  if (address === '') {
    const host = '127.0.0.1'
    const bound = await server.listen(host, ListenAddress.defaultPort).catch(() => server.listen(host, 0))
    return ListenAddress.format(bound.address, bound.port)
  }
  const { host, port } = ListenAddress.parse(address)
  const bound = await server.listen(host, port)
  return ListenAddress.format(bound.address, bound.port)
}

function allowedHosts(config: Config.Config): ReadonlySet<string> {
  const hosts = new Set(config.allowedHosts.map((host) => host.toLowerCase()))
  if (config.address !== '') hosts.add(ListenAddress.parse(config.address).host)
  return hosts
}

function findWarnings(config: Config.Config): string[] {
  const warnings: string[] = []
  if (config.allowedOrigins.includes('*')) {
    warnings.push(
      'allowed_origins contains *: every web page the browser opens may talk to this daemon, if it knows the token',
    )
  }
  if (config.address !== '' && !ListenAddress.parse(config.address).isLoopback) {
    warnings.push(`address ${config.address} can be reached from other machines, without encryption`)
  }
  return warnings
}

function addGauges(metrics: Metrics, handles: Handles): void {
  const help = 'Wallet handles that are open.'
  metrics.gauge({ name: 'latchkey_open_handles', help, read: () => handles.size })
  metrics.gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of the process.',
    read: () => process.memoryUsage.rss(),
  })
}

/** Takes a new token over as soon as the file has one; a file that is gone or damaged changes nothing. */
function followToken(dataDir: string, token: TokenCheck, log: Log): () => void {
  let identity = Token.identity(dataDir)
  const look = (): void => {
    const current = Token.identity(dataDir)
    if (current === identity) return
    identity = current
    try {
      const replaced = Token.read(dataDir)
      if (replaced === undefined) return
      token.replace(replaced)
      log.write('info', 'took over the API token in kmd.token')
    } catch (error) {
      log.write('error', `kmd.token was changed but not taken over: ${(error as Error).message}`)
    }
  }
  // Notices are not to be had on every file system, so look now and then as well.
  const timer = setInterval(look, 1_000).unref()
  const watcher = watch(dataDir, { persistent: false }, (_event, file) => {
    if (file === Token.fileName) look()
  })
  watcher.on('error', () => watcher.close())
  return () => {
    clearInterval(timer)
    watcher.close()
  }
}

/** kmd.net and kmd.pid: no newline, there only while the daemon runs. */
function writeStateFile(dataDir: string, name: string, content: string): string {
  const path = join(dataDir, name)
  removeIfThere(path)
  writeFileSync(path, content, { mode: 0o640 })
  return path
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${error.message}${cause}`
}

function stopOnce(work: () => Promise<void>): { stop: () => Promise<void>; stopped: Promise<void> } {
  let running: Promise<void> | undefined
  let settle = (): void => {}
  const stopped = new Promise<void>((resolve) => {
    settle = resolve
  })
  const stop = (): Promise<void> => {
    running ??= work().finally(settle)
    return running
  }
  return { stop, stopped }
}

class IdleTimer {
  readonly #ms: number
  #timer: NodeJS.Timeout | undefined

  constructor(seconds: number) {
    this.#ms = seconds * 1000
  }

  start(onIdle: () => void): void {
    if (this.#ms > 0) this.#timer = setTimeout(onIdle, this.#ms)
  }

  restart(): void {
    this.#timer?.refresh()
  }

  cancel(): void {
    clearTimeout(this.#timer)
  }
}

export class StartError extends Error {
  override name = 'StartError'
  readonly exitCode: number

  constructor(message: string, exitCode: number, cause?: unknown) {
    super(message, { cause })
    this.exitCode = exitCode
  }
}
