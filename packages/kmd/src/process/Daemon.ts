/** The daemon as a process: a data directory, its files and lock, the server on top, and an orderly end. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Algod } from '@latchkey/algod'
import { Access, type Limits, type RawResponse, Server } from '@latchkey/http'
import { App } from '../App.js'
import { SignatureLog } from '../activity/SignatureLog.js'
import { linkPath } from '../api/consoleOperations.js'
import { Sessions } from '../console/Sessions.js'
import { Tickets } from '../console/Tickets.js'
import { ScryptPool } from '../derivation/index.js'
import { StartError } from '../errors.js'
import { Handles } from '../Handles.js'
import { Metrics } from '../Metrics.js'
import { version } from '../version.js'
import { PasswordThrottle } from '../wallet/PasswordThrottle.js'
import { Wallets } from '../wallet/Wallets.js'
import type { Wire } from '../wire/Wire.js'
import { Closers } from './Closers.js'
import * as Config from './Config.js'
import * as Heap from './Heap.js'
import { IdleTimer } from './IdleTimer.js'
import * as ListenAddress from './ListenAddress.js'
import * as Lock from './Lock.js'
import { Log } from './Log.js'
import * as StateFiles from './StateFiles.js'
import * as Token from './Token.js'

export type DaemonOptions = {
  dataDir: string
  /** The form of answers, where kmd_config.json does not say. */
  wire: Wire
  /** Overrides kmd_config.json. */
  forceWire?: Wire | undefined
  /** Stop after this long without a request; never when 0. */
  idleSecs?: number
  /** The Algorand node to ask about accounts. Overrides kmd_config.json. */
  node?: { url: string; token?: string | undefined } | undefined
  limits?: Partial<Limits>
}

/** Unlocking takes half as much memory again as all the rest; it is given back when nobody does. */
const derivationIdleMs = 3_000

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
  readonly #tickets: Tickets

  private constructor(state: Omit<Daemon, 'stop' | 'consoleLink'> & { stop: () => Promise<void>; tickets: Tickets }) {
    this.address = state.address
    this.tokenFile = state.tokenFile
    this.wire = state.wire
    this.warnings = state.warnings
    this.stopped = state.stopped
    this.#stop = state.stop
    this.#tickets = state.tickets
  }

  /** The order is the reference's; a second instance fails at the lock and touches nothing of the first. */
  static async start(options: DaemonOptions): Promise<Daemon> {
    const log = openLog(options.dataDir)
    try {
      return new Daemon(await start(options, log))
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      log.write('error', `couldn't start kmd: ${message}`)
      log.close()
      throw error instanceof StartError ? error : new StartError('start_failed', { message, cause: error })
    }
  }

  /** A link that opens the console in a browser on this machine: once, and within a minute unless told. */
  consoleLink({ lifetimeMs }: { lifetimeMs?: number | undefined } = {}): string {
    return `http://${ListenAddress.reachable(this.address)}${linkPath(this.#tickets.create(lifetimeMs))}`
  }

  /** Ends requests, handles and files, in that order. */
  stop(): Promise<void> {
    return this.#stop()
  }
}

