/**
 * An open wallet database, and the set of open ones. Tables, column types and the blob-typed ids are the reference's, so that either daemon opens
 * the other's files. Every method is one SQLite transaction and returns when it is on disk.
 */
import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { BoundedMap } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import { AddressList } from './AddressList.js'
import * as CheckedDatabase from './CheckedDatabase.js'
import * as Sqlite from './Sqlite.js'
import * as WalletFormat from './WalletFormat.js'
import { driverName, driverVersion, type Encrypted, type Metadata } from './WalletFormat.js'

export type Preimage = { version: number; threshold: number; publicKeys: Uint8Array }

const uniqueViolation = 1555
/**
 * The resolution of file system timestamps: some store seconds or even two seconds, others follow the kernel's clock.
 */
const coarseTickMs = 2_000
const fineTickMs = 50
/** Shared by all files, so that a reopened file never has the revision of an earlier one. */
let lastRevision = 0

export class WalletFile {
  readonly path: string
  /**
   * Describes the unreadable parts. The text completes a sentence that starts with the file name. Undefined if the file
   * is intact.
   */
  damage: string | undefined
  readonly #database: Sqlite.Database
  readonly #device: number
  readonly #inode: number
  /** SQLite looks for these files next to the target of a link. */
  readonly #journalPath: string
  readonly #walPath: string
  readonly #statements = new Map<string, Sqlite.Statement>()
  readonly keyAddresses = this.#addressesOf('keys')
  readonly multisigAddresses = this.#addressesOf('msig_addrs')
  #id: Buffer | undefined
  /** The id of the handle that was compared last. */
  #held: Uint8Array | undefined
  #modifiedMs = 0
  #size = 0
  #changedMs = 0
  /** How often another program changed the file. */
  #foreignChanges = 0
  #version = ''
  #versionRevision: number | undefined
  #revision = ++lastRevision
  #isLookedAt = false
  #isSeenUnchanged = false
  /** Whether there may be an empty journal of this object. */
  #hasWritten = false

  /**
   * Opens an existing database after checking the whole file. The object stays bound to its inode: `isCurrent` returns
   * false once the path leads to another file.
   *
   * @throws as `CheckedDatabase.open`.
   */
  constructor(path: string) {
    this.path = path
    const { database, status, damage } = CheckedDatabase.open(path)
    this.#database = database
    this.#device = status.dev
    this.#inode = status.ino
    this.damage = damage
    this.#remember(status)
    Sqlite.keepJournal(database)
    const realPath = realpathSync(path)
    this.#journalPath = `${realPath}-journal`
    this.#walPath = `${realPath}-wal`
  }

