import assert from 'node:assert/strict'
import { cpSync, existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import * as Sqlite from '@latchkey/system/sqlite'
import { KmdError } from '../errors.js'
import { temporaryDirectory } from '../testing/TestApp.test.helper.js'
import { StateDatabase, type StateListener } from './StateDatabase.js'

const migrations = ['CREATE TABLE entries (name TEXT PRIMARY KEY) STRICT;']

function open(t: TestContext, file = join(temporaryDirectory(t), 'state.db')) {
  const database = new StateDatabase({ file, migrations, eraseAgainMs: 5 })
  t.after(() => database.close())
  const add = (name: string) => (): void => {
    database.statement('INSERT INTO entries VALUES (?)').run(name)
  }
  const names = (): string[] =>
    (database.statement('SELECT name FROM entries ORDER BY name').all() as { name: string }[]).map(({ name }) => name)
  return { database, file, add, names }
}

test('no file exists before the first change; then only its owner can read it', async (t) => {
  const { database, file, add } = open(t)
  assert.equal(database.exists, false)
  assert.equal(existsSync(file), false)
  await database.change(add('a'))
  for (const each of [file, `${file}-wal`, `${file}-shm`]) assert.equal(statSync(each).mode & 0o777, 0o600)
})

test('a change that throws before it writes fails alone', async (t) => {
  const { database, add, names } = open(t)
  const refuse = (): never => {
    throw new KmdError('agent_ended')
  }
  const results = await Promise.allSettled([
    database.change(add('a')),
    database.change(refuse),
    database.change(add('b')),
  ])
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(names(), ['a', 'b'])
})

test('a change that throws after writing fails the whole transaction, and so does an SQLite error', async (t) => {
  const { database, add, names } = open(t)
  await database.change(add('a'))
  const calls: string[] = []
  database.listen({ onBegin: () => calls.push('begin'), onRollback: () => calls.push('rollback') })
  const half = (): never => {
    add('half')()
    throw new KmdError('agent_ended')
  }
  const first = await Promise.allSettled([database.change(add('b')), database.change(half)])
  assert.deepEqual(
    first.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  await assert.rejects(database.change(add('a')), { code: 'state_not_written' })
  assert.deepEqual(names(), ['a'])
  assert.deepEqual(calls, ['begin', 'rollback', 'begin', 'rollback'])
  await database.change(add('c'))
  assert.deepEqual(names(), ['a', 'c'])
})

test('an error that is not SQLite’s fails the transaction with its own message', async (t) => {
  const { database, add, names } = open(t)
  const defect = new TypeError('agent is undefined')
  const half = (): never => {
    add('half')()
    throw defect
  }
  const results = await Promise.allSettled([database.change(add('a')), database.change(half)])
  assert.deepEqual(
    results.map((result) => result.status === 'rejected' && result.reason),
    [defect, defect],
  )
  await database.change(add('b'))
  assert.deepEqual(names(), ['b'])
})

test('listeners are called after a commit, before its changes are reported', async (t) => {
  const { database, add } = open(t)
  const order: string[] = []
  const listener: StateListener = { onCommit: () => order.push('commit') }
  database.listen(listener)
  await Promise.all([1, 2].map((number) => database.change(add(`${number}`)).then(() => order.push(`${number}`))))
  assert.deepEqual(order, ['commit', '1', '2'])
})

test('steps extend a transaction over several turns, and commit with it', async (t) => {
  const { database, add, names } = open(t)
  let turns = 0
  function* steps(): Generator<void, void> {
    for (const name of ['b', 'c', 'd']) {
      add(name)()
      turns++
      yield
    }
  }
  const order: string[] = []
  let settled = 0
  database.listen({ beforeCommit: () => settled++, onCommit: () => order.push(`commit after ${turns}`) })
  const extended = database.change(() => {
    add('a')()
    database.extend(steps())
  })
  while (turns === 0) await nextTurn()
  const later = database.change(() => order.push('later'))
  await Promise.all([extended, later])
  assert.deepEqual(order, ['commit after 3', 'later', 'commit after 3'])
  assert.equal(settled, 1 + 4 + 1, 'before each turn and each commit')
  assert.deepEqual(names(), ['a', 'b', 'c', 'd'])
})

test('a step that fails rolls back the whole transaction, and is not run with the next one', async (t) => {
  const { database, add, names } = open(t)
  function* steps(): Generator<void, void> {
    add('b')()
    yield
    add('a')()
  }
  const extended = database.change(() => {
    add('a')()
    database.extend(steps())
  })
  await assert.rejects(extended, { code: 'state_not_written' })
  assert.deepEqual(names(), [])
  await database.change(add('c'))
  assert.deepEqual(names(), ['c'])
})

test('the log is extended before the first change, not by a read', async (t) => {
  const first = open(t)
  await first.database.change(first.add('a'))
  const { size } = statSync(`${first.file}-wal`)
  await first.database.close()
  const { database, file, add, names } = open(t, first.file)
  assert.deepEqual(names(), ['a'])
  assert.ok(statSync(`${file}-wal`).size < size)
  await database.change(add('b'))
  assert.equal(statSync(`${file}-wal`).size, size)
})

test('pending changes are written at the end, and later changes are rejected', async (t) => {
  const { database, file, add } = open(t)
  const waiting = database.change(add('a'))
  await database.close()
  await waiting
  await assert.rejects(database.change(add('b')), { code: 'state_not_written' })
  assert.deepEqual(open(t, file).names(), ['a'])
})

test('a copy of only the file is complete once it is closed', async (t) => {
  const { database, file, add } = open(t)
  await database.change(add('a'))
  await database.close()
  const copy = join(temporaryDirectory(t), 'state.db')
  cpSync(file, copy)
  assert.deepEqual(open(t, copy).names(), ['a'])
})

test('a file of a later version is not changed', async (t) => {
  const { database, file, add } = open(t)
  await database.change(add('a'))
  await database.close()
  const older = new StateDatabase({ file, migrations: [] })
  t.after(() => older.close())
  await assert.rejects(
    older.change(() => {}),
    /later version/,
  )
})

test('nothing is reopened after the end', async (t) => {
  const { database, add, names } = open(t)
  await database.change(add('a'))
  await database.close()
  assert.throws(names, { code: 'state_not_written', message: 'the daemon is stopping' })
})

const secret = 'a-sealed-key'
const isIn = (path: string): boolean => readFileSync(path).includes(secret)

async function erase(database: StateDatabase): Promise<void> {
  await database.change(
    () => {
      database.statement('DELETE FROM entries WHERE name = ?').run(secret)
    },
    { erases: true },
  )
}

test('erased data also leaves the log, as soon as no other program reads it', { timeout: 60_000 }, async (t) => {
  const { database, file, add } = open(t)
  await database.change(add(secret))
  const reader = Sqlite.open(file, { readOnly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT name FROM entries').all()
  await erase(database)
  assert.ok(isIn(`${file}-wal`), 'the reader needs it')
  Sqlite.close(reader)
  while (isIn(`${file}-wal`)) await sleep(5)
  assert.ok(!isIn(file))
})

test('a daemon killed before the log was emptied empties it at its next start', async (t) => {
  const { database, file, add } = open(t)
  await database.change(add(secret))
  // Without the erasure, as if killed right after the commit.
  await database.change(() => {
    database.statement('DELETE FROM entries WHERE name = ?').run(secret)
  })
  const copy = join(temporaryDirectory(t), 'state.db')
  for (const end of ['', '-wal']) cpSync(`${file}${end}`, `${copy}${end}`)
  assert.ok(isIn(`${copy}-wal`))
  open(t, copy).names()
  assert.ok(!isIn(`${copy}-wal`) && !isIn(copy))
})
