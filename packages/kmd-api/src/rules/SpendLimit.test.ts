import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as SpendLimit from './SpendLimit.js'

const dollarAssetId = 31566704n
const options = { dollarAssetId }
const payee = `${'A'.repeat(52)}Y5HFKQ`

const cases: { text: string; limit: SpendLimit.SpendLimit; written?: string }[] = [
  { text: '$5/day', limit: { type: 'amount', per: 'day', assetId: dollarAssetId, amount: 5_000_000n } },
  { text: 'each $0.50', limit: { type: 'amount', per: 'payment', assetId: dollarAssetId, amount: 500_000n } },
  { text: '$0.001/hour', limit: { type: 'amount', per: 'hour', assetId: dollarAssetId, amount: 1_000n } },
  { text: '2 ALGO/total', limit: { type: 'amount', per: 'total', assetId: 0n, amount: 2_000_000n } },
  { text: '10 asset 123/week', limit: { type: 'amount', per: 'week', assetId: 123n, amount: 10n } },
  { text: '20 payments/hour', limit: { type: 'count', per: 'hour', count: 20 } },
  { text: '1 payment/30days', limit: { type: 'count', per: '30days', count: 1 } },
  {
    text: `$1/day to ${payee}`,
    limit: { type: 'amount', per: 'day', assetId: dollarAssetId, amount: 1_000_000n, payee },
  },
]

test('a limit is parsed and formatted in one form', () => {
  for (const { text, limit } of cases) {
    assert.deepEqual(SpendLimit.parse(text, options), limit, text)
    assert.equal(SpendLimit.format(limit, options), text)
  }
})

test('other notations of a limit mean the same', () => {
  const same: [string, string][] = [
    [' $ 5 / Day ', '$5/day'],
    ['5 USDC/day', '$5/day'],
    ['$0.5/payment', 'each $0.50'],
    ['$0.5/each', 'each $0.50'],
    ['2ALGO/total', '2 ALGO/total'],
    ['2 algos/TOTAL', '2 ALGO/total'],
    ['10 #123/week', '10 asset 123/week'],
    ['$1000/30d', '$1,000/30days'],
    ['$1,000/30d', '$1,000/30days'],
    ['20,000 payments/hour', '20,000 payments/hour'],
    ['10 USDC/7d', '$10/week'],
  ]
  for (const [text, written] of same) assert.equal(SpendLimit.format(SpendLimit.parse(text, options), options), written)
})

test('without a dollar asset, its amounts are in base units and $ is refused', () => {
  assert.equal(SpendLimit.format(cases[0]!.limit), '5,000,000 asset 31566704/day')
  assert.throws(() => SpendLimit.parse('$5/day'), { code: 'invalid_limit', message: /no dollar asset/ })
})

test('an amount is explained as an amount, never as a limit', () => {
  for (const text of ['5 cents', '3 payments', '']) {
    const read = (): unknown => SpendLimit.parseAmount(text, options)
    assert.throws(read, { code: 'invalid_limit', message: /is not an amount such as \$0\.25, 2 ALGO or 10 asset 123$/ })
    assert.throws(read, { hint: 'write an amount such as $0.25, 2 ALGO or 10 asset 123' })
  }
})

test('invalid limits are refused with a reason', () => {
  const refused: [string, RegExp][] = [
    ['', /no period/],
    ['$5', /no period/],
    ['$5/fortnight', /not a period/],
    ['$5/constructor', /not a period/],
    ['5/day', /not a limit/],
    ['-5 ALGO/day', /not a number/],
    ['$1e3/day', /not a number/],
    ['$0.0000001/day', /at most 6 decimals/],
    ['1.5 asset 123/day', /whole number/],
    ['5 asset 0/day', /not a limit/],
    ['$99999999999999999/day', /not a number/],
    ['9999999999 payments/day', /not a limit/],
    ['each 20 payments', /needs a period/],
    ['9223372036854775808 asset 5/day', /whole number/],
    ['5 asset 9223372036854775808/day', /not a limit/],
    ['$5/day to NOBODY', /not an address/],
    ['\u001b[2J/day', /\?|\\u001b/],
    ['x'.repeat(201), /at most 200/],
  ]
  for (const [text, message] of refused) {
    assert.throws(() => SpendLimit.parse(text, options), { name: 'SpendLimitError', code: 'invalid_limit', message })
  }
})

test('an amount without a period is read', () => {
  assert.deepEqual(SpendLimit.parseAmount('$0.25', options), { assetId: dollarAssetId, amount: 250_000n })
  assert.deepEqual(SpendLimit.parseAmount(' 2 ALGO '), { assetId: 0n, amount: 2_000_000n })
  for (const text of ['2 payments', '$1/day', '', 'x'.repeat(300)]) {
    assert.throws(() => SpendLimit.parseAmount(text, options), { code: 'invalid_limit' })
  }
})
