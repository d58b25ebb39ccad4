/** Opens a data directory: reads its settings and its token, and takes its lock. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { Access } from '@latchkey/http'
import * as AtomicFile from '@latchkey/system/atomic-file'
import * as FileLock from '@latchkey/system/lock'
import { StartError } from '../errors.js'
import type { DaemonAppOptions } from './appSettings.js'
import { logSettingsOf } from './appSettings.js'
import * as Config from './Config.js'
import type { Log } from './Log.js'
import * as Settings from './Settings.js'
import * as StateFiles from './StateFiles.js'
import * as Token from './Token.js'

export type DataDirectory = {
  readonly config: Config.Config
  /** Warnings about unknown settings. */
  readonly unknown: readonly string[]
  readonly walletsDir: string
  readonly token: Access.TokenCheck
  /** Releases the lock. */
  readonly close: () => void
}

/**
 * The steps follow the Go daemon's order.
 *
 * @throws {@link StartError} with a code for each reason.
 */
export function openDataDirectory(options: DaemonAppOptions, log: Log): DataDirectory {
  const { dataDir } = options
  const { config, unknown } = Settings.read(dataDir)
  Config.validate(config)
  log.configure(logSettingsOf(options, config))
  const walletsDir = Config.walletsDirectory(config, dataDir)
  makeDirectory(walletsDir)
  const token = new Access.TokenCheck(Token.readOrCreate(dataDir))
  const lock = takeLock(dataDir)
  try {
    // While the lock is held, kmd.net must come from its holder. A stale file would name a port that any program may
    // use.
    StateFiles.remove(dataDir)
  } catch (error) {
    releaseLock(lock)
    throw error
  }
  return { config, unknown, walletsDir, token, close: () => releaseLock(lock) }
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

export const lockFileName = 'kmd.lock'

/**
 * Takes the lock on kmd.lock, which allows one daemon per data directory, and returns its descriptor. The Go daemon
 * takes the same lock.
 *
 * @throws {@link StartError} `already_running` if a daemon runs in the directory.
 */
export function takeLock(dataDir: string): number {
  try {
    return FileLock.take(join(dataDir, lockFileName))
  } catch (error) {
    if (error instanceof FileLock.LockError && error.code === 'locked')
      throw new StartError('already_running', { cause: error })
    throw error
  }
}

export const releaseLock = FileLock.release