  /**
   * Whether the path still leads to the open file. Also updates `revision` if the file changed.
   *
   * The file is checked once for all requests in a turn of the event loop. All of them arrived before the check, so
   * none of them can depend on a later change.
   */
  isCurrent(): boolean {
    if (this.#isLookedAt) return true
    const status = statSync(this.path, { throwIfNoEntry: false })
    if (status === undefined || status.ino !== this.#inode || status.dev !== this.#device) return false
    const isModified = status.mtimeMs !== this.#modifiedMs || status.size !== this.#size || this.#hasJournal()
    if (isModified) this.#revision = ++lastRevision
    if (isModified || status.ctimeMs !== this.#changedMs) {
      this.#foreignChanges++
      this.damage = CheckedDatabase.checkAgain(this.path, this.#database)
      this.#remember(status)
    }
    this.#isLookedAt = true
    setImmediate(this.#lookAgain)
    return true
  }

  /**
   * Whether the file of the wallet `id` is as `isCurrent` or a change of this object left it. Cheaper than `isCurrent`,
   * because it does not look for journals: use it only for content that was read before. A journal without a change to
   * the file does not make such content wrong.
   */
  isUnchanged(id: Uint8Array): boolean {
    if (id !== this.#held) return false
    if (this.#isLookedAt || this.#isSeenUnchanged) return true
    const status = statSync(this.path, { throwIfNoEntry: false })
    if (status === undefined || !this.#isRemembered(status)) return false
    this.#isSeenUnchanged = true
    setImmediate(this.#lookAgain)
    return true
  }

  /** A journal's content would replace the checked content. The daemon's own changes leave an empty one. */
  #hasJournal(): boolean {
    const journal = lstatSync(this.#journalPath, { throwIfNoEntry: false })
    return (journal?.size ?? 0) > 0 || lstatSync(this.#walPath, { throwIfNoEntry: false }) !== undefined
  }

  /** Records the state of the file whose content was checked or written here. */
  #remember(status: Stats): void {
    this.#modifiedMs = status.mtimeMs
    this.#size = status.size
    this.#changedMs = status.ctimeMs
  }

  #isRemembered(status: Stats): boolean {
    return (
      status.ctimeMs === this.#changedMs &&
      status.mtimeMs === this.#modifiedMs &&
      status.size === this.#size &&
      status.ino === this.#inode &&
      status.dev === this.#device
    )
  }

  readonly #lookAgain = (): void => {
    this.#isLookedAt = false
    this.#isSeenUnchanged = false
  }

  #noteChange(): void {
    this.#hasWritten = true
    this.#lookAgain()
    this.#revision = ++lastRevision
  }

  /**
   * Stays the same while the content does, as of the last `isCurrent` or `isUnchanged`. Undefined while the last change is so recent
   * that another could follow within the same tick of the file system's clock.
   */
  revision(): number | undefined {
    const tickMs = this.#modifiedMs % 1000 === 0 ? coarseTickMs : fineTickMs
    return Date.now() - this.#modifiedMs > tickMs ? this.#revision : undefined
  }

  /** The id never changes while the file is open, so it is read once. */
  holds(id: Uint8Array): boolean {
    if (id === this.#held) return true
    this.#id ??= this.metadata().id
    if (!this.#id.equals(id)) return false
    this.#held = id
    return true
  }

  close(): void {
    this.#statements.clear()
    if (this.#hasWritten) Sqlite.removeJournal(this.#database)
    this.#hasWritten = false
    Sqlite.close(this.#database)
  }

  metadata(): Metadata {
    const row = this.#row(
      'SELECT driver_name, driver_version, CAST(wallet_id AS BLOB) AS id, CAST(wallet_name AS BLOB) AS name FROM metadata LIMIT 1',
    )
    if (row === undefined) throw new KmdError('database')
    if (row['driver_name'] !== driverName) throw new KmdError('wrong_driver_name')
    if (row['driver_version'] !== driverVersion) throw new KmdError('wrong_driver_version')
    return { id: Buffer.from(row['id'] as Uint8Array), name: Buffer.from(row['name'] as Uint8Array) }
  }

  encrypted(): Encrypted {
    const row = this.#row(
      'SELECT mep_encrypted AS mep, mdk_encrypted AS mdk, max_key_idx_encrypted AS max FROM metadata LIMIT 1',
    )
    if (row === undefined) throw new KmdError('database')
    return {
      masterKey: row['mep'] as Uint8Array,
      masterDerivationKey: row['mdk'] as Uint8Array,
      maxKeyIndex: row['max'] as Uint8Array,
    }
  }

  /** Read alone for each new key, because the other two boxes would take most of the time. */
  #maxKeyIndex(): Uint8Array {
    const row = this.#row('SELECT max_key_idx_encrypted AS max FROM metadata LIMIT 1')
    if (row === undefined) throw new KmdError('database')
    return row['max'] as Uint8Array
  }

  /** Renames the wallet if its wrapped master key is still `wrapped`, and returns whether it was. */
  rename(name: Uint8Array, wrapped: Uint8Array): boolean {
    return this.#write('UPDATE metadata SET wallet_name = ? WHERE mep_encrypted = ?', name, wrapped) > 0
  }

  /**
   * Replaces the wrapped master key if it is still `wrapped`, and returns whether it was. Nothing else depends on the
   * password, so one write is enough.
   */
  rewrap(masterKey: Uint8Array, wrapped: Uint8Array): boolean {
    return this.#write('UPDATE metadata SET mep_encrypted = ? WHERE mep_encrypted = ?', masterKey, wrapped) > 0
  }

  secretKey(address: Uint8Array): Uint8Array | undefined {
    return this.#row('SELECT secret_key_encrypted AS value FROM keys WHERE address = ?', address)?.['value'] as
      | Uint8Array
      | undefined
  }

  hasKey(address: Uint8Array): boolean {
    return this.#row('SELECT 1 AS found FROM keys WHERE address = ?', address) !== undefined
  }

  insertKey(address: Uint8Array, secretKey: Uint8Array): void {
    refuseExisting(() =>
      this.#write('INSERT INTO keys (address, secret_key_encrypted, key_idx) VALUES (?, ?, NULL)', address, secretKey),
    )
    this.keyAddresses.insert(address)
  }

  deleteKey(address: Uint8Array): void {
    this.#write('DELETE FROM keys WHERE address = ?', address)
    this.keyAddresses.remove(address)
  }

  /**
   * Adds the next key of the sequence. `next` receives the stored maximum and returns the row to add and the new
   * maximum. All of this is one exclusive transaction, so no index is used twice or skipped, even if other programs
   * write.
   */
  generateKey(next: (maxKeyIndex: Uint8Array) => GeneratedKey): Uint8Array {
    const added = this.#exclusively(() => {
      const generated = next(this.#maxKeyIndex())
      this.#statement('INSERT INTO keys (address, secret_key_encrypted, key_idx) VALUES (?, ?, ?)').run(
        generated.address,
        generated.secretKey,
        generated.index,
      )
      this.#statement('UPDATE metadata SET max_key_idx_encrypted = ?').run(generated.maxKeyIndex)
      return generated.address
    })
    this.keyAddresses.insert(added)
    return added
  }

  preimage(address: Uint8Array): Preimage | undefined {
    const row = this.#row('SELECT version, threshold, pks FROM msig_addrs WHERE address = ?', address)
    if (row === undefined) return undefined
    const { version, threshold, pks } = row
    if (!isSmall(version) || !isSmall(threshold) || !(pks instanceof Uint8Array)) throw new KmdError('damaged_blob')
    return { version, threshold, publicKeys: pks }
  }

  insertPreimage(address: Uint8Array, preimage: Preimage): void {
    refuseExisting(() =>
      this.#write(
        'INSERT INTO msig_addrs (address, version, threshold, pks) VALUES (?, ?, ?, ?)',
        address,
        preimage.version,
        preimage.threshold,
        preimage.publicKeys,
      ),
    )
    this.multisigAddresses.insert(address)
  }

  deletePreimage(address: Uint8Array): void {
    this.#write('DELETE FROM msig_addrs WHERE address = ?', address)
    this.multisigAddresses.remove(address)
  }

  #statement(sql: string): Sqlite.Statement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      this.#statements.set(sql, statement)
    }
    return statement
  }

  #row(sql: string, ...parameters: Uint8Array[]): Record<string, unknown> | undefined {
    return this.#statement(sql).get(...parameters) as Record<string, unknown> | undefined
  }

