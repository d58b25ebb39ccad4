/** The sponsor pays only the fee that the network requires, and only for payments that are worth it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openMarket, possessions, settle, sponsored, verify } from './support/facilitator.test.helper.js'

const timeout = 60_000

test("M a fee above the network's requirement is refused, even if it is below the ceiling", { timeout }, async (t) => {
  const market = await openMarket(t)
  const before = await possessions(market)
  for (const fee of [2_001n, 10_000n]) {
    assert.equal(await verify(market, sponsored(market, {}, { fee })), 'invalid_exact_avm_fee_too_high')
    assert.equal(await settle(market, sponsored(market, {}, { fee })), 'invalid_exact_avm_fee_too_high')
  }
  assert.equal((await possessions(market)).sponsor, before.sponsor)
  assert.equal(await settle(market, sponsored(market)), 'settled')
  assert.equal((await possessions(market)).sponsor, before.sponsor - 2_000n)
})

test('M on a busy network the fee per byte is paid, up to the ceiling', { timeout }, async (t) => {
  const market = await openMarket(t)
  const busy = { 'genesis-hash': Buffer.from(market.chain.genesisHash).toString('base64'), 'genesis-id': 'x' }
  const body = JSON.stringify({ ...busy, 'last-round': 1, 'min-fee': 1_000, fee: 10 })
  market.proxy.instead = (what) => (what === 'params' ? { status: 200, body, isForwarded: false } : undefined)
  // Two transactions of about 300 bytes, with their signatures.
  assert.equal(await settle(market, sponsored(market, {}, { fee: 6_000n })), 'settled')
  assert.equal(await verify(market, sponsored(market, {}, { fee: 10_001n })), 'invalid_exact_avm_fee_too_high')
})

test('M a minimum amount keeps strangers from spending fees on payments of one unit', { timeout }, async (t) => {
  const market = await openMarket(t, { facilitator: { policy: { minSponsoredAmount: 1_000n } } })
  const { payload, requirements } = sponsored(market, { aamt: 1n })
  const one = { ...requirements, amount: '1' }
  const settled = await market.facilitator.settle(payload, one)
  assert.equal(settled.errorReason, 'facilitator_policy_refused')
  assert.match(settled.errorMessage!, /1000 base units or more/)
  assert.equal(await settle(market, sponsored(market)), 'settled')
})
