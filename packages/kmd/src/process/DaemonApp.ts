/** The daemon without a server: a data directory, its lock, wallets and settings, behind a fetch handler. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import * as Libsodium from '@latchkey/algorand/sodium'
import {
  Access,
  type ConnectionEnds,
  type FetchHandler,
  type RawHandler,
  type RawRequest,
  type RawResponse,
} from '@latchkey/http'
import type { Wire } from '@latchkey/kmd-api'
import * as AtomicFile from '@latchkey/system/atomic-file'
import * as Sqlite from '@latchkey/system/sqlite'
import { reportingLog } from '../activity/reportSignatures.js'
import { SignatureLog, type SignatureRecord } from '../activity/SignatureLog.js'
import { ReservationKeeper } from '../agents/ReservationKeeper.js'
import type { Context } from '../api/Context.js'
import { linkPath } from '../api/consoleOperations.js'
import type { AuditEvent } from '../audit/AuditRecord.js'
import { Recorder } from '../audit/Recorder.js'
import { Sessions } from '../console/Sessions.js'
import { Tickets } from '../console/Tickets.js'
import { Contacts } from '../contacts/Contacts.js'
import { ScryptPool } from '../derivation/index.js'
import { KmdError, StartError } from '../errors.js'
import { Handles } from '../Handles.js'
import { RequestHandler, type RequestHandlerOptions } from '../RequestHandler.js'
import { tokenHeader } from '../requestRoute.js'
import { version } from '../version.js'
import { PasswordThrottle } from '../wallet/PasswordThrottle.js'
import { PendingBackups } from '../wallet/PendingBackups.js'
import type { Problem } from '../wallet/WalletDirectory.js'
import { Wallets } from '../wallet/Wallets.js'
import { openAgentParts } from './agentParts.js'
import { Closers } from './Closers.js'
import * as Config from './Config.js'
import { openDaemonState } from './daemonState.js'
import { explain } from './explain.js'
import * as Lock from './Lock.js'
import { Log, type LogSettings } from './Log.js'
import * as MetricsToken from './MetricsToken.js'
import { makeMetrics } from './makeMetrics.js'
import { nodeTimeoutMs, openNodes } from './openNodes.js'
import { PeerUsers } from './PeerUsers.js'
import * as Settings from './Settings.js'
import * as StateFiles from './StateFiles.js'
import * as Token from './Token.js'
import { UnixConnections } from './UnixConnections.js'

/** Options of {@link DaemonApp.open}. */
export type DaemonAppOptions = {
  /** An existing directory. */
  dataDir: string
  /**
   * The form of responses if kmd_config.json does not set it.
   * @default 'documented'
   */
  wire?: Wire
  /**
   * The form of responses, overriding kmd_config.json.
   * @default `wire` in kmd_config.json
   */
  forceWire?: Wire | undefined
  /**
   * The Algorand node for balances and transactions.
   * @default `algod` in kmd_config.json
   */
  node?: { url: string; token?: string | undefined } | undefined
  /**
   * Lets web pages of every loopback origin, such as `http://localhost:5173`, use the API with the token, in addition
   * to `allowed_origins`. For development only: every program on this machine can serve such a page.
   * @default false
   */
  allowLoopbackOrigins?: boolean | undefined
  /**
   * Called shortly after each signature. During a flood, called only for the latest ones.
   * @default none
   */
  onSignature?: ((signature: SignatureRecord) => void) | undefined
  /**
   * The format and minimum level of kmd.log if kmd_config.json does not set them.
   * @default the Go daemon's text format, and `info`, which logs every request
   */
  log?: LogSettings | undefined
  /**
   * The format and minimum level of kmd.log, overriding kmd_config.json.
   * @default `log_format` and `log_level` in kmd_config.json
   */
  forceLog?: LogSettings | undefined
  /** Called for every `/v1` request with a valid token. */
  onActivity?: () => void
  /**
   * Called when a key derivation thread has started. Starting a thread resets flags that the process gave V8.
   *
   * A program that hosts the daemon on Node below 22.16 must also call `collectWith` of `@latchkey/system/sqlite`, as
   * the commands do: before a garbage collection, the files of closed wallets stay open.
   */
  onWorkerStart?: () => void
}

/** Derivation threads take half as much memory again as everything else, so they end soon after their work. */
const derivationIdleMs = 3_000

type Parts = {
  handler: RequestHandler
  handleUnix: RawHandler
  config: Config.Config
  wire: Wire
  warnings: readonly string[]
  tickets: Tickets
  stopWaiting: Closers
  closers: Closers
  /** The settings overridden by options. */
  overridden: ReadonlySet<keyof Config.Config>
  /** Applies settings that need no restart. */
  apply: (config: Config.Config) => void
  replaceNode: (config: Config.Config) => void
}

