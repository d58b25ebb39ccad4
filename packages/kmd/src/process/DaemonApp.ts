/** The daemon without a server: a data directory, its lock, wallets and settings, behind a fetch handler. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import * as Libsodium from '@latchkey/algorand/sodium'
import type { FetchHandler, RawHandler } from '@latchkey/http'
import type { Wire } from '@latchkey/kmd-api'
import * as Sqlite from '@latchkey/system/sqlite'
import { linkPath } from '../api/consoleOperations.js'
import { StartError } from '../errors.js'
import type { DaemonAppOptions } from './appSettings.js'
import type { Config } from './Config.js'
import { explain, Log } from './Log.js'
import { openParts, type Parts } from './openParts.js'
import * as Settings from './Settings.js'
import * as Token from './Token.js'

export type { DaemonAppOptions } from './appSettings.js'

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
  #config: Config

  private constructor(dataDir: string, log: Log, parts: Parts) {
    this.fetch = parts.handler.fetch
    this.handle = parts.handler.handle.bind(parts.handler)
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
  get config(): Config {
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
   * Loads the libraries that wallet requests need, each in a separate turn of the event loop. Without this call, the
   * first such request loads them. This takes too long to be part of the start.
   */
  async prepare(): Promise<void> {
    try {
      Libsodium.load()
      await nextTurn()
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
