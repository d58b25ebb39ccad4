/**
 * An authorization belongs to the gate that had it verified: in every process on the store, at every amount, until the
 * ledger no longer accepts it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Buyer } from '../client/buyer/Buyer.js'
import { requiring } from '../client/buyer/market.test.helper.js'
import type { Caller } from './limits/Policy.js'
import { gate, idOf, open, shiftClocks, spend, strangers, timeout, unfunded } from './upto.test.helper.js'

test('an authorization is simulated again when its claimant asks again', { timeout }, async (t) => {
  const setup = await open(t, 'memory')
  const { start, upto, authorize } = setup
  const facilitator = start()
  const payload = await authorize()
  assert.equal((await facilitator.verify(payload, upto, gate)).isValid, true)
  await spend(setup, 4_800_000n)
  assert.equal((await facilitator.verify(payload, upto, gate)).isValid, true, 'the last result is used for 5 seconds')
  shiftClocks(t, 5_001)
  const { isValid, invalidReason } = await facilitator.verify(payload, upto, gate)
  assert.deepEqual([isValid, invalidReason], [false, 'invalid_upto_avm_simulation_failed'])
})

test('asking again about an authorization does not count as a request of its caller', { timeout }, async (t) => {
  const { start, upto, authorize } = await open(t, 'memory')
  const facilitator = start({ policy: { callerRequestsPerMinute: 2 } })
  const caller: Caller = { claimant: 'gate', address: '192.0.2.1' }
  const payload = await authorize()
  const verify = async (one = caller) => (await facilitator.verify(payload, upto, one)).invalidReason
  assert.equal(await verify(), undefined)
  const now = performance.now.bind(performance)
  let passedMs = 0
  t.mock.method(performance, 'now', () => now() + passedMs)
  for (passedMs = 5_001; passedMs < 30_000; passedMs += 5_001) assert.equal(await verify(), undefined)
  assert.equal(await verify(), undefined)
  assert.equal(await verify(), undefined, 'the second request that counts')
  assert.equal(await verify(), 'facilitator_policy_refused', 'a repeated request counts')
  passedMs += 5_001
  assert.equal(await verify({ ...caller, claimant: 'other' }), 'facilitator_policy_refused', 'so does a stranger')
})

for (const kind of ['memory', 'file']) {
  test(`${kind}: only its claimant settles an authorization, in any process, at any amount`, { timeout }, async (t) => {
    const { start, upto, authorize, received } = await open(t, kind)
    const [first, second] = [start(), start()]
    const payload = await authorize()
    assert.equal((await first.verify(payload, upto, gate)).isValid, true)
    for (const stranger of strangers) {
      for (const amount of ['0', '1', '500000']) {
        for (const facilitator of [second, first]) {
          const { errorReason } = await facilitator.settle(payload, { ...upto, amount }, stranger)
          assert.equal(errorReason, 'payment_already_claimed', amount)
        }
      }
      assert.equal((await second.verify(payload, upto, stranger)).invalidReason, 'payment_already_claimed')
    }
    const settled = await second.settle(payload, { ...upto, amount: '400000' }, gate)
    assert.deepEqual([settled.success, settled.amount], [true, '400000'])
    assert.equal(await received(), 400_000n)
  })

  test(`${kind}: an authorization belongs to its claimant after clocks pass, are set back, or processes restart`, {
    timeout,
  }, async (t) => {
    const { start, upto, authorize, received } = await open(t, kind)
    const shifts = [24 * 60 * 60_000, -60 * 60_000]
    for (const ms of shifts) {
      const payload = await authorize()
      const first = start()
      assert.equal((await first.verify(payload, upto, gate)).isValid, true)
      shiftClocks(t, ms)
      const restarted = start()
      await restarted.resume()
      for (const facilitator of [first, restarted]) {
        for (const stranger of strangers) {
          for (const amount of ['0', '1']) {
            const { errorReason } = await facilitator.settle(payload, { ...upto, amount }, stranger)
            assert.equal(errorReason, 'payment_already_claimed', `${ms} ${amount}`)
          }
        }
      }
      const settled = await restarted.settle(payload, { ...upto, amount: '5' }, gate)
      assert.deepEqual([settled.success, settled.amount], [true, '5'])
      t.mock.restoreAll()
    }
    assert.equal(await received(), 5n * BigInt(shifts.length))
  })

  test(`${kind}: an exact payment belongs to its claimant in any process, also after its hold`, {
    timeout,
  }, async (t) => {
    const { start, chain, signer, requirement } = await open(t, kind)
    const [first, second] = [start(), start()]
    const { payload } = await new Buyer({ signer, chains: chain }).pay(requiring(requirement))
    assert.equal((await first.verify(payload, requirement, gate)).isValid, true)
    for (const ms of [0, 24 * 60 * 60_000]) {
      shiftClocks(t, ms)
      for (const facilitator of [first, second]) {
        for (const stranger of strangers) {
          const { errorReason } = await facilitator.settle(payload, requirement, stranger)
          assert.equal(errorReason, 'payment_already_claimed')
          const { invalidReason } = await facilitator.verify(payload, requirement, stranger)
          assert.equal(invalidReason, 'payment_already_claimed')
        }
      }
    }
    assert.equal((await second.settle(payload, requirement, gate)).success, true)
  })

  test(`${kind}: a charge of 0 of an account that does not exist is refused and leaves nothing`, {
    timeout,
  }, async (t) => {
    const { start, newStore, upto, chain } = await open(t, kind)
    const facilitator = start()
    const store = newStore()
    for (const caller of [gate, {}]) {
      const payload = await unfunded({ chain, upto })
      const { success, errorReason } = await facilitator.settle(payload, { ...upto, amount: '0' }, caller)
      assert.deepEqual([success, errorReason], [false, 'invalid_upto_avm_simulation_failed'])
      assert.equal(await store.get(idOf(payload)), undefined)
    }
    assert.doesNotMatch(facilitator.metrics.text(), /settle_total\{outcome="settled"\}/)
  })

  test(`${kind}: a charge of 0 without a claimant is not recorded, and does not end the authorization`, {
    timeout,
  }, async (t) => {
    const { start, newStore, upto, authorize, received } = await open(t, kind)
    const [first, second] = [start(), start()]
    const payload = await authorize()
    assert.equal((await first.verify(payload, upto)).isValid, true)
    const zero = { ...upto, amount: '0' }
    for (const facilitator of [first, second]) {
      const { success, transaction, amount } = await facilitator.settle(payload, zero)
      assert.deepEqual([success, transaction, amount], [true, '', '0'])
    }
    assert.equal(await newStore().get(idOf(payload)), undefined)
    const racing = [zero, { ...upto, amount: '7' }, zero].map((one) => first.settle(payload, one))
    assert.equal((await Promise.all(racing))[1]!.amount, '7')
    assert.equal(await received(), 7n)
    assert.equal((await second.settle(payload, zero)).amount, '7', 'the recorded amount is the result')
  })

  test(`${kind}: the claimant ends an authorization with a charge of 0, also after a restart`, {
    timeout,
  }, async (t) => {
    const market = await open(t, kind)
    const { start, newStore, upto, authorize } = market
    const first = start()
    const payload = await authorize()
    assert.equal((await first.verify(payload, upto, gate)).isValid, true)
    // The buyer can no longer pay the maximum. A charge of 0 does not fail because of that.
    await spend(market, 4_900_000n)
    const restarted = start()
    const { success, amount } = await restarted.settle(payload, { ...upto, amount: '0' }, gate)
    assert.deepEqual([success, amount], [true, '0'])
    assert.equal((await newStore().get(idOf(payload)))?.amount, '0')
    assert.equal((await first.settle(payload, { ...upto, amount: '500000' }, gate)).amount, '0')
  })
}