async function start(options: DaemonOptions, log: Log) {
  const { dataDir } = options
  if (dataDir === '') throw new StartError('blank_data_dir')
  const config = readConfig(dataDir)
  Config.validate(config)
  const walletsDir = Config.walletsDirectory(config, dataDir)
  makeDirectory(walletsDir)
  const token = new Access.TokenCheck(Token.readOrCreate(dataDir))
  const lock = Lock.take(dataDir)
  const closers = new Closers()
  closers.add(() => Lock.release(lock))
  try {
    Heap.keepSmall()
    const derivation = new ScryptPool({ idleMs: derivationIdleMs, onWorkerStart: Heap.keepSmall })
    closers.add(() => derivation.close())
    const throttle = new PasswordThrottle({
      file: join(dataDir, 'latchkey_failures.json'),
      onSaveFailure: (error) => log.write('error', `wrong passwords are not kept over a restart: ${explain(error)}`),
    })
    const wallets = new Wallets({ directory: walletsDir, scrypt: config.scrypt, derivation, throttle })
    closers.add(() => wallets.close())
    const handles = new Handles({ lifetimeMs: config.sessionLifetimeSecs * 1000 })
    closers.add(() => handles.close())
    const node = openNode(options.node ?? config.algod, closers)
    const [tickets, sessions] = [new Tickets(), new Sessions()]
    const wire = options.forceWire ?? config.wire ?? options.wire
    const idle = new IdleTimer(options.idleSecs ?? 0)
    const app = new App({
      services: {
        ...{ wallets, handles, throttle, tickets, sessions, node, version },
        signings: new SignatureLog(),
        startedAtMs: Date.now(),
      },
      wire,
      token,
      cors: { allowedOrigins: config.allowedOrigins, allowPrivateNetwork: config.allowHeaderPna },
      hosts: allowedHosts(config),
      metrics: makeMetrics(handles),
      onActivity: () => idle.restart(),
      onFailure: (operation, error) => log.write('error', `${operation}: ${explain(error)}`),
    })
    const server = new Server({
      handle: (request) => app.handle(request),
      errorResponse: refuse,
      limits: options.limits,
    })
    closers.add(() => StateFiles.remove(dataDir))
    const address = await listen(server, config.address)
    closers.add(async () => {
      await server.stop()
      log.write('info', 'kmd wallet HTTP server stopped with: http: Server closed')
    })
    closers.add(() => throttle.close())
    const take = (taken: string): void => {
      token.replace(taken)
      // Whoever came in by the old one is out.
      sessions.clear()
      tickets.clear()
    }
    closers.add(Token.follow(dataDir, { take, log }))
    const warnings = findWarnings(config)
    for (const warning of warnings) log.write('warning', warning)
    log.write('info', `started kmd on sock: ${address}`)
    // Last, because whoever sees them takes the start for done.
    StateFiles.write(dataDir, { address, pid: process.pid })
    const { stop, stopped } = stopOnce(async () => {
      idle.cancel()
      await closers.close()
      log.write('info', 'kmd server died. exiting...')
      log.close()
    })
    idle.start(() => {
      log.write('info', 'killing kmd after timeout')
      void stop()
    })
    return { address, tokenFile: Token.path(dataDir), wire, warnings, tickets, stop, stopped }
  } catch (error) {
    await closers.close()
    throw error
  }
}

/** Short, because a person waits at the console. */
const nodeTimeoutMs = 5_000

/** Makes no connection before the first query. */
function openNode(address: DaemonOptions['node'], closers: Closers): Algod | undefined {
  if (address === undefined) return undefined
  const node = new Algod({ nodes: [address], timeoutMs: nodeTimeoutMs })
  closers.add(() => node.close())
  return node
}

function openLog(dataDir: string): Log {
  try {
    return new Log(dataDir)
  } catch (error) {
    const { message } = error as Error
    // The reference resolves a blank directory to none at all and fails later.
    if (dataDir === '') throw new StartError('blank_data_dir', { cause: error })
    throw new StartError('log_not_writable', { message: `failed to open log file: ${message}`, cause: error })
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

/** What never was a request gets the usual envelope too. */
function refuse(status: number, message: string): RawResponse {
  const body = JSON.stringify({ error: true, message })
  return { status, headers: ['Content-Type', 'application/json'], body }
}

/** Without an address, the usual port of the loopback interface, or any other when it is taken. */
async function listen(server: Server, address: string): Promise<string> {
  if (address === '') {
    const host = '127.0.0.1'
    const bound = await server.listen(host, ListenAddress.defaultPort).catch(() => server.listen(host, 0))
    return ListenAddress.format(bound.address, bound.port)
  }
  const { host, port } = ListenAddress.parse(address)
  const bound = await server.listen(host, port).catch((error: NodeJS.ErrnoException) => {
    // A machine without IPv6, as many containers are: everywhere is then every IPv4 interface.
    if (host !== '::' || !['EAFNOSUPPORT', 'EADDRNOTAVAIL'].includes(error.code ?? '')) throw error
    return server.listen('0.0.0.0', port)
  })
  return ListenAddress.format(bound.address, bound.port)
}

function allowedHosts(config: Config.Config): ReadonlySet<string> {
  const hosts = new Set(config.allowedHosts.map((host) => host.toLowerCase()))
  if (config.address === '') return hosts
  const { host } = ListenAddress.parse(config.address)
  hosts.add(host)
  if (host === '::') hosts.add('0.0.0.0')
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

function makeMetrics(handles: Handles): Metrics {
  const metrics = new Metrics()
  metrics.gauge({ name: 'latchkey_open_handles', help: 'Wallet handles that are open.', read: () => handles.size })
  metrics.gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory of the process.',
    read: () => process.memoryUsage.rss(),
  })
  return metrics
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
