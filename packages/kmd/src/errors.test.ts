import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LatchkeyError } from '@latchkey/algorand'
import {
  apiErrors,
  type Code,
  errors,
  fileErrors,
  KmdError,
  StartError,
  type StartErrorCode,
  startErrors,
} from './errors.js'

test('every code is snake_case and has a message and a hint', () => {
  for (const [code, { message, hint }] of Object.entries(errors)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.notEqual(message, '', code)
    assert.match(hint, /^[a-z].* .*[^.]$/, code)
  }
})

test('no code is in two parts of the registry', () => {
  const parts = [apiErrors, startErrors, fileErrors].map((part) => Object.keys(part).length)
  assert.equal(
    Object.keys(errors).length,
    parts.reduce((sum, count) => sum + count, 0),
  )
})

test('a KmdError has the registry entry of its code', () => {
  for (const [code, { status, message, hint }] of Object.entries(apiErrors)) {
    const error = new KmdError(code as Code)
    assert.ok(error instanceof LatchkeyError)
    assert.deepEqual(
      [error.code, error.status, error.message, error.hint, error.name],
      [code, status, message, hint, 'KmdError'],
    )
    assert.equal(error.retryAfterSeconds, undefined)
    assert.ok(!('cause' in error))
  }
})

test('a KmdError accepts a message, the time to retry after, and a cause', () => {
  const cause = new Error('disk')
  const error = new KmdError('database', { message: 'open x: denied', retryAfterSeconds: 3, cause })
  assert.deepEqual(
    [error.message, error.retryAfterSeconds, error.cause, error.status],
    ['open x: denied', 3, cause, 500],
  )
})

test('a StartError has the registry entry of its code, and an exit code', () => {
  const codes = { log_not_writable: 2, already_running: 4 } as { [code: string]: number }
  for (const [code, { message, hint }] of Object.entries(startErrors)) {
    const error = new StartError(code as StartErrorCode)
    assert.ok(error instanceof LatchkeyError)
    assert.deepEqual([error.code, error.message, error.hint, error.name], [code, message, hint, 'StartError'])
    assert.equal(error.exitCode, codes[code] ?? 3)
  }
})
