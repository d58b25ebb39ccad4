/** Writes wallet files as an attacker, a broken disk or a careless program would leave them. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  appendFileSync,
  closeSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { basename } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'

export const columns = {
  metadata: `driver_name TEXT NOT NULL, driver_version INT NOT NULL, wallet_id TEXT NOT NULL UNIQUE,
    wallet_name TEXT NOT NULL, mep_encrypted BLOB NOT NULL, mdk_encrypted BLOB NOT NULL,
    max_key_idx_encrypted BLOB NOT NULL`,
  keys: 'address BLOB PRIMARY KEY, secret_key_encrypted BLOB NOT NULL, key_idx INT',
  msig: 'address BLOB PRIMARY KEY, version INT NOT NULL, threshold INT NOT NULL, pks BLOB NOT NULL',
} as const

const keys = `CREATE TABLE keys (${columns.keys})`
const msig = `CREATE TABLE msig_addrs (${columns.msig})`
const metadata = `CREATE TABLE metadata (${columns.metadata})`
const row =
  "INSERT INTO metadata VALUES ('sqlite', 1, CAST('planted' AS BLOB), CAST('planted' AS BLOB), x'01', x'01', x'01')"

export function run(path: string, ...statements: string[]): void {
  const database = new DatabaseSync(path, { defensive: false })
  try {
    for (const statement of statements) database.exec(statement)
  } finally {
    database.close()
  }
}

/** Writes a complete wallet except for its boxes. */
export function plain(path: string, ...more: string[]): void {
  run(path, metadata, keys, msig, row, ...more)
}

const view = (id: string, name = "CAST('planted' AS BLOB)"): string =>
  `CREATE VIEW metadata AS SELECT 'sqlite' AS driver_name, 1 AS driver_version, ${id} AS wallet_id, ${name} AS wallet_name,
    x'01' AS mep_encrypted, x'01' AS mdk_encrypted, x'01' AS max_key_idx_encrypted`
const endless = '(WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n)'

/** Replaces the schema by a text that SQLite would not have written. */
function rewriteSchema(path: string, from: string, to: string): void {
  run(path, 'PRAGMA writable_schema = ON', `UPDATE sqlite_schema SET sql = replace(sql, '${from}', '${to}')`)
}

type Page = Buffer
const pageSize = 4096

/** Returns an interior page whose cells all lead to one page. */
function fork(child: number, { at = 0, index = false, cells = 50 } = {}): Page {
  const page = Buffer.alloc(pageSize)
  // A record of an address and a row id, for an index.
  const record = Buffer.concat([Buffer.of(36, 3, 76, 1), Buffer.alloc(32, 7), Buffer.of(1)])
  const cell = index ? Buffer.concat([Buffer.alloc(4), record]) : Buffer.alloc(5, 1)
  cell.writeUInt32BE(child, 0)
  const start = pageSize - cells * cell.length
  page[at] = index ? 2 : 5
  page.writeUInt16BE(cells, at + 3)
  page.writeUInt16BE(start, at + 5)
  page.writeUInt32BE(child, at + 8)
  for (let i = 0; i < cells; i++) {
    page.writeUInt16BE(start + i * cell.length, at + 12 + 2 * i)
    cell.copy(page, start + i * cell.length)
  }
  return page
}

/** Builds a tree of few pages that would take practically forever to walk: each level leads 50 times to the next. */
function forest(path: string, root: number, { index = false } = {}): void {
  const file = readFileSync(path)
  const count = file.length / pageSize
  const levels = 15
  const at = root === 1 ? 100 : 0
  const pages = Array.from({ length: levels }, (_, level) => fork(count + level + 2, { index }))
  const top = fork(count + 1, { at, index })
  if (root === 1) file.copy(top, 0, 0, 100)
  top.copy(file, (root - 1) * pageSize)
  const leaf = Buffer.alloc(pageSize)
  leaf[0] = index ? 10 : 13
  leaf.writeUInt16BE(1, 3)
  leaf.writeUInt16BE(pageSize - 37, 5)
  leaf.writeUInt16BE(pageSize - 37, 8)
  Buffer.concat([Buffer.of(36, 3, 76, 1), Buffer.alloc(32, 7), Buffer.of(1)]).copy(leaf, pageSize - 37)
  const whole = Buffer.concat([file, ...pages, leaf])
  whole.writeUInt32BE(whole.length / pageSize, 28)
  writeFileSync(path, whole)
}

