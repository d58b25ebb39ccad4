import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
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

test('isLocked recognises a database that another connection holds, by run, get and all', (t) => {
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

test('other errors of SQLite are not locks, and other errors are not of SQLite', (t) => {
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

test('closing databases calls the collector that was set, on Nodes where it is needed', () => {
  let collections = 0
  Sqlite.collectWith(() => collections++)
  for (let count = 0; count < 130; count++) Sqlite.close(Sqlite.open(':memory:'))
  assert.equal(collections, Number(process.versions.node.split('.')[0]) >= 24 ? 0 : 2)
})
