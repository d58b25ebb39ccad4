/** A first node that accepts a payment and forgets it, or does not forward it, does not hide it from the others. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Chain, Facilitator, Signer } from '@latchkey/x402/facilitator'
import { NodeProxy, openMarket, possessions, price, sponsored, usdc } from './support/facilitator.test.helper.js'

const timeout = 60_000

test('M a payment that the first node accepts and forgets reaches the second', { timeout }, async (t) => {
  const market = await openMarket(t)
  const [liar, honest] = [await NodeProxy.start(t, market.devnet.url), await NodeProxy.start(t, market.devnet.url)]
  liar.instead = (what) => {
    if (what === 'submit') return { status: 200, body: '{"txId":"X"}', isForwarded: false }
    if (what === 'pending') return { status: 404, body: '{"message":"not found"}', isForwarded: false }
    return undefined
  }
  const chain = await Chain.open({ network: 'local', nodes: [liar.url, honest.url], dollarAssetId: usdc })
  const feePayer = Signer.fromSeed(market.sponsor.seed)
  const facilitator = new Facilitator({ chains: [chain], feePayer, pollMs: 10, settleTimeoutMs: 20_000 })
  t.after(() => facilitator.stop())
  const { payload, requirements, id } = sponsored(market)
  const { success, transaction } = await facilitator.settle(payload, requirements)
  assert.deepEqual([success, transaction], [true, id])
  assert.equal((await possessions(market)).seller, price)
  assert.equal(honest.count('submit'), 1)
})

test('M a payment confirmed only by the second node is found there', { timeout }, async (t) => {
  const market = await openMarket(t)
  const [behind, honest] = [await NodeProxy.start(t, market.devnet.url), await NodeProxy.start(t, market.devnet.url)]
  behind.instead = (what) => {
    if (what === 'pending') return { status: 404, body: '{"message":"not found"}', isForwarded: false }
    return undefined
  }
  const chain = await Chain.open({ network: 'local', nodes: [behind.url, honest.url], dollarAssetId: usdc })
  const feePayer = Signer.fromSeed(market.sponsor.seed)
  const facilitator = new Facilitator({ chains: [chain], feePayer, pollMs: 10, settleTimeoutMs: 20_000 })
  t.after(() => facilitator.stop())
  const { payload, requirements } = sponsored(market)
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
  assert.equal(honest.count('submit'), 0, 'once is enough')
})

test('M an unresponsive second node does not keep payments from settling on the first', { timeout }, async (t) => {
  const market = await openMarket(t)
  const chain = await Chain.open({
    network: 'local',
    nodes: [market.proxy.url, 'http://127.0.0.1:1'],
    dollarAssetId: usdc,
  })
  const feePayer = Signer.fromSeed(market.sponsor.seed)
  const facilitator = new Facilitator({ chains: [chain], feePayer, pollMs: 10 })
  t.after(() => facilitator.stop())
  market.devnet.addFault({ type: 'lose', count: 3 })
  const { payload, requirements } = sponsored(market)
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
  assert.equal((await possessions(market)).seller, price)
})
