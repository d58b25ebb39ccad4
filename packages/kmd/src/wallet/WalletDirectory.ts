/**
 * Indexes the wallets directory: the id and name of every wallet, without opening every file each time.
 *
 * Change notifications of the operating system name the files to read again. After two seconds they are no longer
 * trusted and the whole directory is scanned (names, sizes and times, not contents), because notifications can be lost
 * and some file systems have none.
 */
import { type FSWatcher, type Stats, statSync, watch } from 'node:fs'
import { lstat, readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { KmdError } from '../errors.js'
import { removeUnfinished, unfinishedSuffix } from './CheckedDatabase.js'
import * as Sqlite from './Sqlite.js'
import type { FileProblem } from './WalletFile.js'
import * as WalletFormat from './WalletFormat.js'

/** `id` and `name` are bytes. `key` is the id as a JavaScript string with one character per byte. */
export type Entry = { file: string; path: string; key: string; id: Buffer; name: Buffer }

/** A file that is not a wallet, or a damaged wallet. `problem` completes a sentence that starts with the file name. */
export type Problem = { file: string; problem: string }

type Known = {
  signature: string
  entry: Entry | undefined
  locked: boolean
  problem: string | undefined
  /** Whether the problem can disappear without a change to the file, so the file is read at every scan. */
  isPassing: boolean
}

export type WalletDirectoryOptions = {
  /** Called once for each file with a problem, and again after the file changes. */
  onProblem?: (problem: Problem) => void
}

const trustMs = 2_000
const lockWaitMs = 5_000
const lockPollMs = 50
const filesPerTurn = 32
const journal = '-journal'
const unfinished = `.db${unfinishedSuffix}`
/** Creating a file takes milliseconds. Another daemon may share the directory, so newer files are kept. */
const unfinishedMs = 60_000

export class WalletDirectory {
  readonly #directory: string
  readonly #known = new Map<string, Known>()
  readonly #changed = new Set<string>()
  /** Problems that are found only when a wallet is opened. */
  readonly #reported = new Map<string, { signature: string; problem: string; isRefused: boolean }>()
  readonly #told = new Map<string, string>()
  readonly #onProblem: (problem: Problem) => void
  #watcher: FSWatcher | undefined
  #identity: string | undefined
  #lastScan = Number.NEGATIVE_INFINITY
  #entries: readonly Entry[] = []
  #sorted = false
  #refreshing: Promise<void> | undefined

  constructor(directory: string, { onProblem = () => {} }: WalletDirectoryOptions = {}) {
    this.#directory = directory
    this.#onProblem = onProblem
    this.#watch()
  }

  /** Returns all wallets, ordered by file name. The array is the same object if nothing changed. */
  async entries(): Promise<readonly Entry[]> {
    await this.#refresh()
    if (!this.#sorted) {
      const found = [...this.#known.values()].flatMap(({ entry }) => entry ?? [])
      this.#entries = found.sort((a, b) => Buffer.compare(Buffer.from(a.file), Buffer.from(b.file)))
      this.#sorted = true
    }
    return this.#entries
  }

  /**
   * Returns the wallet with this id. Two files with the same id are an error, because either could be the wrong one.
   */
  async find(key: string): Promise<Entry> {
    const matches = (await this.entries()).filter((entry) => entry.key === key)
    if (matches.length > 1) throw new KmdError('wallet_id_ambiguous')
    return matches[0] ?? fail('wallet_not_found')
  }

  async hasName(name: Buffer): Promise<boolean> {
    return (await this.entries()).some((entry) => entry.name.equals(name))
  }

  /** The rejected or damaged files, as of the last listing. */
  problems(): readonly Problem[] {
    return [...this.#known].flatMap(([file, { problem }]) => (problem === undefined ? [] : { file, problem }))
  }

  /** Records a problem found while opening a wallet, until its file changes. A rejected file is not listed. */
  report({ path, problem, isRefused, isOfContent }: FileProblem): void {
    const status = statSync(path, { throwIfNoEntry: false })
    if (status === undefined) return
    const [file, signature] = [basename(path), signatureOf(status)]
    const known = this.#known.get(file)
    if (isOfContent) this.#reported.set(file, { signature, problem, isRefused })
    // The next listing finds the problem again if it persists.
    else if (known !== undefined) known.isPassing = true
    this.#changed.add(file)
    this.#tell(file, signature, problem)
  }

  /** Reports a change made by the daemon, which the next listing must reflect. */
  touch(file: string): void {
    this.#changed.add(file)
  }

  close(): void {
    this.#watcher?.close()
  }

  /** Without notifications (some network file systems), every listing scans the whole directory. */
  #watch(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    try {
      const watcher = watch(this.#directory, { persistent: false }, (_event, file) => this.#notice(file))
      watcher.on('error', () => {
        watcher.close()
        if (this.#watcher === watcher) this.#watcher = undefined
      })
      this.#watcher = watcher
    } catch {
      // Notifications are unavailable.
    }
  }

  #notice(file: string | null): void {
    // A change to a journal is a change to its database.
    const database = file?.endsWith(journal) ? file.slice(0, -journal.length) : file
    if (database?.endsWith('.db')) this.#changed.add(database)
    // A wallet being created is read once it has its final name.
    else if (database?.endsWith(unfinished) !== true) this.#distrust()
  }

  #distrust(): void {
    this.#lastScan = Number.NEGATIVE_INFINITY
  }

  async #refresh(): Promise<void> {
    // Notifications that arrived before the request are handled in this turn of the event loop, so let it end.
    await new Promise((resolve) => setImmediate(resolve))
    if (this.#watcher === undefined) {
      await this.#refreshing
      this.#distrust()
    }
    if (this.#isReplaced()) this.#distrust()
    while (this.#refreshing !== undefined || this.#changed.size > 0 || this.#mustScan()) {
      this.#refreshing ??= this.#update().finally(() => {
        this.#refreshing = undefined
      })
      await this.#refreshing
    }
  }

  /** The directory may be removed without a notification. */
  #isReplaced(): boolean {
    const status = statSync(this.#directory, { throwIfNoEntry: false })
    return status === undefined || `${status.dev}:${status.ino}` !== this.#identity
  }

  #mustScan(): boolean {
    return performance.now() - this.#lastScan > trustMs
  }

  async #update(): Promise<void> {
    const changed = [...this.#changed]
    this.#changed.clear()
    if (this.#mustScan()) await this.#scan()
    else await this.#lookAt(changed)
  }

  async #scan(): Promise<void> {
    const present = await this.#list()
    await this.#watchAgainIfReplaced()
    await this.#removeUnfinished(present)
    for (const file of this.#known.keys()) if (!present.has(file)) this.#forget(file)
    await this.#lookAt([...present])
    // Measured at the end, because changes made during the scan were noticed, and a scan that waits for a locked file
    // may take longer than its result is trusted.
    this.#lastScan = performance.now()
  }

  /** Notifications belong to the opened directory. If it was moved away and created again, they stop. */
  async #watchAgainIfReplaced(): Promise<void> {
    const { dev, ino } = await stat(this.#directory)
    const identity = `${dev}:${ino}`
    if (this.#identity !== undefined && this.#identity !== identity) this.#watch()
    this.#identity = identity
  }

  async #list(): Promise<Set<string>> {
    try {
      return new Set(await readdir(this.#directory))
    } catch (error) {
      const { code, syscall } = error as NodeJS.ErrnoException
      const reason = code === 'ENOENT' ? 'no such file or directory' : code === 'EACCES' ? 'permission denied' : code
      const verb = syscall === 'scandir' ? 'open' : syscall
      throw new KmdError('wallets_directory', { message: `${verb} ${this.#directory}: ${reason}`, cause: error })
    }
  }

  async #lookAt(files: string[]): Promise<void> {
    const databases = files.filter((file) => file.endsWith('.db'))
    for (let at = 0; at < databases.length; at += filesPerTurn) {
      await Promise.all(databases.slice(at, at + filesPerTurn).map((file) => this.#lookAtOne(file)))
    }
    await this.#waitForLocked(databases)
  }

  async #lookAtOne(file: string): Promise<void> {
    const path = join(this.#directory, file)
    // The link itself, if its target does not exist.
    const status = await stat(path).catch(() => lstat(path).catch(() => undefined))
    if (status === undefined || status.isDirectory()) {
      // Node reads names as UTF-8 and cannot find a file whose name is not.
      if (file.includes('\ufffd')) this.#showNotUtf8(file)
      else this.#forget(file)
      return
    }
    const signature = signatureOf(status)
    const known = this.#known.get(file)
    const reported = this.#reported.get(file)
    if (reported !== undefined && reported.signature !== signature) this.#reported.delete(file)
    else if (reported === undefined && known?.signature === signature && !known.locked && !known.isPassing) return
    const found = read(file, path)
    const { locked, isPassing } = found
    const isReported = !locked && reported?.signature === signature
    const entry = isReported && reported.isRefused ? undefined : found.entry
    // A wallet held by another program has not disappeared, and most changes affect keys, not the name. Keep the known
    // entry, and with it the list.
    const keep = locked || isSame(known?.entry, entry)
    const problem = isReported ? reported.problem : found.problem
    this.#known.set(file, { signature, entry: keep ? known?.entry : entry, locked, problem, isPassing })
    if (!keep) this.#sorted = false
    if (problem !== undefined) this.#tell(file, signature, problem)
  }

  #tell(file: string, signature: string, problem: string): void {
    const told = `${signature} ${problem}`
    if (this.#told.get(file) === told) return
    this.#told.set(file, told)
    this.#onProblem({ file, problem })
  }

  /** Removes files left by a creation that crashed. */
  async #removeUnfinished(present: ReadonlySet<string>): Promise<void> {
    for (const file of present) {
      if (!file.endsWith(unfinished)) continue
      const path = join(this.#directory, file)
      const status = await lstat(path).catch(() => undefined)
      if (status?.isFile() && Date.now() - status.mtimeMs > unfinishedMs) removeUnfinished(path)
    }
  }

  /** Waits for a database that was never read and is locked by another program, as the reference does. */
  async #waitForLocked(files: string[]): Promise<void> {
    const giveUpAt = performance.now() + lockWaitMs
    for (;;) {
      const waiting = files.filter((file) => {
        const known = this.#known.get(file)
        return known?.locked === true && known.entry === undefined
      })
      if (waiting.length === 0) return
      if (performance.now() > giveUpAt) {
        for (const file of waiting) this.#showHeld(file)
        return
      }
      await new Promise((resolve) => setTimeout(resolve, lockPollMs))
      for (const file of waiting) await this.#lookAtOne(file)
    }
  }

  #showHeld(file: string): void {
    const known = this.#known.get(file)!
    known.problem = 'is locked by another program'
    this.#tell(file, known.signature, known.problem)
  }

  #showNotUtf8(file: string): void {
    const problem = 'has a name that is not UTF-8'
    this.#known.set(file, { signature: '', entry: undefined, locked: false, problem, isPassing: false })
    this.#tell(file, '', problem)
  }

  #forget(file: string): void {
    this.#reported.delete(file)
    this.#told.delete(file)
    if (this.#known.delete(file)) this.#sorted = false
  }
}

