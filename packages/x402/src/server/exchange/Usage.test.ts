import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lostAnswer } from '../gate/responses.js'
import { storedCharge, Usage, type UsageOptions, withCharge, withoutCharge } from './Usage.js'

const options: UsageOptions = {
  asset: '7',
  decimals: 6,
  maxAmount: 500_000n,
  whenUnset: 'nothing',
  isStreamed: false,
}

test('charges are converted to base units, rounded down, for any number of decimals', () => {
  const cases: [Parameters<Usage['charge']>[0], number, bigint][] = [
    ['$0.0132', 6, 13_200n],
    ['$0.0000019', 6, 1n],
    ['$0.0000001', 6, 0n],
    [0.1 + 0.2, 6, 300_000n],
    ['0.5 USDC', 6, 500_000n],
    ['12.9', 0, 12n],
    ['12', 0, 12n],
    ['1.25', 1, 12n],
    [{ asset: '7', amount: '42' }, 6, 42n],
    [0, 6, 0n],
  ]
  for (const [price, decimals, expected] of cases) {
    const usage = new Usage({ ...options, decimals })
    usage.charge(price)
    assert.equal(usage.total(), expected, JSON.stringify(price))
  }
})

test('an invalid charge throws and leaves the earlier one', () => {
  const usage = new Usage(options)
  usage.charge('$0.1')
  const invalid = ['$0.500001', 'much', -1, Number.NaN, null, undefined, { asset: '8', amount: '1' }, { asset: '7' }]
  for (const price of invalid) assert.throws(() => usage.charge(price as never), { code: 'invalid_charge' })
  assert.equal(usage.total(), 100_000n)
  const unknown = new Usage({ ...options, decimals: undefined })
  assert.throws(() => unknown.charge('$0.1'), { code: 'invalid_charge' })
})

test('the header counts instead of a charge, and an invalid one is an error', () => {
  const amountOf = (header: string): bigint => {
    const usage = new Usage(options)
    usage.charge('$0.3')
    usage.noteHeaders([['settlement-overrides', header]])
    return usage.total()
  }
  assert.equal(amountOf('{"amount":"1"}'), 1n)
  assert.equal(amountOf('{}'), 300_000n)
  assert.equal(amountOf('{"amount":"33.33%"}'), 166_650n)
  assert.equal(amountOf('{"amount":"$0.25"}'), 250_000n)
  const invalid = ['', '{', '[]', '7', '{"amount":5}', '{"amount":"500001"}', '{"amount":"101%"}', '{"amount":"1.5"}']
  for (const header of [...invalid, `{"amount":"1","x":"${'x'.repeat(1_000)}"}`]) {
    assert.throws(() => amountOf(header), { code: 'invalid_charge' }, header)
  }
})

test('a charge is stored with its answer, and an answer that was lost is not charged', () => {
  const answer = { status: 200, headers: [['X-Own', '1']] as [string, string][], body: new Uint8Array() }
  const stored = withCharge(answer, 77n)
  assert.equal(storedCharge(stored), 77n)
  assert.equal(storedCharge(withCharge(stored, 78n)), 78n)
  assert.deepEqual(withoutCharge(stored), answer)
  assert.equal(withCharge(answer, undefined), answer)
  for (const one of [undefined, answer, lostAnswer('upto-A')]) assert.equal(storedCharge(one), 0n)
})
