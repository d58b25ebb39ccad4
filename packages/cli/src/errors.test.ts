import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LatchkeyError } from '@latchkey/algorand'
import { CommandError, errors, UsageError } from './errors.js'
import { exitCodes } from './exitCodes.js'
import { FlagError } from './GoFlags.js'

test('every code has a message, a hint and an exit code', () => {
  for (const [code, { message, hint, exit }] of Object.entries(errors)) {
    assert.match(code, /^[a-z]+(_[a-z]+)*$/)
    assert.ok(message.length > 0 && hint.length > 0 && exit in exitCodes, code)
  }
})

test('the code of an error decides the exit code', () => {
  assert.equal(new CommandError('wrong_password', 'text').exit, 'password')
  assert.equal(new UsageError('text').exit, 'usage')
  assert.equal(new UsageError('text', { code: 'unknown_option' }).code, 'unknown_option')
})

test('every class is a LatchkeyError with a registered code', () => {
  for (const error of [new CommandError('declined', 'text'), new UsageError('text'), new FlagError('text')]) {
    assert.ok(error instanceof LatchkeyError)
    assert.ok(error.code in errors)
  }
})
