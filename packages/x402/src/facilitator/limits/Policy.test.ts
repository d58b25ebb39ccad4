import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requirementsFor, seller, stranger } from '../../../../x402-wire/dist/payments.test.helper.js'
import { PaymentError } from '../PaymentError.js'
import { Policy, RateCounter } from './Policy.js'

const fee = (feeMicroAlgos: bigint) => ({ feeMicroAlgos, amount: 1_000n })
const requirements = requirementsFor()
const other = requirementsFor({ payTo: stranger.address })

function isRefused(work: () => void): boolean {
  try {
    work()
    return false
  } catch (error) {
    assert.ok(error instanceof PaymentError && error.code === 'facilitator_policy_refused')
    return true
  }
}

test('everything is allowed by default', () => {
  const policy = new Policy()
  assert.equal(policy.isAuthorized({}), true)
  for (let time = 0; time < 1_000; time++) policy.check({}, requirements, fee(10_000n))
})

test('refuses API keys that no caller could use, or that an empty header would match', () => {
  for (const apiKeys of [[], [''], [' '], ['key', ''], ['key '], ['k\u{e9}y'], ['a\nb'], [undefined], 'key']) {
    assert.throws(() => new Policy({ apiKeys: apiKeys as never }), { code: 'invalid_option', message: /apiKeys/ })
  }
  assert.equal(new Policy({ apiKeys: undefined }).requiresKey, false)
  assert.equal(new Policy({ apiKeys: ['a key'] }).isAuthorized({ apiKey: 'a key' }), true)
})

test('serves only the listed sellers and assets', () => {
  const policy = new Policy({ payTo: [seller.address], assets: [requirements.asset] })
  assert.equal(
    isRefused(() => policy.check({}, requirements, fee(0n))),
    false,
  )
  assert.equal(
    isRefused(() => policy.check({}, other, fee(0n))),
    true,
  )
  assert.equal(
    isRefused(() => policy.check({}, requirementsFor({ asset: '5' }), fee(0n))),
    true,
  )
})

test('a caller needs one of the keys', () => {
  const policy = new Policy({ apiKeys: ['first', 'second'] })
  const known = ['first', 'second', 'firs', 'firstt', '', undefined].map((apiKey) => policy.isAuthorized({ apiKey }))
  assert.deepEqual(known, [true, true, false, false, false, false])
  assert.equal(
    isRefused(() => policy.check({ apiKey: 'x' }, requirements, fee(0n))),
    true,
  )
})

test('one payer has half of a seller’s payments by default', () => {
  const { limits } = new Policy({ requestsPerMinute: 5, feeMicroAlgosPerDay: 7n, totalFeeMicroAlgosPerDay: 8n })
  assert.deepEqual(limits, { payToPerMinute: 5, payerPerMinute: 3, feesPerPayTo: 7n, feesInAll: 8n })
  assert.equal(new Policy({ requestsPerMinute: 5, payerRequestsPerMinute: 4 }).limits.payerPerMinute, 4)
  assert.equal(new Policy().limits.payerPerMinute, undefined)
})

test('counts requests of a caller by key, otherwise by address, for IPv6 by network', () => {
  const byAddress = new Policy({ callerRequestsPerMinute: 2 }, () => 0)
  const admitted = (address: string | undefined, policy = byAddress, apiKey?: string) =>
    policy.admitCaller({ address, apiKey })
  const v4 = ['1.2.3.4', '::ffff:1.2.3.4', '1.2.3.4', '1.2.3.5'].map((address) => admitted(address))
  assert.deepEqual(v4, [true, true, false, true])
  const v6 = ['2001:db8::1', '2001:DB8:0:0:5::', '2001:db8::ffff:2', '2001:db8:0:1::1'].map((address) =>
    admitted(address),
  )
  assert.deepEqual(v6, [true, true, false, true])
  for (let time = 0; time < 5; time++) assert.equal(admitted(undefined), true, 'not known')
  const byKey = new Policy({ callerRequestsPerMinute: 1, apiKeys: ['a', 'b'] }, () => 0)
  assert.deepEqual([admitted('1.1.1.1', byKey, 'a'), admitted('2.2.2.2', byKey, 'a')], [true, false])
  assert.equal(admitted('1.1.1.1', byKey, 'b'), true)
})

test('strangers with many addresses do not reset the count of one caller', () => {
  const counter = new RateCounter({ maxKeys: 100, periodMs: 60_000, nowMs: () => 0 })
  for (let time = 0; time < 50; time++) counter.add('attacker')
  for (let number = 0; number < 10_000; number++) counter.add(`stranger ${number}`)
  assert.ok(counter.get('attacker') >= 50)
  assert.ok(counter.get('another') <= 101, 'too high by at most all of them divided by the limit')
})

test('pays fees only for amounts above a minimum', () => {
  const policy = new Policy({ minSponsoredAmount: 1_001n })
  assert.equal(
    isRefused(() => policy.check({}, requirements, fee(2_000n))),
    true,
  )
  assert.equal(
    isRefused(() => policy.check({}, requirements, fee(0n))),
    false,
  )
})
