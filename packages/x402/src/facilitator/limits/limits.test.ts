/** Payments that reach a limit between `verify` and `settle`. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { genesisHash, ok } from '../../../../algod/dist/FakeNode.test.helper.js'
import { alone, sponsored } from '../../../../x402-wire/dist/payments.test.helper.js'
import { setUp } from '../setup.test.helper.js'

test('a verified payment waits if a rate limit is reached, and is settled when there is room', async (t) => {
  let skewMs = 0
  const now = Date.now
  t.mock.method(Date, 'now', () => now() + skewMs)
  const policy = { requestsPerMinute: 1, payerRequestsPerMinute: 10 }
  const { facilitator, node } = await setUp(t, { policy, settleTimeoutMs: 60_000 })
  const [first, second] = [sponsored(), sponsored()]
  for (const { payload, requirements } of [first, second]) {
    assert.equal((await facilitator.verify(payload, requirements)).isValid, true)
  }
  assert.equal((await facilitator.settle(first.payload, first.requirements)).success, true)
  const fresh = sponsored()
  const refused = await facilitator.settle(fresh.payload, fresh.requirements)
  assert.equal(refused.errorReason, 'facilitator_policy_refused', 'was not verified: at once')
  assert.match(refused.errorMessage!, /more than 1 payments per minute for/)
  const waiting = facilitator.settle(second.payload, second.requirements)
  skewMs = 62_000
  assert.equal((await waiting).success, true)
  assert.equal(node.submitted.length, 2)
})

test('a payment that waited too long may be retried, and one over a budget is refused when it is verified', async (t) => {
  const policy = { requestsPerMinute: 1, payerRequestsPerMinute: 10, feeMicroAlgosPerDay: 4_000n }
  const { facilitator } = await setUp(t, { policy, settleTimeoutMs: 200 })
  const [first, second, own] = [sponsored(), sponsored(), alone()]
  for (const { payload, requirements } of [first, second, own]) {
    assert.equal((await facilitator.verify(payload, requirements)).isValid, true)
  }
  assert.equal((await facilitator.settle(first.payload, first.requirements)).success, true)
  assert.equal((await facilitator.settle(second.payload, second.requirements)).errorReason, 'facilitator_busy')
  const poor = await setUp(t, { policy: { feeMicroAlgosPerDay: 2_000n }, settleTimeoutMs: 60_000 })
  const [third, fourth] = [sponsored(), sponsored()]
  assert.equal((await poor.facilitator.verify(third.payload, third.requirements)).isValid, true)
  const over = await poor.facilitator.verify(fourth.payload, fourth.requirements)
  assert.equal(over.invalidReason, 'facilitator_policy_refused')
  const settled = await poor.facilitator.settle(fourth.payload, fourth.requirements)
  assert.equal(settled.errorReason, 'facilitator_policy_refused')
  assert.equal((await poor.facilitator.settle(third.payload, third.requirements)).success, true)
  const free = alone()
  assert.equal((await poor.facilitator.settle(free.payload, free.requirements)).success, true, 'its own fee')
})

test('a payment that was verified while the network asked for higher fees is settled when it asks for less', async (t) => {
  const { facilitator, node } = await setUp(t)
  const params = (minFee: number) => () =>
    ok({ 'genesis-hash': genesisHash, 'genesis-id': 'testnet-v1.0', 'last-round': 100, 'min-fee': minFee, fee: 0 })
  const now = performance.now.bind(performance)
  let passedMs = 2_000
  t.mock.method(performance, 'now', () => now() + passedMs)
  node.on('GET params', params(2_000))
  const { payload, requirements } = sponsored({}, { fee: 4_000n })
  assert.equal((await facilitator.verify(payload, requirements)).isValid, true)
  passedMs += 20_000
  node.on('GET params', params(1_000))
  const fresh = sponsored({}, { fee: 4_000n })
  const refused = await facilitator.verify(fresh.payload, fresh.requirements)
  assert.equal(refused.invalidReason, 'invalid_exact_avm_fee_too_high')
  passedMs += 11_000
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
})
