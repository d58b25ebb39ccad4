import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requirementsFor, seller, stranger } from '../exact/payments.test.helper.js'
import { MemorySettlements } from '../store/Settlements.js'
import { PaymentError } from './PaymentError.js'
import { Policy } from './Policy.js'
import { RateCounter } from './RateCounter.js'

const fee = (feeMicroAlgos: bigint, payer = 'P') => ({ feeMicroAlgos, payer, amount: 1_000n })
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

let count = 0
const newId = (): string => `T${++count}`
const dayMs = 24 * 60 * 60 * 1000
const quarterMs = 15 * 60 * 1000

test('payments are counted per minute and seller when they are submitted, not when they are checked', () => {
  let now = 0
  const policy = new Policy({ requestsPerMinute: 2, payerRequestsPerMinute: 10 }, () => now)
  const ask = (whom = requirements): boolean => isRefused(() => policy.check({}, whom, fee(0n)))
  for (let time = 0; time < 100; time++) assert.equal(ask(), false)
  for (let time = 0; time < 2; time++) policy.spend(newId(), requirements, fee(0n))
  assert.deepEqual([ask(), ask(other)], [true, false])
  now = 60_000
  assert.equal(ask(), false)
})

test('one payer has half of a seller’s payments by default', () => {
  const policy = new Policy({ requestsPerMinute: 5 }, () => 0)
  for (let time = 0; time < 3; time++) policy.spend(newId(), requirements, fee(0n, 'RICH'))
  assert.equal(
    isRefused(() => policy.check({}, requirements, fee(0n, 'RICH'))),
    true,
  )
  assert.equal(
    isRefused(() => policy.check({}, requirements, fee(0n, 'OTHER'))),
    false,
  )
})

test('requests of a caller are counted by key, otherwise by address, of IPv6 by its network', () => {
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

test('strangers with many addresses do not reset the count of one', () => {
  const counter = new RateCounter({ maxKeys: 100, periodMs: 60_000, nowMs: () => 0 })
  for (let time = 0; time < 50; time++) counter.add('attacker')
  for (let number = 0; number < 10_000; number++) counter.add(`stranger ${number}`)
  assert.ok(counter.get('attacker') >= 50)
  assert.ok(counter.get('another') <= 101, 'too high by at most all of them divided by the limit')
})

test('fees are paid for amounts from a limit on', () => {
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

test('fees are counted over a rolling day and by seller; buyers who pay their own are not limited', () => {
  let now = 10 * dayMs
  const policy = new Policy({ feeMicroAlgosPerDay: 5_000n }, () => now)
  const spend = (microAlgos: bigint, id = newId()) => policy.spend(id, requirements, fee(microAlgos))
  const isFull = (microAlgos: bigint, whom = requirements) => isRefused(() => policy.check({}, whom, fee(microAlgos)))
  spend(2_000n)
  now += dayMs / 2
  const release = spend(2_000n)
  assert.deepEqual([isFull(2_000n), isFull(0n), isFull(2_000n, other)], [true, false, false])
  release()
  release()
  assert.equal(isFull(2_000n), false)
  spend(2_000n)
  now += dayMs / 2
  assert.equal(isFull(2_000n), true, 'the first quarter of an hour is not over')
  now += quarterMs
  assert.deepEqual([isFull(3_000n), isFull(4_000n)], [false, true], 'the second half of the day still counts')
  now += dayMs
  assert.equal(isFull(5_000n), false)
})

test('a fee is given back when its settlement fails, whenever that is, and once', () => {
  let now = 10 * dayMs
  const policy = new Policy({ feeMicroAlgosPerDay: 4_000n }, () => now)
  const spend = (id: string) => policy.spend(id, requirements, fee(2_000n))
  spend('A')
  spend('B')
  assert.equal(
    isRefused(() => spend('C')),
    true,
  )
  now += dayMs / 2
  for (let time = 0; time < 3; time++) policy.end('A', 'failed')
  policy.end('B', 'settled')
  policy.end('B', 'failed')
  spend('C')
  assert.equal(
    isRefused(() => spend('D')),
    true,
  )
})

test('the fees of an earlier process count, and those of what it left pending are given back on failure', async () => {
  const now = 10 * dayMs
  const store = new MemorySettlements()
  const record = (transactionId: string, createdMs: number, state?: 'settled' | 'failed') => {
    const texts = { network: 'n', payer: 'P', payTo: seller.address, asset: '1', amount: '1' }
    const rest = { group: [], firstValid: 1n, lastValid: 2n, feeMicroAlgos: 2_000n, createdMs }
    store.claim({ transactionId, state: 'pending', ...texts, ...rest })
    if (state !== undefined) store.finish(transactionId, { state })
  }
  record('OLD', now - dayMs - quarterMs, 'settled')
  record('SETTLED', now - dayMs / 2, 'settled')
  record('FAILED', now - 5, 'failed')
  record('PENDING', now - 5)
  const policy = new Policy({ feeMicroAlgosPerDay: 5_000n, totalFeeMicroAlgosPerDay: 5_000n }, () => now)
  await Promise.all([policy.restore(store), policy.restore(store)])
  const isFull = () => isRefused(() => policy.check({}, requirements, fee(2_000n)))
  assert.equal(isFull(), true)
  policy.end('PENDING', 'failed')
  assert.equal(isFull(), false)
})

test('fees of all sellers together have a limit', () => {
  let now = 10 * dayMs
  const policy = new Policy({ totalFeeMicroAlgosPerDay: 5_000n }, () => now)
  const spend = (whom: typeof requirements, microAlgos: bigint) => policy.spend(newId(), whom, fee(microAlgos))
  spend(requirements, 3_000n)
  assert.equal(
    isRefused(() => spend(other, 3_000n)),
    true,
  )
  spend(other, 2_000n)
  now += dayMs + quarterMs
  spend(other, 5_000n)
})
