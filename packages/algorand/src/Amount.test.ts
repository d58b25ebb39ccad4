import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import * as Amount from './Amount.js'
import '../../../test/seed.mjs'

test('amounts have no trailing zeros and at least one digit before the point', () => {
  assert.equal(Amount.format(1_500_000n, 6), '1.5')
  assert.equal(Amount.format(1n, 6), '0.000001')
  assert.equal(Amount.format(10n, 0), '10')
  assert.equal(Amount.format(0n, 19), '0')
  assert.equal(Amount.format(-1_500_000n, 6), '-1.5')
})

test('amounts for people have thousands separators, and dollars no decimals or at least two', () => {
  assert.equal(Amount.formatGrouped(1_234_567_500_000n, 6), '1,234,567.5')
  assert.equal(Amount.formatGrouped(-1_000n, 0), '-1,000')
  assert.equal(Amount.formatGrouped(999_999n, 6), '0.999999')
  assert.equal(Amount.formatAlgos(2_000_000n), '2 ALGO')
  assert.equal(Amount.formatAlgos(1_000_000_000_001n), '1,000,000.000001 ALGO')
  assert.equal(Amount.formatDollars(1_000_000_020_000n), '$1,000,000.02')
  assert.equal(Amount.formatDollars(500_000n), '$0.50')
  assert.equal(Amount.formatDollars(-5_000_000n), '-$5')
})

test('formatted amounts are parsed back', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 2n ** 64n - 1n), fc.integer({ min: 0, max: Amount.maxDecimals }), (units, decimals) => {
      assert.equal(Amount.parse(Amount.format(units, decimals), decimals), units)
    }),
  )
})

test('too many decimals, signs, exponents and whitespace are rejected', () => {
  for (const text of ['1.1234567', '-1', '+1', '1e3', '', ' 1', '1.', '.5', '0x1', '1,5', '1'.repeat(21)]) {
    assert.equal(Amount.parse(text, 6), undefined, text)
  }
  assert.equal(Amount.parse('1.5000000', 6), 1_500_000n)
})

test('splits a quantity into its number and its unit', () => {
  assert.deepEqual(Amount.split('2.5 USDC'), { number: '2.5', unit: 'USDC' })
  assert.deepEqual(Amount.split(' 1ALGO '), { number: '1', unit: 'ALGO' })
  assert.deepEqual(Amount.split('10 #1234'), { number: '10', unit: '#1234' })
  assert.deepEqual(Amount.split('1,000,000.25'), { number: '1000000.25', unit: undefined })
  for (const text of [
    '',
    'USDC',
    '-1 ALGO',
    '1,5',
    '1,00 ALGO',
    '1.2.3',
    '1. ALGO',
    '.5',
    '1e3 1',
    `1 ${'x'.repeat(41)}`,
  ]) {
    assert.equal(Amount.split(text), undefined, text)
  }
})
