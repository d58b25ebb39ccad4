/** Runs the daemon as a process: the data directory, the server, the files that launchers read, and an orderly stop. */
import { type Limits, type RawHandler, type RawResponse, type RequestRecord, Server } from '@latchkey/http'
import type { Wire } from '@latchkey/kmd-api'
import { Closers } from './Closers.js'
import type { Config } from './Config.js'
import { DaemonApp, type DaemonAppOptions, logStartError } from './DaemonApp.js'
import * as ListenAddress from './ListenAddress.js'
import { explain } from './Log.js'
import * as StateFiles from './StateFiles.js'
import * as UnixSocket from './UnixSocket.js'

/** Options of {@link Daemon.start}. */
export type DaemonOptions = Omit<DaemonAppOptions, 'onActivity'> & {
  /**
   * Stop after this many seconds without a request.
   * @default 0, never
   */
  idleSecs?: number
  /**
   * The absolute path of a Unix socket to listen on in addition to the port.
   * @default `unix_socket` in kmd_config.json
   */
  unixSocket?: string | undefined
  /** @default `defaultLimits` of `@latchkey/http` */
  limits?: Partial<Limits>
}

/**
 * A running daemon.
 *
 * @example
 * ```ts
 * const daemon = await Daemon.start({ dataDir: '/var/lib/kmd-v0.5', wire: 'reference' })
 * console.log(daemon.address, daemon.tokenFile)
 * await daemon.stop()
 * ```
 */
export class Daemon {
  /** `host:port`, as in kmd.net. */
  readonly address: string
  /** The path of the Unix socket; undefined if there is none. */
  readonly unixSocket: string | undefined
  /** The file with the API token that requests need. */
  readonly tokenFile: string
  /** The form of responses. */
  readonly wire: Wire
  /** Warnings about settings that expose the daemon to other machines or pages, and about unknown settings. */
  readonly warnings: readonly string[]
  /** Resolves when the daemon has stopped, through `stop` or after `idleSecs`. */
  readonly stopped: Promise<void>
  readonly #app: DaemonApp
  readonly #stop: () => Promise<void>

  private constructor(app: DaemonApp, { address, unixSocket, stop, stopped }: Running) {
    this.address = address
    this.unixSocket = unixSocket
    this.tokenFile = app.tokenFile
    this.wire = app.wire
    this.warnings = app.warnings
    this.stopped = stopped
    this.#app = app
    this.#stop = stop
  }

  /**
   * Opens the data directory and starts listening. Changes nothing else in the process: no signal handlers, no flags.
   *
   * @throws {@link StartError} with a code for each reason.
   */
  static async start({ idleSecs = 0, limits, unixSocket, ...options }: DaemonOptions): Promise<Daemon> {
    const idle = new IdleTimer(idleSecs)
    const app = await DaemonApp.open({ ...options, onActivity: () => idle.restart() })
    return new Daemon(app, await run(app, { dataDir: options.dataDir, idle, limits, unixSocket }))
  }

  /**
   * Returns a link that opens the console once, in a browser on this machine.
   *
   * @param options `lifetimeMs`: how long the link works; a minute by default.
   */
  consoleLink(options: { lifetimeMs?: number | undefined } = {}): string {
    return `http://${ListenAddress.reachable(this.address)}${this.#app.consolePath(options)}`
  }

  /** kmd.log, for log lines of the program that hosts the daemon. */
  get log(): DaemonApp['log'] {
    return this.#app.log
  }

  /** Like {@link DaemonApp}'s `reload`, for SIGHUP: reopens kmd.log and applies changed settings. */
  reload(): void {
    this.#app.reload()
  }

  /** Stops the server, ends handles and closes files, in this order. */
  stop(): Promise<void> {
    return this.#stop()
  }
}

type Running = { address: string; unixSocket: string | undefined; stop: () => Promise<void>; stopped: Promise<void> }

/** Gives a launcher time to send its first request, which would otherwise wait while this thread loads libraries. */
const prepareAfterMs = 25

