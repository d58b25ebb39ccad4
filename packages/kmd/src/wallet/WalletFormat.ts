/**
 * Defines the format of a wallet file and checks it before SQLite reads the file: three tables with their columns, one
 * row of metadata, and nothing that SQLite would execute.
 */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { DatabaseFormat, DatabaseFormatError, readRecord, type Value } from './DatabaseFormat.js'

export { DatabaseFormatError }

export const driverName = 'sqlite'
export const driverVersion = 1

/** The reference's tables. */
export const schema = `
CREATE TABLE IF NOT EXISTS metadata (
  driver_name TEXT NOT NULL,
  driver_version INT NOT NULL,
  wallet_id TEXT NOT NULL UNIQUE,
  wallet_name TEXT NOT NULL,
  mep_encrypted BLOB NOT NULL,
  mdk_encrypted BLOB NOT NULL,
  max_key_idx_encrypted BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS keys (
  address BLOB PRIMARY KEY,
  secret_key_encrypted BLOB NOT NULL,
  key_idx INT
);
CREATE TABLE IF NOT EXISTS msig_addrs (
  address BLOB PRIMARY KEY,
  version INT NOT NULL,
  threshold INT NOT NULL,
  pks BLOB NOT NULL
);`

/**
 * Limits of a file. A wallet with a million keys has 300 MB, a name has 64 bytes, and a box of the format has at most
 * 256.
 */
export const limits = {
  fileBytes: 2 ** 30,
  /** Limited because a rollback takes time. A larger journal is allowed only with a larger database. */
  journalBytes: 16 * 2 ** 20,
  idBytes: 256,
  nameBytes: 1024,
  metadataBytes: 16 * 1024,
  keyBytes: 4 * 1024,
  /** A multisig arrives in a request of at most 1 MiB. */
  multisigBytes: 2 * 2 ** 20,
  schemaBytes: 4 * 1024,
} as const

/** The encrypted values in the row of metadata. */
export type Encrypted = { masterKey: Uint8Array; masterDerivationKey: Uint8Array; maxKeyIndex: Uint8Array }

export type Metadata = { id: Buffer; name: Buffer }

/** A file opened for the check. Call `close` only while no lock on the file is held, because closing releases locks. */
export type OpenedFile = { descriptor: number; status: Stats; close: () => void }

/** The content of a valid wallet file. */
export type Inspected = Metadata & {
  /** The parts that cannot be read although the rest is usable. */
  damage?: string
}

/**
 * Opens a file for the check, and checks the adjacent files that SQLite would read. Nothing here blocks: a FIFO, a
 * device or a link to one is rejected.
 *
 * @throws DatabaseFormatError, or a file system error.
 */
export function openFile(path: string): OpenedFile {
  requireRegular(statSync(path))
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const status = fstatSync(descriptor)
    requireRegular(status)
    checkSize(status)
    checkBeside(realpathSync(path), status)
    return { descriptor, status, close: () => closeSync(descriptor) }
  } catch (error) {
    closeSync(descriptor)
    throw error
  }
}

function requireRegular(status: Stats): void {
  if (!status.isFile()) throw new DatabaseFormatError('is not a regular file')
}

function checkSize({ size }: Stats): void {
  if (size === 0) throw new DatabaseFormatError('is empty')
  if (size > limits.fileBytes) throw new DatabaseFormatError('is larger than 1 GiB')
}

/** The end of a journal that names a super-journal, a file that SQLite would read and delete. */
const journalMagic = Buffer.from('d9d505f920a163d7', 'hex')

/** SQLite looks for journals next to the target of a link, and writes their content into the database. */
function checkBeside(path: string, database: Stats): void {
  // SQLite reads a WAL regardless of the database's mode.
  if (lstatSync(`${path}-wal`, { throwIfNoEntry: false }) !== undefined)
    throw new BesideError('has a write-ahead log (-wal) next to it')
  const status = lstatSync(`${path}-journal`, { throwIfNoEntry: false })
  if (status === undefined) return
  if (!status.isFile()) throw new BesideError('has a journal that is not a regular file')
  if (status.uid !== database.uid && status.uid !== process.geteuid?.())
    throw new BesideError('has a journal that belongs to another user')
  // A journal holds each page of the database once. After a VACUUM that shrank the file, it can be slightly larger.
  if (status.size > Math.max(limits.journalBytes, 2 * database.size))
    throw new BesideError('has a journal that is too large')
  if (endOf(`${path}-journal`, status.size)?.equals(journalMagic) === true)
    throw new BesideError('has a journal that spans several databases')
}

/** The last eight bytes; undefined if there are fewer, or if the journal's writer has just removed it. */
function endOf(path: string, size: number): Buffer | undefined {
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    const end = Buffer.alloc(8)
    return readSync(descriptor, end, 0, end.length, Math.max(0, size - end.length)) === end.length ? end : undefined
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  } finally {
    if (descriptor !== undefined) closeSync(descriptor)
  }
}

/**
 * Checks an opened file and returns its metadata. The result is consistent if the caller holds a lock on the file.
 *
 * @param options `keys`: whether to walk the trees of keys and multisigs as well. Without it, the time does not depend
 * on the wallet's size.
 * @throws DatabaseFormatError
 */
