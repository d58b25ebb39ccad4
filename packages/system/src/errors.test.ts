import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LatchkeyError } from '@latchkey/algorand'
import { AtomicFileError } from './AtomicFile.js'
import { errors } from './errors.js'
import { LockError } from './Lock.js'
import { SqliteError } from './Sqlite.js'

test('every code has a message and a hint', () => {
  for (const [code, { message, hint }] of Object.entries(errors)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.ok(message.length > 0 && hint.length > 0, code)
  }
})

test('errors have the hint of their code and the name of their class', () => {
  const thrown = [
    new AtomicFileError('write_incomplete'),
    new LockError('locked', 'x.lock'),
    new LockError('lock_failed', 'x.lock'),
    new LockError('flock_missing', 'x.lock'),
    new SqliteError('sqlite_missing', new Error('cause')),
  ]
  assert.deepEqual(thrown.map(({ code }) => code).sort(), Object.keys(errors).sort())
  for (const error of thrown) {
    assert.ok(error instanceof LatchkeyError)
    assert.equal(error.name, error.constructor.name)
    assert.equal(error.hint, errors[error.code].hint)
  }
})
