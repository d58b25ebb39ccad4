import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import * as Sqlite from './Sqlite.js'
import { temporaryDirectory } from './temporaryDirectory.test.helper.js'

test('opens, creates and reads back a database', (t) => {
  const path = join(temporaryDirectory(t), 'x.db')
  const first = Sqlite.open(path)
  first.exec('CREATE TABLE entries (name TEXT, data BLOB)')
  first.prepare('INSERT INTO entries VALUES (?, ?)').run('a', Uint8Array.of(1, 2))
  Sqlite.close(first)
  assert.ok(existsSync(path))
  const second = Sqlite.open(path)
  t.after(() => Sqlite.close(second))
  const row = second.prepare('SELECT name, data FROM entries').get() as { name: string; data: Uint8Array }
  assert.equal(row.name, 'a')
  assert.deepEqual(Uint8Array.from(row.data), Uint8Array.of(1, 2))
})

test('isLocked recognises a database held by another connection, for run, get and all', (t) => {
  const path = join(temporaryDirectory(t), 'x.db')
  const [holder, other] = [Sqlite.open(path), Sqlite.open(path)]
  t.after(() => [holder, other].forEach(Sqlite.close))
  holder.exec('CREATE TABLE entries (name TEXT)')
  const insert = other.prepare('INSERT INTO entries VALUES (?)')
  const select = other.prepare('SELECT * FROM entries')
  holder.exec('BEGIN EXCLUSIVE')
  for (const run of [() => insert.run('a'), () => select.get(), () => select.all()]) assert.throws(run, Sqlite.isLocked)
  holder.exec('ROLLBACK')
  assert.deepEqual(select.all(), [])
})

test('other SQLite errors are not locks, and other errors are not SQLite errors', (t) => {
  const database = Sqlite.open(':memory:')
  t.after(() => Sqlite.close(database))
  assert.throws(
    () => database.exec('nonsense'),
    (error) => Sqlite.isSqliteError(error) && !Sqlite.isLocked(error),
  )
  for (const error of [new Error('database is locked'), undefined, null, 'database is locked', {}]) {
    assert.equal(Sqlite.isSqliteError(error), false)
    assert.equal(Sqlite.isLocked(error), false)
  }
})

test('closing databases calls the configured collector on Node versions that need it', () => {
  let collections = 0
  Sqlite.collectWith(() => collections++)
  for (let count = 0; count < 128; count++) Sqlite.close(Sqlite.open(':memory:'))
  assert.equal(collections, hasBuiltIn() ? 0 : 4)
})

/** Whether this Node has a sufficient `node:sqlite`: 22.16 and later. */
function hasBuiltIn(): boolean {
  const [major, minor] = process.versions.node.split('.').map(Number) as [number, number]
  return major > 22 || (major === 22 && minor >= 16)
}

test('the built-in module is used if it is sufficient, without its warning', async () => {
  const script = `
    const { open } = await import(${JSON.stringify(new URL('./Sqlite.js', import.meta.url).href)})
    const database = open(':memory:')
    const { DatabaseSync } = process.getBuiltinModule?.('node:sqlite') ?? {}
    console.log(DatabaseSync !== undefined && database instanceof DatabaseSync)
    process.emitWarning('other', 'ExperimentalWarning')`
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script])
  assert.equal(stdout.trim(), String(hasBuiltIn()))
  assert.match(stderr, /ExperimentalWarning: other/, 'other warnings are shown')
  assert.doesNotMatch(stderr.replace('other', ''), /SQLite is/)
})
