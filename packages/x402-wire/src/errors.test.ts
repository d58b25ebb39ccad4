import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { LatchkeyError } from '@latchkey/algorand'
import { FeeError } from './buildPayment.js'
import { errors, type WireError, X402Error } from './errors.js'
import { GroupError } from './PaymentGroup.js'
import { HeaderError } from './PaymentHeaders.js'
import { PriceError } from './Prices.js'

const source = fileURLToPath(new URL('../src/', import.meta.url))

test('every code is snake_case, with a message and a hint', () => {
  for (const [code, { message, hint }] of Object.entries(errors)) {
    assert.match(code, /^[a-z][a-z0-9_]*$/)
    assert.match(message, /^\S.*\.$/, code)
    assert.match(hint, /^\S.*\.$/, code)
  }
})

test('every class carries a registered code, a name and a hint', () => {
  const thrown: WireError[] = [
    new FeeError(2n, 1n),
    new GroupError('invalid_payment_index', 'x'),
    new PriceError('zero_price', 'x'),
    new HeaderError('invalid_header', 'x'),
  ]
  for (const error of thrown) {
    assert.ok(error instanceof LatchkeyError && error instanceof X402Error)
    assert.equal(error.name, error.constructor.name)
    assert.equal(error.hint, errors[error.code].hint)
  }
})

test('every registered code is used', () => {
  const files = readdirSync(source).filter((name) => !name.includes('.test.') && name !== 'errors.ts')
  const text = files.map((name) => readFileSync(join(source, name), 'utf8')).join('\n')
  assert.deepEqual(
    Object.keys(errors).filter((code) => !text.includes(`'${code}'`)),
    [],
  )
})
