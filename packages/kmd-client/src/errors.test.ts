import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { LatchkeyError } from '@latchkey/algorand'
import { clientErrors, daemonErrorCode } from './errors.js'
import { errors, KmdClientError } from './index.js'

test('every code has a message and a hint', () => {
  for (const [code, { message, hint }] of Object.entries(errors)) {
    assert.match(code, /^[a-z][a-z0-9_]*$/)
    assert.notEqual(message, '', code)
    assert.notEqual(hint, '', code)
  }
})

test("an error carries its code and the registry's hint", () => {
  const error = new KmdClientError('timeout', 'too slow', { operation: 'ListWallets' })
  assert.ok(error instanceof LatchkeyError)
  assert.deepEqual([error.name, error.code, error.hint], ['KmdClientError', 'timeout', errors.timeout.hint])
})

test('the documentation of the error class lists every client code', () => {
  const source = readFileSync(new URL('../src/KmdClientError.ts', import.meta.url), 'utf8')
  for (const code of Object.keys(clientErrors)) assert.ok(source.includes(`\`${code}\``), code)
})

test('the code of a daemon error comes from the header, or else from the text', () => {
  assert.equal(daemonErrorCode('key_not_found', 'anything'), 'key_not_found')
  assert.equal(daemonErrorCode(undefined, 'error decrypting. wrong password?'), 'wrong_password')
  assert.equal(daemonErrorCode('a_code_of_the_future', 'handle expired'), 'handle_expired')
  for (const header of [undefined, 'a_code_of_the_future', 'toString']) {
    assert.equal(daemonErrorCode(header, 'something else'), 'daemon_error')
  }
})
