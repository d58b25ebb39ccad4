/** What can change between the verification of an authorization and the settlement of the work that was done for it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address } from '@latchkey/algorand'
import type { PaymentPayload } from '@latchkey/x402-wire'
import { Buyer } from '../../client/buyer/Buyer.js'
import { newSigner, requiring } from '../../client/buyer/market.test.helper.js'
import { gate, open, send, shiftClocks, spend, timeout } from '../upto.test.helper.js'

for (const kind of ['memory', 'file']) {
  test(`${kind}: other settlements do not use up the fee of delivered work`, { timeout }, async (t) => {
    const { start, upto, authorize, requirement, chain, signer } = await open(t, kind)
    const [first, second] = [0, 1].map(() => start({ policy: { feeMicroAlgosPerDay: 4_000n } }))
    const payload = await authorize()
    assert.equal((await first!.verify(payload, upto, gate)).isValid, true)
    const buyer = new Buyer({ signer, chains: chain })
    const results: (string | undefined)[] = []
    for (let time = 0; time < 3; time++) {
      const { payload: other } = await buyer.pay(requiring(requirement))
      results.push((await second!.settle(other, requirement)).errorReason)
    }
    assert.deepEqual(results, [undefined, 'facilitator_policy_refused', 'facilitator_policy_refused'])
    assert.equal((await first!.verify(await authorize(), upto, gate)).invalidReason, 'facilitator_policy_refused')
    const { success, errorReason } = await second!.settle(payload, { ...upto, amount: '7' }, gate)
    assert.deepEqual([success, errorReason], [true, undefined])
  })

  test(`${kind}: a charge of 0 returns the fee that was reserved`, { timeout }, async (t) => {
    const { start, upto, authorize } = await open(t, kind)
    const facilitator = start({ policy: { feeMicroAlgosPerDay: 2_000n } })
    for (let time = 0; time < 3; time++) {
      const payload = await authorize()
      assert.equal((await facilitator.verify(payload, upto, gate)).isValid, true)
      assert.equal((await facilitator.settle(payload, { ...upto, amount: '0' }, gate)).success, true)
    }
  })

  test(`${kind}: delivered work is settled although payments per minute are used up`, { timeout }, async (t) => {
    const { start, upto, authorize, requirement, chain, signer } = await open(t, kind)
    const policy = { requestsPerMinute: 2, payerRequestsPerMinute: 2 }
    const facilitator = start({ policy, settleTimeoutMs: 500, maxPendingPerPayer: 1 })
    const payload = await authorize()
    assert.equal((await facilitator.verify(payload, upto, gate)).isValid, true)
    const buyer = new Buyer({ signer, chains: chain })
    const settle = async () => facilitator.settle((await buyer.pay(requiring(requirement))).payload, requirement)
    assert.equal((await settle()).success, true)
    assert.equal((await settle()).errorReason, 'facilitator_policy_refused', 'the authorization is counted')
    const { success, errorReason } = await facilitator.settle(payload, { ...upto, amount: '7' }, gate)
    assert.deepEqual([success, errorReason], [true, undefined])
  })

  test(`${kind}: of streams over a spent balance, those go on that can still be paid`, { timeout }, async (t) => {
    const market = await open(t, kind)
    const { start, authorize, received } = market
    const facilitator = start()
    const upto = { ...market.upto, amount: '1000000' }
    const streams: PaymentPayload[] = []
    for (let time = 0; time < 5; time++) {
      streams.push(await authorize(upto))
      assert.equal((await facilitator.verify(streams[time]!, upto, gate)).isValid, true)
    }
    const reasons = async () => {
      const results = await Promise.all(streams.map((one) => facilitator.verify(one, upto, gate)))
      return results.map(({ invalidReason }) => invalidReason ?? 'valid')
    }
    shiftClocks(t, 5_001)
    assert.deepEqual(await reasons(), Array<string>(5).fill('valid'))
    await spend(market, 3_000_000n)
    t.mock.restoreAll()
    shiftClocks(t, 11_000)
    const reserved = 'payer_balance_reserved'
    assert.deepEqual(await reasons(), ['valid', 'valid', reserved, reserved, reserved])
    // What was used until the stream was cut is still charged.
    assert.equal((await facilitator.settle(streams[4]!, { ...upto, amount: '7' }, gate)).success, true)
    assert.equal((await facilitator.settle(streams[0]!, { ...upto, amount: '9' }, gate)).success, true)
    assert.equal(await received(), 16n)
    t.mock.restoreAll()
    shiftClocks(t, 17_000)
    assert.equal((await facilitator.verify(streams[1]!, upto, gate)).isValid, true)
  })

  test(`${kind}: a fee account that cannot pay fails no payment for good`, { timeout }, async (t) => {
    const market = await open(t, kind)
    const { start, upto, authorize, devnet, sponsor } = market
    const facilitator = start()
    const verified = async () => {
      const payload = await authorize()
      assert.equal((await facilitator.verify(payload, upto, gate)).isValid, true)
      return payload
    }
    const settle = (one: PaymentPayload) => facilitator.settle(one, { ...upto, amount: '7' }, gate)
    const [first, second] = [await verified(), await verified()]
    const self = Address.decode(sponsor.address)
    await send(market, sponsor, { type: 'pay', rcv: Address.decode(newSigner().address), amt: 9_898_500n })
    shiftClocks(t, 5_001)
    assert.equal((await settle(first)).errorReason, 'facilitator_fee_account_unfunded')
    assert.equal((await facilitator.verify(second, upto, gate)).invalidReason, 'facilitator_fee_account_unfunded')
    devnet.fund(sponsor.address, { microAlgos: 1_000_000n })
    assert.equal((await settle(first)).success, true)
    await send(market, sponsor, { type: 'pay', rcv: self, rekey: Address.decode(newSigner().address) })
    assert.equal((await settle(second)).errorReason, 'facilitator_key_unavailable')
    assert.equal((await facilitator.verify(second, upto, gate)).invalidReason, 'facilitator_key_unavailable')
  })
}

test('processes on one file verify no more than the balance covers', { timeout }, async (t) => {
  const { start, upto, authorize } = await open(t, 'file')
  const facilitators = [start(), start()]
  const two = { ...upto, amount: '2000000' }
  const results: (string | undefined)[] = []
  for (let n = 0; n < 4; n++) {
    results.push((await facilitators[n % 2]!.verify(await authorize(two), two, gate)).invalidReason)
  }
  assert.deepEqual(results, [undefined, undefined, 'payer_balance_reserved', 'payer_balance_reserved'])
})

test('a restarted process settles delivered work of a caller that has no requests left', { timeout }, async (t) => {
  const { start, upto, authorize } = await open(t, 'file')
  const caller = { ...gate, address: '192.0.2.1' }
  const options = { policy: { callerRequestsPerMinute: 1 } }
  const payload = await authorize()
  assert.equal((await start(options).verify(payload, upto, caller)).isValid, true)
  const restarted = start(options)
  assert.equal((await restarted.verify(await authorize(), upto, caller)).isValid, true)
  assert.equal((await restarted.verify(await authorize(), upto, caller)).invalidReason, 'facilitator_policy_refused')
  const { success, errorReason } = await restarted.settle(payload, { ...upto, amount: '7' }, caller)
  assert.deepEqual([success, errorReason], [true, undefined])
})

test('a charge below the sponsored minimum is settled only if its claimant had it verified', { timeout }, async (t) => {
  const { start, upto, authorize } = await open(t, 'file')
  const options = { policy: { minSponsoredAmount: 10_000n } }
  const [first, second] = [start(options), start(options)]
  const [verified, unverified] = [await authorize(), await authorize()]
  const settle = async (payload: PaymentPayload, amount: string) =>
    (await second.settle(payload, { ...upto, amount }, gate)).errorReason
  assert.equal((await first.verify(verified, upto, gate)).isValid, true)
  assert.equal(await settle(unverified, '9999'), 'facilitator_policy_refused')
  assert.equal(await settle(verified, '9999'), undefined)
  assert.equal(await settle(unverified, '10000'), undefined)
})