  /** In byte order, the order of the primary key's index, like the reference. */
  #addressesOf(table: 'keys' | 'msig_addrs'): AddressList {
    const page = (condition: string, ...parameters: [limit: number] | [after: Uint8Array, limit: number]) =>
      this.#statement(`SELECT address FROM ${table} ${condition} ORDER BY address LIMIT ?`)
        .all(...parameters)
        .map((row: { address: unknown }) => checkAddress(row.address))
    return new AddressList({
      foreignVersion: () => this.#foreignVersion(),
      page: (after, limit) => (after === undefined ? page('', limit) : page('WHERE address > ?', after, limit)),
      snapshot: (work) => Sqlite.whileReadLocked(this.#database, work),
    })
  }

  /** Changes with every change by another connection, even within one tick of the file system's clock. */
  #foreignVersion(): string {
    const revision = this.revision()
    if (revision === undefined || revision !== this.#versionRevision) {
      const version = this.#row('PRAGMA data_version')?.['data_version']
      this.#version = `${this.#foreignChanges} ${version}`
      this.#versionRevision = revision
    }
    return this.#version
  }

  /** Makes one change in one transaction, visible to later reads in this turn. Returns the number of changed rows. */
  #write(sql: string, ...parameters: (Uint8Array | number)[]): number {
    this.#noteChange()
    const { changes } = this.#statement(sql).run(...parameters)
    this.#rememberOwnChange()
    return Number(changes)
  }

  #rememberOwnChange(): void {
    const status = statSync(this.path, { throwIfNoEntry: false })
    if (status?.ino === this.#inode && status.dev === this.#device) this.#remember(status)
  }

  #exclusively<T>(work: () => T): T {
    this.#noteChange()
    this.#database.exec('BEGIN EXCLUSIVE')
    try {
      const result = work()
      this.#database.exec('COMMIT')
      this.#rememberOwnChange()
      return result
    } catch (error) {
      // After some errors (a full disk), SQLite has already rolled back. A second rollback would hide the first error.
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
      throw error
    }
  }
}

