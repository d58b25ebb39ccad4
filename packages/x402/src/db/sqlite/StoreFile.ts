/** Recognizes the file of a store before it is opened for writing, so that a file that is refused stays as it is. */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import * as Sqlite from '@latchkey/system/sqlite'
import { naming, StoreError } from '../StoreError.js'

/** The kinds of stores: the table that each of them has since its first version, and its content. */
const contents = { claims: 'the claims of a seller', settlements: 'the settlements of a facilitator' } as const

export type StoreKind = {
  readonly table: keyof typeof contents
  /** The latest version that this program knows. */
  readonly version: number
}

/**
 * Whether the file has a store of the kind; false if there is no file, or an empty one. Writes nothing.
 *
 * @throws StoreError that names the file: `store_too_new` for one of a later version, `store_failed` for any other
 */
export function hasStore(path: string, kind: StoreKind): boolean {
  const found = naming(path, () => statSync(path, { throwIfNoEntry: false }))
  if (found === undefined) return false
  // A device would lose every record.
  if (!found.isFile()) throw refused(path, 'it is not a file', 'Use a different path.')
  if (found.size === 0 && isFilled(`${path}-wal`)) {
    // SQLite would delete the journal, and with it the latest records.
    throw refused(path, `it is empty, but its journal ${path}-wal is not`, restore)
  }
  if (found.size === 0) return false
  const { content, isInUse } = readUnlocked(path, kind)
  if (content instanceof StoreError && beginsWithZeros(path)) {
    const why = 'A power failure or an interrupted copy leaves such a file.'
    throw refused(path, 'it begins with zeros, so its records are lost', `${restore} ${why}`)
  }
  if (!isInUse) return isStore(path, kind, content)
  if (!(content instanceof StoreError) && isForeign(content, kind)) throw otherContent(path, kind, content)
  // Only a writer can undo an interrupted transaction.
  if (existsSync(`${path}-journal`)) return true
  return isStore(
    path,
    kind,
    contentOf(path, kind, () => Sqlite.open(path, { readOnly: true })),
  )
}

/** A process that writes all the time must not keep another from opening the file. */
const maxReads = 10

/**
 * Reads the content without locks. `isInUse` if a process uses the file, or ended without closing it: the content may
 * be incomplete. A process that closes the file copies its journal into it, and then deletes the journal, so a file
 * that changed meanwhile is read again.
 */
function readUnlocked(path: string, kind: StoreKind): { content: Content | StoreError; isInUse: boolean } {
  for (let reads = 1; ; reads++) {
    const before = stateOf(path)
    // Opened as immutable, the file gets neither locks nor journals, and its journals are not read.
    const content = contentOf(path, kind, () => Sqlite.open(immutable(path), { readOnly: true }))
    const hasJournal = existsSync(`${path}-wal`) || existsSync(`${path}-journal`)
    const isChanged = stateOf(path) !== before
    if (hasJournal || !isChanged || reads === maxReads) return { content, isInUse: hasJournal || isChanged }
  }
}

/** Changes when a process writes or replaces the file, or closes it. */
function stateOf(path: string): string {
  const { ino, size, mtimeNs } = statSync(path, { bigint: true })
  const journals = [`${path}-wal`, `${path}-journal`].map(
    (journal) => statSync(journal, { throwIfNoEntry: false })?.ino,
  )
  return [ino, size, mtimeNs, ...journals].join(' ')
}

function isFilled(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
}

function immutable(path: string): URL {
  const url = pathToFileURL(path)
  url.searchParams.set('immutable', '1')
  return url
}

const restore = 'Restore it from a backup, or use a different file.'

type Content = { readonly tables: readonly string[]; readonly version: number }

function isForeign({ tables }: Content, { table }: StoreKind): boolean {
  return tables.length > 0 && !tables.includes(table)
}

function isStore(path: string, kind: StoreKind, content: Content | StoreError): boolean {
  if (content instanceof StoreError) throw content
  if (isForeign(content, kind)) throw otherContent(path, kind, content)
  if (content.tables.length > 0 && content.version > kind.version) {
    throw new StoreError('store_too_new', `${path} was written by a later version of this program`)
  }
  return content.tables.length > 0
}

/** Returns an error of SQLite. @throws SqliteError if SQLite is missing */
function contentOf(path: string, { table }: StoreKind, open: () => Sqlite.Database): Content | StoreError {
  try {
    return naming(path, () => {
      const database = open()
      try {
        database.exec('PRAGMA busy_timeout = 10000')
        const rows = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { name: string }[]
        const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
        const tables = rows.map(({ name }) => name)
        // Reads the first page of the table, which is zero in a file that lost its end.
        if (tables.includes(table)) database.prepare(`SELECT 1 FROM ${table} LIMIT 1`).get()
        return { tables, version: Number(version) }
      } finally {
        database.close()
      }
    })
  } catch (error) {
    if (error instanceof StoreError) return error
    throw error
  }
}

/** SQLite reads no such file as a database, and so holds no lock on it that closing the file would release. */
function beginsWithZeros(path: string): boolean {
  const head = Buffer.alloc(100, 1)
  const file = openSync(path, 'r')
  try {
    readSync(file, head, 0, head.length, 0)
  } finally {
    closeSync(file)
  }
  return head.subarray(0, 16).every((byte) => byte === 0)
}

function otherContent(path: string, { table }: StoreKind, { tables }: Content): StoreError {
  const other = (Object.keys(contents) as (keyof typeof contents)[]).find((one) => tables.includes(one))
  if (other === undefined) return refused(path, 'it is the database of another program', 'Use a different path.')
  return refused(path, `it has ${contents[other]}, not ${contents[table]}`, 'Use one file for each.')
}

function refused(path: string, reason: string, hint: string): StoreError {
  return new StoreError('store_failed', `the store ${path}: ${reason}`, { hint })
}