export function inspect({ descriptor }: Pick<OpenedFile, 'descriptor'>, { keys }: { keys: boolean }): Inspected {
  // A journal rolled back since the file was opened has changed its size.
  const status = fstatSync(descriptor)
  checkSize(status)
  const format = new DatabaseFormat(descriptor, status.size)
  const roots = readSchema(format)
  let row: Value[] = []
  const metadataBytes = { maxPayloadBytes: limits.metadataBytes }
  const rows = format.walk({
    ...{ root: roots.get('metadata')!, kind: 'table', ...metadataBytes, maxRows: 1 },
    onRow: (payload) => {
      row = readRecord(payload)
    },
  })
  if (rows === 0) throw new DatabaseFormatError('has no metadata')
  format.walk({ root: roots.get('sqlite_autoindex_metadata_1')!, kind: 'index', ...metadataBytes, maxRows: 1 })
  if (keys) walkKeys(format, roots)
  const { damagedPages } = format
  return {
    ...readMetadata(row),
    ...(damagedPages > 0 && { damage: `has ${damagedPages} damaged pages: some of its keys cannot be read` }),
  }
}

function walkKeys(format: DatabaseFormat, roots: ReadonlyMap<string, number>): void {
  for (const [table, maxPayloadBytes] of [
    ['keys', limits.keyBytes],
    ['msig_addrs', limits.multisigBytes],
  ] as const) {
    const common = { maxPayloadBytes, skipsDamaged: true }
    format.walk({ root: roots.get(table)!, kind: 'table', ...common })
    format.walk({ root: roots.get(`sqlite_autoindex_${table}_1`)!, kind: 'index', ...common })
  }
}

/** The daemons' schemas differ only in spaces. */
const normalized = (sql: string): string =>
  sql
    .replace(/[ \t\n\f\r]+/g, ' ')
    .replace(/ ?([(),]) ?/g, '$1')
    .toLowerCase()

const expectedTables: ReadonlyMap<string, string> = new Map(
  schema
    .split(';')
    .filter((statement) => statement.trim() !== '')
    .map((statement) => {
      const sql = normalized(statement.trim().replace('IF NOT EXISTS ', ''))
      return [/^create table ([a-z_]+)/.exec(sql)![1]!, sql]
    }),
)
const objectCount = 2 * expectedTables.size

/** The root pages of the tables and their implicit indexes, by name. No others are allowed. */
function readSchema(format: DatabaseFormat): Map<string, number> {
  const roots = new Map<string, number>()
  const onRow = (payload: Buffer): void => {
    const [type, name, table, root, sql] = readRecord(payload)
    roots.set(checkObject(textOf(type), textOf(name), textOf(table), textOf(sql)), rootOf(root))
  }
  const maxPayloadBytes = limits.schemaBytes
  const rows = format.walk({ root: 1, kind: 'table', maxPayloadBytes, maxRows: objectCount, onRow })
  if (rows !== objectCount || roots.size !== objectCount)
    throw new DatabaseFormatError('does not have the tables of a wallet')
  if (new Set(roots.values()).size !== objectCount) throw new DatabaseFormatError('uses a page twice')
  return roots
}

function checkObject(type: string, name: string, table: string, sql: string): string {
  if (type === 'table' && name === table) {
    const expected = expectedTables.get(name)
    if (expected === undefined) throw new DatabaseFormatError('has a table that no wallet has')
    if (normalized(sql) !== expected) throw new DatabaseFormatError('does not have the columns of a wallet')
    return name
  }
  // The SQL text of an implicit index is NULL.
  if (type === 'index' && sql === '' && expectedTables.has(table) && name === `sqlite_autoindex_${table}_1`) return name
  const kind = ['view', 'trigger', 'index'].find((known) => known === type) ?? 'table'
  throw new DatabaseFormatError(`has ${kind === 'index' ? 'an' : 'a'} ${kind} that no wallet has`)
}

function textOf(value: Value | undefined): string {
  if (value === null) return ''
  if (typeof value !== 'object' || value.type !== 'text') throw new DatabaseFormatError('has a damaged schema')
  return value.bytes.toString('latin1')
}

function rootOf(value: Value | undefined): number {
  if (typeof value !== 'number' || value < 2) throw new DatabaseFormatError('has a damaged schema')
  return value
}

function readMetadata(row: readonly Value[]): Metadata {
  const [driver, version, id, name] = row
  if (row.length !== 7) throw new DatabaseFormatError('has damaged metadata')
  if (!bytesOf(driver).equals(Buffer.from(driverName))) throw new DatabaseFormatError('belongs to another driver')
  if (version !== driverVersion) throw new DatabaseFormatError('belongs to another version of the driver')
  const metadata = { id: bytesOf(id), name: bytesOf(name) }
  if (metadata.id.length > limits.idBytes) throw new DatabaseFormatError('has an id that is too long')
  if (metadata.name.length > limits.nameBytes) throw new DatabaseFormatError('has a name that is too long')
  return metadata
}

function bytesOf(value: Value | undefined): Buffer {
  if (typeof value !== 'object' || value === null) throw new DatabaseFormatError('has damaged metadata')
  return value.bytes
}

/** A problem with an adjacent file, not with the file itself, so it can disappear without a change to the file. */
class BesideError extends DatabaseFormatError {}

/** Whether the file itself is not a wallet. This stays true until the file changes. */
export function isOfContent(error: unknown): boolean {
  return error instanceof DatabaseFormatError && !(error instanceof BesideError)
}

/** Why a file cannot be read as a wallet. The text completes a sentence that starts with the file name. */
export function problemOf(error: unknown): string {
  if (error instanceof DatabaseFormatError) return error.message
  const { code, syscall, message } = error as NodeJS.ErrnoException
  if (syscall === undefined) return `cannot be read: ${message}`
  if (code === 'ENOENT') return 'is a broken symbolic link'
  if (code === 'ELOOP') return 'is a symbolic link to itself'
  return `cannot be read: ${code === 'EACCES' ? 'permission denied' : code}`
}