export type GeneratedKey = { address: Uint8Array; secretKey: Uint8Array; index: bigint; maxKeyIndex: Uint8Array }

const addressLength = 32

/** SQLite stores any type in any column, and files are untrusted. */
function checkAddress(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array) || value.length !== addressLength) throw new KmdError('damaged_blob')
  return value
}

const isSmall = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < 256

function refuseExisting(insert: () => unknown): void {
  try {
    insert()
  } catch (error) {
    if ((error as { errcode?: number }).errcode === uniqueViolation) throw new KmdError('key_exists', { cause: error })
    throw error
  }
}

/**
 * A problem with a file. `problem` completes a sentence that starts with the file name. A file with `isRefused` cannot
 * be used at all. A problem without `isOfContent` can disappear without a change to the file.
 */
export type FileProblem = { path: string; problem: string; isRefused: boolean; isOfContent: boolean }

type WalletFilesOptions = {
  /** @default 128 */
  limit?: number
  /** Called each time a file with a problem is requested. */
  onProblem?: (problem: FileProblem) => void
}

/** The open wallet databases, by path. Opening costs as much as a hundred queries, so databases in use stay open. */
export class WalletFiles {
  /** Closes the least recently used file. */
  readonly #open: BoundedMap<string, WalletFile>
  readonly #onProblem: (problem: FileProblem) => void

  constructor({ limit = 128, onProblem = () => {} }: WalletFilesOptions = {}) {
    this.#open = new BoundedMap(limit, (file) => file.close())
    this.#onProblem = onProblem
  }

  /**
   * Returns the current database at `path`. Reopens a replaced file. Unlike in the reference, a missing file is an
   * error and is not created again.
   */
  get(path: string): WalletFile {
    try {
      const file = this.#current(path)
      const { damage } = file
      if (damage !== undefined) this.#onProblem({ path, problem: damage, isRefused: false, isOfContent: true })
      return file
    } catch (error) {
      const { cause } = error as Error
      if (cause instanceof WalletFormat.DatabaseFormatError) {
        const isOfContent = WalletFormat.isOfContent(cause)
        this.#onProblem({ path, problem: cause.message, isRefused: true, isOfContent })
      }
      throw error
    }
  }

  /** Like `get`, for a handle: the file at the path must still be the wallet that was unlocked. */
  getWallet(path: string, id: Uint8Array): WalletFile {
    const file = this.get(path)
    if (!file.holds(id)) {
      throw new KmdError('database', { cause: new Error("the wallet's file was replaced by another wallet's") })
    }
    return file
  }

  /** The revision of the file that `getWallet` would return. Looks for journals only if the file changed. */
  revision(path: string, id: Uint8Array): number | undefined {
    const known = this.#open.get(path)
    if (known?.isUnchanged(id) !== true || known.damage !== undefined) return this.getWallet(path, id).revision()
    if (this.#open.size > 1) this.#open.touch(path)
    return known.revision()
  }

  close(path: string): void {
    this.#open.get(path)?.close()
    this.#open.delete(path)
  }

  closeAll(): void {
    for (const path of [...this.#open.keys()]) this.close(path)
  }

  #current(path: string): WalletFile {
    const known = this.#open.get(path)
    if (known !== undefined) {
      if (known.isCurrent()) {
        if (this.#open.size > 1) this.#open.touch(path)
        return known
      }
      this.close(path)
    }
    const file = new WalletFile(path)
    this.#open.set(path, file)
    return file
  }
}
