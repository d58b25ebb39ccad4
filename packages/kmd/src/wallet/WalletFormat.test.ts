import assert from 'node:assert/strict'
import { appendFileSync, closeSync, openSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fuzzRuns, temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { createFile, sql } from '../testing/WalletFixture.test.helper.js'
import * as Sqlite from './Sqlite.js'
import * as WalletFormat from './WalletFormat.js'

function wallet(t: TestContext, ...statements: string[]): string {
  const path = join(temporaryDirectory(t), 'one.db')
  createFile(path, { id: 'the id', name: 'the name' })
  if (statements.length > 0) run(path, ...statements)
  return path
}

/** Runs SQL as another program, in one connection. */
function run(path: string, ...statements: string[]): void {
  const database = Sqlite.open(path)
  for (const statement of statements) database.exec(statement)
  database.close()
}

function inspect(path: string, { keys = true } = {}): WalletFormat.Inspected {
  const file = WalletFormat.openFile(path)
  try {
    return WalletFormat.inspect(file, { keys })
  } finally {
    file.close()
  }
}

const refuses = (path: string, problem: RegExp): void => {
  assert.throws(() => inspect(path), { name: 'DatabaseFormatError', message: problem })
}

const numbers = (count: number): string =>
  `(WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) SELECT i FROM n)`
const fill = (count: number): string[] => [
  `INSERT INTO keys SELECT randomblob(32), randomblob(200), i FROM ${numbers(count)}`,
  `INSERT INTO msig_addrs SELECT randomblob(32), 1, 1, randomblob(i * 100) FROM ${numbers(100)}`,
]

test('id and name are those that SQLite reads, as blobs or as text', (t) => {
  const path = wallet(t)
  const expected = { id: Buffer.from('the id'), name: Buffer.from('the name') }
  assert.deepEqual(inspect(path), expected)
  assert.deepEqual(inspect(path, { keys: false }), expected)
  sql(path, "UPDATE metadata SET wallet_id = 'text ü', wallet_name = ''")
  assert.deepEqual(inspect(path), { id: Buffer.from('text ü'), name: Buffer.alloc(0) })
})

for (const pageSize of [512, 1024, 4096, 65_536]) {
  test(`wallets with pages of ${pageSize} bytes are read, with long values and after deletions`, (t) => {
    const path = wallet(t, `PRAGMA page_size = ${pageSize}`, 'VACUUM', ...fill(3000))
    assert.deepEqual(inspect(path).id, Buffer.from('the id'))
    run(path, 'DELETE FROM keys WHERE key_idx % 3 = 0', 'DELETE FROM msig_addrs WHERE rowid % 2 = 0', ...fill(500))
    assert.deepEqual(inspect(path).name, Buffer.from('the name'))
    run(path, 'DELETE FROM keys', 'DELETE FROM msig_addrs')
    assert.equal(inspect(path).damage, undefined)
    run(path, 'PRAGMA auto_vacuum = FULL', 'VACUUM', ...fill(1000))
    assert.equal(inspect(path).damage, undefined)
  })
}

test('a file that grew beyond its pages, or has an irrelevant journal, is read', (t) => {
  const path = wallet(t)
  appendFileSync(path, Buffer.alloc(100))
  writeFileSync(`${path}-journal`, '')
  inspect(path)
  writeFileSync(`${path}-journal`, Buffer.alloc(512))
  inspect(path)
})

test('values that are too long are rejected, regardless of their first page', (t) => {
  refuses(wallet(t, 'UPDATE metadata SET mep_encrypted = zeroblob(20000)'), /too long/)
  refuses(wallet(t, 'INSERT INTO keys VALUES (randomblob(32), zeroblob(5000), 1)'), /too long/)
  refuses(wallet(t, "INSERT INTO keys VALUES (zeroblob(5000), x'01', 1)"), /too long/)
  refuses(wallet(t, 'INSERT INTO msig_addrs VALUES (randomblob(32), 1, 1, zeroblob(3000000))'), /too long/)
  refuses(wallet(t, 'UPDATE metadata SET wallet_name = zeroblob(1025)'), /name that is too long/)
})

test('a page chain with a cycle is rejected', (t) => {
  const path = wallet(t, 'INSERT INTO msig_addrs VALUES (randomblob(32), 1, 1, zeroblob(100000))')
  const file = readFileSync(path)
  // The value's pages are consecutive; each begins with the number of the next.
  const first = file.length - 4 * 4096
  file.writeUInt32BE(first / 4096, first)
  writeFileSync(path, file)
  refuses(path, /uses a page twice|damaged/)
})

test('a file that becomes empty, or too large, after it was opened is rejected', (t) => {
  for (const size of [0, WalletFormat.limits.fileBytes + 1]) {
    const path = wallet(t)
    const descriptor = openSync(path, 'r')
    truncateSync(path, size)
    assert.throws(() => WalletFormat.inspect({ descriptor }, { keys: true }), /is empty|is larger/)
    closeSync(descriptor)
  }
})

test('for any changed bytes, the check ends with a wallet or with a reason', (t) => {
  const path = wallet(t, ...fill(40))
  const good = readFileSync(path)
  let seed = 1
  const random = (below: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return seed % below
  }
  for (let i = 0; i < fuzzRuns(500); i++) {
    const file = Buffer.from(good)
    // Mostly in the structure: the header, and the first bytes of pages.
    for (let change = 0; change <= i % 4; change++) {
      const at = i % 2 === 0 ? random(file.length / 4096) * 4096 + random(120) : random(file.length)
      file[at] = random(256)
    }
    writeFileSync(path, file)
    try {
      inspect(path)
    } catch (error) {
      assert.ok(error instanceof WalletFormat.DatabaseFormatError, String((error as Error).stack))
    }
  }
})
