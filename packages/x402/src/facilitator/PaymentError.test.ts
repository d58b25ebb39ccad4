import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { paymentErrors } from './PaymentError.js'

const page = readFileSync(new URL('../../../../docs/payment-errors.md', import.meta.url), 'utf8')
const rows = [...page.matchAll(/^\| `([a-z_]+)` \| ([^|]+) \| ([^|]+) \|$/gm)]

test('docs/payment-errors.md lists every code once, with its meaning and its fix', () => {
  assert.deepEqual(rows.map(([, code]) => code).sort(), Object.keys(paymentErrors).sort())
  for (const [, code, meaning, cure] of rows) assert.ok(meaning!.trim() !== '' && cure!.trim() !== '', code)
})