/**
 * The daemon's API on a data directory, for your own server. `Daemon` adds the fast server of `@latchkey/http` and the
 * files that launchers look for.
 *
 * @example
 * ```ts
 * const app = await DaemonApp.open({ dataDir })
 * new Hono().all('*', (c) => app.fetch(c.req.raw)) // Hono
 * createServer(toNodeListener(app.fetch)) // node:http; toNodeListener is from @latchkey/http
 * express().use(toNodeListener(app.fetch)) // Express
 * ```
 */
export class DaemonApp {
  /** The API as a web-standard handler. */
  readonly fetch: FetchHandler
  /** The API in the private form of `@latchkey/http`. */
  readonly handle: RawHandler
  /** Like `handle`, for connections of a Unix socket. Checks `unix_socket_uids`. */
  readonly handleUnix: RawHandler
  /** The file with the API token that requests need. */
  readonly tokenFile: string
  /** The form of responses. */
  readonly wire: Wire
  /** Warnings about settings that expose the daemon to other machines or pages, and about unknown settings. */
  readonly warnings: readonly string[]
  /** kmd.log. */
  readonly log: Log
  readonly #parts: Parts
  readonly #dataDir: string
  #config: Config.Config

  private constructor(dataDir: string, log: Log, parts: Parts) {
    this.fetch = parts.handler.fetch
    this.handle = (request) => parts.handler.handle(request)
    this.handleUnix = parts.handleUnix
    this.tokenFile = Token.path(dataDir)
    this.wire = parts.wire
    this.warnings = parts.warnings
    this.log = log
    this.#parts = parts
    this.#dataDir = dataDir
    this.#config = parts.config
  }

  /** The current settings: those of kmd_config.json, or the defaults. */
  get config(): Config.Config {
    return this.#config
  }

  /**
   * Opens a data directory. The steps follow the Go daemon's order: a second instance fails at the lock and does not
   * affect the first.
   *
   * @throws {@link StartError} with a code for each reason.
   */
  static async open(options: DaemonAppOptions): Promise<DaemonApp> {
    const log = openLog(options)
    try {
      return new DaemonApp(options.dataDir, log, await openParts(options, log))
    } catch (error) {
      throw logStartError(log, error)
    }
  }

