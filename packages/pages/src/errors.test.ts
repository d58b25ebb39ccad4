import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LatchkeyError } from '@latchkey/algorand'
import { type ErrorCode, errors, PagesError, PaywallError, type PaywallErrorCode } from './errors.js'

test('every code has a message and a hint', () => {
  for (const [code, { message, hint }] of Object.entries(errors)) {
    assert.match(code, /^[a-z]+(_[a-z]+)+$/)
    assert.ok(message.length > 0 && hint.length > 0, code)
  }
})

test('errors extend LatchkeyError and carry the registered code, message and hint', () => {
  const toError = (code: ErrorCode): LatchkeyError =>
    code === 'pages_not_built' ? new PagesError(code) : new PaywallError(code satisfies PaywallErrorCode)
  for (const code of Object.keys(errors) as ErrorCode[]) {
    const error = toError(code)
    assert.ok(error instanceof LatchkeyError)
    assert.deepEqual([error.code, error.message, error.hint], [code, errors[code].message, errors[code].hint])
  }
})