type RunOptions = Pick<DaemonOptions, 'dataDir' | 'unixSocket'> & {
  limits: Partial<Limits> | undefined
  idle: IdleTimer
}

async function run(app: DaemonApp, { dataDir, idle, limits, unixSocket }: RunOptions): Promise<Running> {
  const { log } = app
  const onError = (error: unknown): void => log.write('error', `the request handler failed: ${String(error)}`)
  const onRequest = (record: RequestRecord): void => log.request(record)
  const serve = (handle: RawHandler): Server =>
    new Server({ handle, errorResponse: envelope, onError, onRequest, limits })
  const server = serve(app.handle)
  const closers = new Closers()
  closers.add(() => StateFiles.remove(dataDir))
  try {
    const address = await listen(server, app.config.address)
    closers.add(async () => {
      await server.stop()
      log.write('info', 'kmd wallet HTTP server stopped with: http: Server closed')
    })
    const path = unixSocket ?? app.config.unixSocket
    if (path !== '') {
      const unix = serve(app.handleUnix)
      closers.add(() => unix.stop())
      const admitted = await UnixSocket.listen(unix, { path, ...unixSettings(app.config) })
      log.write('info', `listening on the Unix socket ${path}`)
      if (admitted === 'group' && app.config.unixSocketUids !== undefined) log.write('warning', noAccessList)
    }
    // Before the port is free for others.
    closers.add(() => StateFiles.removeAddress(dataDir))
    closers.add(() => app.stopWaiting())
    log.write('info', `started kmd on sock: ${address}`)
    // Last, because launchers regard the daemon as started once these files exist.
    StateFiles.write(dataDir, { address, pid: process.pid })
    const preparing = setTimeout(() => void app.prepare(), prepareAfterMs).unref()
    closers.add(() => clearTimeout(preparing))
    const { stop, stopped } = stopOnce(async () => {
      idle.cancel()
      try {
        await closers.close()
      } finally {
        log.write('info', 'kmd server died. exiting...')
        await app.close()
      }
    })
    idle.start(() => {
      log.write('info', 'killing kmd after timeout')
      void stop()
    })
    return { address, unixSocket: path === '' ? undefined : path, stop, stopped }
  } catch (error) {
    const cleanUp = async (): Promise<void> => closers.close().finally(() => app.closeFiles())
    await cleanUp().catch((failure) =>
      log.write('error', `cleaning up after a failed start failed: ${explain(failure)}`),
    )
    throw logStartError(log, error)
  }
}

const noAccessList =
  'the file system of the Unix socket has no access control lists: members of unix_socket_group who are not in unix_socket_uids are refused only after they have connected, and many of their connections delay others'

function unixSettings({ unixSocketGroup, unixSocketUids }: Config): Omit<UnixSocket.UnixSocketSettings, 'path'> {
  return { group: unixSocketGroup === '' ? undefined : unixSocketGroup, users: unixSocketUids }
}

/** The body of an error that comes from the server and not from the API. */
function envelope(status: number, message: string): RawResponse {
  const body = JSON.stringify({ error: true, message })
  return { status, headers: ['Content-Type', 'application/json'], body }
}

/** Without an address, listens on the default port of the loopback interface, or any other port if that is in use. */
async function listen(server: Server, address: string): Promise<string> {
  if (address === '') {
    const host = '127.0.0.1'
    const bound = await server.listen(host, ListenAddress.defaultPort).catch(() => server.listen(host, 0))
    return ListenAddress.format(bound.address, bound.port)
  }
  const { host, port } = ListenAddress.parse(address)
  const bound = await server.listen(host, port).catch((error: NodeJS.ErrnoException) => {
    // On a machine without IPv6, such as many containers, the wildcard means every IPv4 interface.
    if (host !== '::' || !['EAFNOSUPPORT', 'EADDRNOTAVAIL'].includes(error.code ?? '')) throw error
    return server.listen('0.0.0.0', port)
  })
  return ListenAddress.format(bound.address, bound.port)
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

/** Calls back after a time without activity; never if the time is 0. */
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