const signatureOf = ({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string =>
  `${dev}:${ino}:${size}:${mtimeMs}:${ctimeMs}`

type Read = Omit<Known, 'signature'>

/**
 * Reads the id and name from a database file without SQLite, which only locks the file and rolls back changes left by a
 * crash. The time does not depend on the file's content.
 */
function read(file: string, path: string): Read {
  try {
    const { id, name } = readLocked(path)
    const entry = { file, path, key: id.toString('latin1'), id, name }
    return { entry, locked: false, problem: undefined, isPassing: false }
  } catch (error) {
    // SQLite is not installed.
    if (error instanceof Sqlite.SqliteError) throw error
    const locked = Sqlite.isLocked(error)
    const problem = locked ? undefined : WalletFormat.problemOf(error)
    return { entry: undefined, locked, problem, isPassing: !WalletFormat.isOfContent(error) }
  }
}

function readLocked(path: string): WalletFormat.Metadata {
  const opened = WalletFormat.openFile(path)
  try {
    const database = Sqlite.openExisting(path)
    try {
      return Sqlite.whileReadLocked(database, () => WalletFormat.inspect(opened, { keys: false }))
    } finally {
      database.close()
    }
  } finally {
    // Closed last and synchronously, because closing a file releases every lock that the process has on it.
    opened.close()
  }
}

function isSame(a: Entry | undefined, b: Entry | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.id.equals(b.id) && a.name.equals(b.name))
}

function fail(code: 'wallet_not_found'): never {
  throw new KmdError(code)
}