  /**
   * Reopens kmd.log by name, and applies changes in kmd_config.json that need no restart. An unreadable or invalid file
   * changes nothing. The result is written to kmd.log; nothing is thrown.
   */
  reload(): void {
    this.log.reopen()
    const result = Settings.reload(this.#dataDir, this.#config, this.#parts.overridden)
    if (result.config !== undefined) {
      this.#parts.apply(result.config)
      if (result.isNodeChanged) this.#parts.replaceNode(result.config)
      this.#config = result.config
    }
    for (const { level, text } of result.lines) this.log.write(level, text)
  }

  /**
   * Returns the path and fragment of a link that opens the console once.
   *
   * @param options `lifetimeMs`: how long the link works; a minute by default.
   */
  consolePath({ lifetimeMs }: { lifetimeMs?: number | undefined } = {}): string {
    return linkPath(this.#parts.tickets.create(lifetimeMs))
  }

  /**
   * Loads the libraries that wallet requests need. Without this call, the first such request loads them. This takes too
   * long to be part of the start.
   */
  prepare(): void {
    try {
      Libsodium.load()
      Sqlite.close(Sqlite.open(':memory:'))
    } catch (error) {
      this.log.write('error', `wallets cannot be used: ${explain(error)}`)
    }
  }

  /** Rejects requests that are waiting after wrong passwords, so that a server can stop. */
  stopWaiting(): Promise<void> {
    return this.#parts.stopWaiting.close()
  }

  /** Closes handles, wallets and files, and releases the lock. Stop the server first. */
  async close(): Promise<void> {
    try {
      await this.closeFiles()
    } finally {
      await this.log.close()
    }
  }

  /** Like `close`, but keeps the log open. */
  async closeFiles(): Promise<void> {
    try {
      await this.stopWaiting()
    } finally {
      await this.#parts.closers.close()
    }
  }
}

/** Logs why the daemon cannot start, and closes the log. */
export function logStartError(log: Log, error: unknown): StartError {
  const message = error instanceof Error ? error.message : String(error)
  log.write('error', `couldn't start kmd: ${message}`)
  void log.close()
  const failure = error instanceof StartError ? error : new StartError('start_failed', { message, cause: error })
  failure.isLogLost = log.lostLines > 0
  return failure
}

async function openParts(options: DaemonAppOptions, log: Log): Promise<Parts> {
  const { dataDir } = options
  if (dataDir === '') throw new StartError('blank_data_dir')
  Libsodium.check()
  const { config, unknown } = Settings.read(dataDir)
  Config.validate(config)
  log.configure(logSettings(options, config))
  const walletsDir = Config.walletsDirectory(config, dataDir)
  makeDirectory(walletsDir)
  const token = new Access.TokenCheck(Token.readOrCreate(dataDir))
  const lock = Lock.take(dataDir)
  const closers = new Closers()
  closers.add(() => Lock.release(lock))
  try {
    // While the lock is held, kmd.net must come from its holder. A stale file would name a port that any program may
    // use.
    StateFiles.remove(dataDir)
    const { onActivity, onWorkerStart } = options
    const derivation = new ScryptPool({ idleMs: derivationIdleMs, ...(onWorkerStart && { onWorkerStart }) })
    closers.add(() => derivation.close())
    const throttle = new PasswordThrottle({
      file: join(dataDir, 'latchkey_failures.json'),
      onSaveFailure: (error) => log.write('error', `wrong passwords are not kept over a restart: ${explain(error)}`),
    })
    const onProblem = ({ file, problem }: Problem): void => log.write('warning', `wallet file ${file} ${problem}`)
    const wallets = new Wallets({ directory: walletsDir, scrypt: config.scrypt, derivation, throttle, onProblem })
    closers.add(() => wallets.close())
    const handles = new Handles(Settings.lifetimes(config))
    closers.add(() => handles.close())
    let nodes = openNodes(options.node ?? config.algod, config.algodWitnesses)
    closers.add(() => nodes.close())
    const { node } = nodes
    const { audit, agents, approvals } = openDaemonState({ dataDir, config, log, wallets, closers })
    const peers = new PeerUsers()
    const { unixSocketUids: users, unixSocketGroup } = config
    const hasOwnersToken = (request: RawRequest): boolean => token.matches(request.header(tokenHeader))
    const unix = new UnixConnections({ peers, users, isShared: unixSocketGroup !== '', hasOwnersToken })
    const userOf = (ends: ConnectionEnds): Promise<number | undefined> =>
      unix.has(ends) ? unix.userOf(ends) : peers.of(ends)
    const agentParts = openAgentParts({
      ...{ agents, lifetimes: Settings.lifetimes(config), userOf },
      onWarning: (text) => log.write('warning', text),
    })
    const [tickets, sessions] = [new Tickets(), new Sessions()]
    const signatureLog = openSignatureLog(options, log)
    const wire = options.forceWire ?? config.wire ?? options.wire ?? 'documented'
    const context = {
      ...{ wallets, handles, throttle, tickets, sessions, signatureLog, node, version, audit, agents, approvals },
      ...openOwnerFiles(dataDir, log),
      ...agentParts,
      startedAtMs: Date.now(),
      lostLogLines: () => log.lostLines,
    }
    agents.useNode(() => nodes.ledger)
    const keeper = new ReservationKeeper({
      agents,
      node: () => nodes.ledger,
      onFailure: (error) => log.write('error', `agents could not be looked after: ${explain(error)}`),
    })
    keeper.start()
    closers.add(() => keeper.close())
    const recorder = openRecorder(context, config, log)
    closers.add(() => recorder.close())
    const handler = new RequestHandler({
      context,
      recorder,
      wire,
      token,
      isMetricsToken: (authorization) => MetricsToken.matches(dataDir, authorization),
      ...access(options, config),
      metrics: makeMetrics({ handles, wallets, log, recorder }),
      ...(onActivity && { onActivity }),
      onFailure: (operation, error, requestId) =>
        log.write('error', `${operation}: ${explain(error)}`, { request_id: requestId }),
    })
    const refuse = (): RawResponse => handler.refuse(new KmdError('forbidden_user'))
    const handleUnix = unix.guard((request) => handler.handle(request), refuse)
    const stopWaiting = new Closers()
    stopWaiting.add(() => throttle.close())
    stopWaiting.add(() => approvals.close())
    const replaceToken = (newToken: string): void => {
      token.replace(newToken)
      // Sessions and tickets were opened with the old token.
      sessions.clear()
      tickets.clear()
      void recorder.note({ event: 'token_changed', actor: { type: 'daemon' } })
    }
    stopWaiting.add(Token.follow(dataDir, { take: replaceToken, log }))
    const warnings = [...Settings.findWarnings(config), ...unknown]
    for (const warning of warnings) log.write('warning', warning)
    let inForce = config
    const apply = (changed: Config.Config): void => {
      handles.configure(Settings.lifetimes(changed))
      agentParts.agentHandles.configure(Settings.lifetimes(changed))
      handler.configure(access(options, changed))
      log.configure(logSettings(options, changed))
      recorder.configure(changed.audit)
      void recorder.note(settingsChanged(inForce, changed))
      inForce = changed
    }
    const replaceNode = (changed: Config.Config): void => {
      const old = nodes
      nodes = openNodes(options.node ?? changed.algod, changed.algodWitnesses)
      context.node = nodes.node
      // Requests in progress still use them.
      setTimeout(() => void old.close(), nodeTimeoutMs).unref()
    }
    const overridden = overriddenSettings(options)
    return {
      handler,
      handleUnix,
      config,
      wire,
      warnings,
      tickets,
      stopWaiting,
      closers,
      overridden,
      apply,
      replaceNode,
    }
  } catch (error) {
    await closers
      .close()
      .catch((failure) => log.write('error', `a failed start was not cleaned up: ${explain(failure)}`))
    throw error
  }
}

/** Nothing is read before the first request that needs it. */
function openOwnerFiles(dataDir: string, log: Log): { contacts: Contacts; pendingBackups: PendingBackups } {
  const onFailure = (error: unknown): void =>
    log.write('error', `a new wallet is not noted as one without a backup: ${explain(error)}`)
  return {
    contacts: new Contacts({ file: join(dataDir, 'latchkey_contacts.json') }),
    pendingBackups: new PendingBackups({ file: join(dataDir, 'latchkey_backups.json'), onFailure }),
  }
}

function openSignatureLog({ onSignature }: DaemonAppOptions, log: Log): SignatureLog {
  if (onSignature === undefined) return new SignatureLog()
  return reportingLog((signature) => {
    try {
      onSignature(signature)
    } catch (error) {
      log.write('error', `onSignature failed: ${explain(error)}`)
    }
  })
}

/** Which hosts and origins may send requests. */
function access(
  { allowLoopbackOrigins }: DaemonAppOptions,
  config: Config.Config,
): Pick<RequestHandlerOptions, 'cors' | 'hosts'> {
  const { allowedOrigins, allowHeaderPna: allowPrivateNetwork } = config
  return { cors: { allowedOrigins, allowLoopbackOrigins, allowPrivateNetwork }, hosts: Settings.allowedHosts(config) }
}

/** An option takes precedence over kmd_config.json, which takes precedence over the command's default. */
function logSettings({ log = {}, forceLog = {} }: DaemonAppOptions, config: Config.Config): LogSettings {
  return {
    format: forceLog.format ?? config.logFormat ?? log.format ?? 'text',
    level: forceLog.level ?? config.logLevel ?? log.level ?? 'info',
  }
}

function overriddenSettings({ node, forceLog = {} }: DaemonAppOptions): ReadonlySet<keyof Config.Config> {
  const overridden = new Set<keyof Config.Config>()
  if (node !== undefined) overridden.add('algod')
  if (forceLog.format !== undefined) overridden.add('logFormat')
  if (forceLog.level !== undefined) overridden.add('logLevel')
  return overridden
}

function openLog({ dataDir, log, forceLog }: DaemonAppOptions): Log {
  try {
    return new Log(dataDir, { format: forceLog?.format ?? log?.format, level: forceLog?.level ?? log?.level })
  } catch (error) {
    const { message } = error as Error
    // The reference resolves a blank directory to none at all and fails later.
    if (dataDir === '') throw new StartError('blank_data_dir', { cause: error })
    throw new StartError('log_not_writable', { message: `failed to open log file: ${message}`, cause: error })
  }
}

function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 })
    // Otherwise, a power failure could remove the directory with every wallet in it.
    AtomicFile.syncDirectorySync(directory)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function openRecorder(context: Context, { audit: mode }: Config.Config, log: Log): Recorder {
  const onLost = ({ event }: AuditEvent, error: unknown): void =>
    log.write('error', `the audit log has no record of this: ${event}: ${explain(error)}`)
  return new Recorder({ log: context.audit, context, mode, onLost })
}

/** Records only the names, because a value may be a node's token. */
function settingsChanged(before: Config.Config, after: Config.Config): AuditEvent {
  const changed = (Object.keys(Config.settingNames) as (keyof Config.Config)[]).filter(
    (setting) => before[setting] !== after[setting],
  )
  const detail = { settings: changed.map((setting) => Config.settingNames[setting].name), audit: after.audit }
  return { event: 'settings_changed', actor: { type: 'daemon' }, detail }
}
