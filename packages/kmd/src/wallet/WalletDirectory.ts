/**
 * An index of the wallets directory: id and name of every wallet in it, without opening every file each time.
 *
 * Change notifications of the operating system name the files to read again. They are trusted for two seconds: after
 * that, the whole directory is scanned (names, sizes and times, not contents), because notifications can be lost, and
 * not every file system has them.
 */
import { type FSWatcher, statSync, watch } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { KmdError } from '../errors.js'
import * as Sqlite from './Sqlite.js'
import { driverName, driverVersion } from './WalletFile.js'

/** `id` and `name` are bytes. `key` is the id as a JavaScript string, one character a byte. */
export type Entry = { file: string; path: string; key: string; id: Buffer; name: Buffer }

type Known = { signature: string; entry: Entry | undefined; locked: boolean }

const trustMs = 2_000
const lockWaitMs = 5_000
const lockPollMs = 50
const filesPerTurn = 32

export class WalletDirectory {
  readonly #directory: string
  readonly #known = new Map<string, Known>()
  readonly #changed = new Set<string>()
  readonly #reader = new MetadataReader()
  #watcher: FSWatcher | undefined
  #identity: string | undefined
  #lastScan = Number.NEGATIVE_INFINITY
  #entries: readonly Entry[] = []
  #sorted = false
  #refreshing: Promise<void> | undefined

  constructor(directory: string) {
    this.#directory = directory
    this.#watch()
  }

  /** All wallets, in the order of their file names. The same array as before, where nothing changed. */
  async entries(): Promise<readonly Entry[]> {
    await this.#refresh()
    if (!this.#sorted) {
      const found = [...this.#known.values()].flatMap(({ entry }) => entry ?? [])
      this.#entries = found.sort((a, b) => Buffer.compare(Buffer.from(a.file), Buffer.from(b.file)))
      this.#sorted = true
    }
    return this.#entries
  }

  /** The one wallet with this id. Two files with one id are an error: either could be the wrong one. */
  async find(key: string): Promise<Entry> {
    const matches = (await this.entries()).filter((entry) => entry.key === key)
    if (matches.length > 1) throw new KmdError('wallet_id_ambiguous')
    return matches[0] ?? fail('wallet_not_found')
  }

  async hasName(name: Buffer): Promise<boolean> {
    return (await this.entries()).some((entry) => entry.name.equals(name))
  }

  /** Reports a change by the daemon, which must show in the next list. */
  touch(file: string): void {
    this.#changed.add(file)
  }

  close(): void {
    this.#watcher?.close()
    this.#reader.close()
  }

  /** Without notifications (some network file systems) every list scans the whole directory. */
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
      // Then there are none.
    }
  }

  #notice(file: string | null): void {
    // A change of a journal is a change of its database.
    const database = file?.replace(/-journal$/, '')
    if (database?.endsWith('.db')) this.#changed.add(database)
    else this.#distrust()
  }

  #distrust(): void {
    this.#lastScan = Number.NEGATIVE_INFINITY
  }

  async #refresh(): Promise<void> {
    // Notifications that arrived before the request are handled in this turn of the event loop; let it end.
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

  /** The directory itself may be removed without a notification. */
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
    for (const file of this.#known.keys()) if (!present.has(file)) this.#forget(file)
    await this.#lookAt([...present])
    // Of the end, not the beginning: what changed meanwhile was noticed, and a scan that waits for a locked file may
    // take longer than its result is trusted.
    this.#lastScan = performance.now()
  }

  /** Notifications belong to the opened directory; one that was moved away and created again gives none. */
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
    const status = await stat(path).catch(() => undefined)
    if (status === undefined || status.isDirectory()) {
      this.#forget(file)
      return
    }
    const signature = `${status.dev}:${status.ino}:${status.size}:${status.mtimeMs}:${status.ctimeMs}`
    const known = this.#known.get(file)
    if (known?.signature === signature && !known.locked) return
    const { entry, locked } = this.#reader.read(file, path)
    // A wallet that another program holds just now has not gone away, and most changes are to keys, not to the name:
    // keep what was known of it, and with it the list.
    const keep = locked || isSame(known?.entry, entry)
    this.#known.set(file, { signature, entry: keep ? known?.entry : entry, locked })
    if (!keep) this.#sorted = false
  }

  /** A database that was never read and is held by another program is waited for, as the reference does. */
  async #waitForLocked(files: string[]): Promise<void> {
    const giveUpAt = performance.now() + lockWaitMs
    for (;;) {
      const waiting = files.filter((file) => {
        const known = this.#known.get(file)
        return known?.locked === true && known.entry === undefined
      })
      if (waiting.length === 0 || performance.now() > giveUpAt) return
      await new Promise((resolve) => setTimeout(resolve, lockPollMs))
      for (const file of waiting) await this.#lookAtOne(file)
    }
  }

  #forget(file: string): void {
    if (this.#known.delete(file)) this.#sorted = false
  }
}

/**
 * Reads id and name out of database files, one after the other, through a single connection to which each file is
 * attached for a moment: no connection or statement is made for a file, so none has to be given back.
 */
class MetadataReader {
  readonly #database = Sqlite.open(':memory:')
  readonly #attach = this.#database.prepare('ATTACH DATABASE ? AS wallet')
  readonly #detach = this.#database.prepare('DETACH DATABASE wallet')
  #select: Sqlite.Statement | undefined

  read(file: string, path: string): { entry: Entry | undefined; locked: boolean } {
    try {
      this.#attach.run(`${pathToFileURL(path).href}?mode=rw`)
    } catch (error) {
      this.#detachQuietly()
      return { entry: undefined, locked: Sqlite.isLocked(error) }
    }
    try {
      return { entry: this.#entry(file, path), locked: false }
    } catch (error) {
      return { entry: undefined, locked: Sqlite.isLocked(error) }
    } finally {
      this.#detachQuietly()
    }
  }

  close(): void {
    Sqlite.close(this.#database)
  }

  #entry(file: string, path: string): Entry | undefined {
    this.#select ??= this.#database.prepare(
      'SELECT driver_name, driver_version, CAST(wallet_id AS BLOB) AS id, CAST(wallet_name AS BLOB) AS name FROM wallet.metadata LIMIT 1',
    )
    const row = this.#select.get() as Record<string, unknown> | undefined
    if (row?.['driver_name'] !== driverName || row['driver_version'] !== driverVersion) return undefined
    const id = Buffer.from(row['id'] as Uint8Array)
    return { file, path, key: id.toString('latin1'), id, name: Buffer.from(row['name'] as Uint8Array) }
  }

  #detachQuietly(): void {
    try {
      this.#detach.run()
    } catch {
      // Nothing was attached.
    }
  }
}

function isSame(a: Entry | undefined, b: Entry | undefined): boolean {
  return a === b || (a !== undefined && b !== undefined && a.id.equals(b.id) && a.name.equals(b.name))
}

function fail(code: 'wallet_not_found'): never {
  throw new KmdError(code)
}