export function rootPage(path: string, name: string): number {
  const database = new DatabaseSync(path)
  try {
    const found = database.prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?').get(name) as {
      rootpage: number
    }
    return found.rootpage
  } finally {
    database.close()
  }
}

/** Makes the index of the keys endless, in place. */
export function loopKeys(path: string): void {
  forest(path, rootPage(path, 'sqlite_autoindex_keys_1'), { index: true })
}

function patch(path: string, change: (file: Buffer) => void): void {
  const file = readFileSync(path)
  change(file)
  writeFileSync(path, file)
}

/** Each writes one file that must not be read as a wallet. */
export const planted: { readonly [what: string]: (path: string) => void } = {
  'a view that never ends': (path) => run(path, view(endless), keys, msig),
  'a view that takes 300 MB': (path) => run(path, view("'planted'", 'zeroblob(300000000)'), keys, msig),
  'a trigger': (path) =>
    plain(path, `CREATE TRIGGER t AFTER UPDATE ON metadata BEGIN DELETE FROM keys WHERE 1 < ${endless}; END`),
  'a virtual table': (path) => run(path, metadata, row, 'CREATE VIRTUAL TABLE keys USING fts5(address)', msig),
  'a generated column': (path) =>
    run(
      path,
      metadata.replace('wallet_name TEXT NOT NULL', 'wallet_name TEXT AS (hex(zeroblob(100000000)))'),
      "INSERT INTO metadata VALUES ('sqlite', 1, 'planted', x'01', x'01', x'01')",
      keys,
      msig,
    ),
  'a check with an expression': (path) =>
    run(path, metadata, row, `CREATE TABLE keys (${columns.keys}, CHECK (length(zeroblob(100000000)) > 0))`, msig),
  'an index on an expression': (path) => plain(path, 'CREATE INDEX i ON keys (hex(zeroblob(100000000)))'),
  'a partial index': (path) => plain(path, 'CREATE INDEX i ON keys (key_idx) WHERE length(zeroblob(100000000)) > 0'),
  'another table that refers to the keys': (path) =>
    plain(path, 'CREATE TABLE more (a BLOB REFERENCES keys (address) ON DELETE CASCADE)'),
  'a column too many': (path) => plain(path, 'ALTER TABLE keys ADD COLUMN more TEXT'),
  'a table too few': (path) => run(path, metadata, keys, row),
  'two rows of metadata': (path) => plain(path, row.replace("CAST('planted' AS BLOB)", "CAST('second' AS BLOB)")),
  'no row of metadata': (path) => plain(path, 'DELETE FROM metadata'),
  'a name of 100 MB': (path) => plain(path, 'UPDATE metadata SET wallet_name = zeroblob(100000000)'),
  'an id of 2 kB': (path) => plain(path, 'UPDATE metadata SET wallet_id = zeroblob(2000)'),
  'a box of 100 MB': (path) => plain(path, 'UPDATE metadata SET mep_encrypted = zeroblob(100000000)'),
  'a schema that SQLite would not write': (path) => {
    plain(path)
    rewriteSchema(path, 'key_idx INT', 'key_idx INT DEFAULT (hex(zeroblob(100000000)))')
  },
  'a schema that is a tree without end': (path) => {
    plain(path)
    forest(path, 1)
  },
  'metadata that is a tree without end': (path) => {
    plain(path)
    forest(path, rootPage(path, 'metadata'))
  },
  'a page that leads to itself': (path) => {
    plain(path)
    patch(path, (file) => {
      const top = fork(1, { at: 100 })
      file.copy(top, 0, 0, 100)
      top.copy(file)
    })
  },
  'two tables with one root': (path) => {
    plain(path)
    run(path, 'PRAGMA writable_schema = ON', "UPDATE sqlite_schema SET rootpage = 2 WHERE name = 'keys'")
  },
  'WAL mode': (path) => plain(path, 'PRAGMA journal_mode = WAL'),
  'a WAL beside it': (path) => {
    plain(path)
    writeFileSync(`${path}-wal`, Buffer.alloc(4096, 1))
  },
  'UTF-16': (path) => run(path, "PRAGMA encoding = 'UTF-16le'", metadata, keys, msig, row),
  'a page size that is none': (path) => {
    plain(path)
    patch(path, (file) => file.writeUInt16BE(4097, 16))
  },
  'fewer pages than it says': (path) => {
    plain(path)
    patch(path, (file) => file.fill(0, 4096))
  },
  'a part of a file': (path) => {
    plain(path)
    writeFileSync(path, readFileSync(path).subarray(0, 5000))
  },
  'nothing in it': (path) => writeFileSync(path, ''),
  garbage: (path) => writeFileSync(path, 'no database'.repeat(1000)),
  'ten terabytes': (path) => {
    plain(path)
    const file = openSync(path, 'r+')
    ftruncateSync(file, 10 * 2 ** 40)
    closeSync(file)
  },
  'a FIFO': (path) => void execFileSync('mkfifo', [path]),
  'a device': (path) => symlinkSync('/dev/zero', path),
  'a link to a FIFO': (path) => {
    execFileSync('mkfifo', [`${path}.fifo`])
    symlinkSync(`${basename(path)}.fifo`, path)
  },
  'a link that leads nowhere': (path) => symlinkSync(`${path}.missing`, path),
  'a link that leads to itself': (path) => symlinkSync(basename(path), path),
}

