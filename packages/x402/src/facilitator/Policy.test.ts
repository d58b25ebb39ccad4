import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requirementsFor, seller, stranger } from '../exact/payments.test.helper.js'
import { PaymentError } from './PaymentError.js'
import { Policy } from './Policy.js'
import type { VerifiedPayment } from './verifyPayment.js'

const fee = (feeMicroAlgos: bigint): VerifiedPayment => ({ feeMicroAlgos }) as VerifiedPayment
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

test('requests are counted per minute and seller', () => {
  let now = 0
  const policy = new Policy({ requestsPerMinute: 2 }, () => now)
  const ask = (whom = requirements): boolean => isRefused(() => policy.check({}, whom, fee(0n)))
  assert.deepEqual([ask(), ask(), ask(), ask(other)], [false, false, true, false])
  now = 60_000
  assert.equal(ask(), false)
})

test('fees are counted per day and seller; buyers who pay their own are not limited', () => {
  let now = 0
  const policy = new Policy({ feeMicroAlgosPerDay: 5_000n }, () => now)
  policy.spend(requirements, 2_000n)
  const giveBack = policy.spend(requirements, 2_000n)
  assert.equal(
    isRefused(() => policy.spend(requirements, 2_000n)),
    true,
  )
  assert.equal(
    isRefused(() => policy.check({}, requirements, fee(2_000n))),
    true,
  )
  assert.equal(
    isRefused(() => policy.check({}, requirements, fee(0n))),
    false,
  )
  assert.equal(
    isRefused(() => policy.check({}, other, fee(2_000n))),
    false,
  )
  giveBack()
  assert.equal(
    isRefused(() => policy.check({}, requirements, fee(2_000n))),
    false,
  )
  now = 24 * 60 * 60 * 1000
  assert.equal(
    isRefused(() => policy.spend(requirements, 5_000n)),
    false,
  )
})

test('fees of all sellers together have a limit', () => {
  let now = 1_000_000_000_000
  const policy = new Policy({ totalFeeMicroAlgosPerDay: 5_000n }, () => now)
  policy.spend(requirements, 3_000n)
  assert.equal(
    isRefused(() => policy.spend(other, 3_000n)),
    true,
  )
  policy.spend(other, 2_000n)
  now += 24 * 60 * 60 * 1000
  policy.spend(other, 5_000n)
})
