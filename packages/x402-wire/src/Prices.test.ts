import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Amount } from '@latchkey/algorand'
import * as fc from 'fast-check'
import { baseUnits, PriceError, parse } from './Prices.js'
import '../../../test/seed.mjs'

test('reads prices as people write them', () => {
  const prices = ['$0.01', '0.01', '$ 0.01', ' 0.010 ', '0.01 USDC', '0.01 usd', '$0.01 USD', 0.01]
  for (const price of prices) assert.equal(baseUnits(price, 6), 10_000n, String(price))
  assert.equal(parse('1.50 usdc').ticker, 'USDC')
  assert.equal(parse('1.50 USD').ticker, undefined)
  assert.equal(baseUnits(1e-6, 6), 1n)
  assert.equal(baseUnits(1e-7, 7), 1n)
  assert.equal(baseUnits('18446744073709.551615', 6), 2n ** 64n - 1n)
})

test('a price above 64 bits is an error, because nobody could pay it', () => {
  for (const price of ['18446744073709.551616', '$99999999999999999999', 1e20, 1e14]) {
    assert.throws(() => baseUnits(price, 6), PriceError)
  }
})

const refused = ['', '$', '.5', '5.', '1e3', '-1', '+1', '1,5', '1_000', '0x1', '1USDC', '1 2', '$$1', '1 USDC x', '٣']
for (const price of refused) {
  test(`rejects ${JSON.stringify(price)}`, () => assert.throws(() => baseUnits(price, 6), PriceError))
}

for (const price of [Number.NaN, Number.POSITIVE_INFINITY, -0.01, 1e21]) {
  test(`rejects ${price}`, () => assert.throws(() => baseUnits(price, 6), PriceError))
}

for (const price of ['0', '$0.00', 0, '0.0 USDC']) {
  test(`rejects ${JSON.stringify(price)}, because a zero price would make a route free`, () =>
    assert.throws(() => baseUnits(price, 6), /is zero$/))
}

test('a price with too many decimals is an error', () => {
  for (const price of ['$0.0000001', '1.0000001', 0.1 + 0.2])
    assert.throws(() => baseUnits(price, 6), /too many decimals/)
  assert.equal(baseUnits('1.0000000', 6), 1_000_000n)
  assert.equal(baseUnits('5', 0), 5n)
  assert.throws(() => baseUnits('5.1', 0), /too many decimals/)
})

test('parses a formatted amount to the same amount', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }), fc.integer({ min: 0, max: 19 }), (units, decimals) =>
      assert.equal(baseUnits(Amount.format(units, decimals), decimals), units),
    ),
  )
})