/** Zeroes the pages of the keys, as a bad disk would. */
export function damageKeys(path: string): void {
  const roots = ['keys', 'sqlite_autoindex_keys_1'].map((name) => rootPage(path, name))
  patch(path, (file) => {
    for (const root of roots) file.fill(0, (root - 1) * pageSize, root * pageSize)
    // Otherwise SQLite trusts the pages in memory.
    for (const at of [24, 92]) file.writeUInt32BE(file.readUInt32BE(at) + 1, at)
  })
}

/** Writes a good wallet with a journal that, when rolled back, turns it into what `make` wrote. */
export function hotJournal(path: string, make: (path: string) => void): void {
  make(path)
  // SQLite journals each page before it changes, and this program dies during the change.
  const script = `
    const { DatabaseSync } = require(process.argv[1])
    const { copyFileSync } = require('node:fs')
    const path = process.argv[2]
    const database = new DatabaseSync(path)
    database.exec('PRAGMA cache_size = 1; BEGIN EXCLUSIVE; CREATE TABLE filler (a)')
    database.exec('INSERT INTO filler SELECT zeroblob(3000) FROM (WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT i FROM n)')
    copyFileSync(path + '-journal', path + '-saved')
    process.kill(process.pid, 'SIGKILL')`
  const module = createRequire(import.meta.url).resolve('@photostructure/sqlite')
  spawnSync(process.execPath, ['-e', script, module, path])
  rmSync(`${path}-journal`, { force: true })
  renameSync(`${path}-saved`, `${path}-journal`)
  // Not visible until the journal is rolled back.
  plain(`${path}-good`)
  const good = readFileSync(`${path}-good`)
  rmSync(`${path}-good`)
  const file = readFileSync(path)
  writeFileSync(path, Buffer.concat([good, file.subarray(good.length)]))
}

/**
 * Names a file at the end of a journal. SQLite treats that file as a journal of several databases, and deletes it
 * afterwards.
 */
export function withSuperJournal(journal: string, name: string): void {
  const bytes = Buffer.from(name)
  const end = Buffer.alloc(20)
  // The number of the lock page, for pages of 4 KiB.
  end.writeUInt32BE(2 ** 30 / pageSize + 1, 0)
  const tail = Buffer.alloc(8)
  tail.writeUInt32BE(bytes.length, 0)
  tail.writeUInt32BE(
    bytes.reduce((sum, byte) => sum + byte, 0),
    4,
  )
  const magic = Buffer.from('d9d505f920a163d7', 'hex')
  appendFileSync(journal, Buffer.concat([end.subarray(0, 4), bytes, tail, magic]))
}
