import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PriceError } from '@latchkey/x402-wire'
import { x402Client } from '@x402/core/client'
import { x402Facilitator } from '@x402/core/facilitator'
import type { Network, PaymentRequirements } from '@x402/core/types'
import { dollar, openMarket, requiring } from '../client/buyer/market.test.helper.js'
import { AlgorandClientScheme, AlgorandFacilitatorScheme, AlgorandServerScheme } from './index.js'

const timeout = 30_000

test('a server resolves prices in dollars on any network, and refuses zero', { timeout }, async (t) => {
  const { chain } = await openMarket(t)
  const server = new AlgorandServerScheme({ chains: chain })
  const network = chain.caip2 as Network
  assert.deepEqual(await server.parsePrice('$0.01', network), { asset: `${dollar}`, amount: '10000' })
  assert.deepEqual(await server.parsePrice({ asset: '0', amount: '7' }, network), { asset: '0', amount: '7' })
  for (const price of [
    '$0.0000001',
    { asset: '0', amount: '0' },
    { asset: '0', amount: '' },
    { asset: 'x', amount: '1' },
  ]) {
    await assert.rejects(server.parsePrice(price, network), PriceError)
  }
  await assert.rejects(server.parsePrice('$1', 'algorand:other'), {
    message: 'no chain was passed for network "algorand:other"',
  })
})

test('a server forwards the facilitator’s fee payer', { timeout }, async (t) => {
  const { chain, requirement } = await openMarket(t)
  const server = new AlgorandServerScheme({ chains: chain })
  const kind = { x402Version: 2, scheme: 'exact', network: chain.caip2 as Network }
  const bare = { ...requirement, extra: { mine: 1 } }
  assert.deepEqual(await server.enhancePaymentRequirements(bare, kind), bare)
  const named = await server.enhancePaymentRequirements(bare, { ...kind, extra: { feePayer: 'X' } })
  assert.deepEqual(named.extra, { mine: 1, feePayer: 'X' })
})

test('a client skips unknown networks and assets', { timeout }, async (t) => {
  const { chain, signer, requirement } = await openMarket(t)
  const scheme = new AlgorandClientScheme({ signer, chains: chain })
  const client = new x402Client().register('algorand:*', scheme)
  const others = [{ network: 'algorand:nowhere' }, { asset: '77' }, { amount: '1000001' }]
  const strange = others.map((change) => ({ ...requirement, ...change }) as PaymentRequirements)
  const { accepted } = await client.createPaymentPayload(requiring(...strange, requirement))
  assert.deepEqual(accepted, requirement)
  assert.equal(scheme.buyer.payments.all().length, 1)
})

test('a client pays only version 2, within its own limits', { timeout }, async (t) => {
  const { chain, signer, requirement } = await openMarket(t)
  const scheme = new AlgorandClientScheme({ signer, chains: chain, maxTotal: '$0.01' })
  await assert.rejects(scheme.createPaymentPayload(1, requirement), { code: 'unsupported_version' })
  await scheme.createPaymentPayload(2, requirement)
  await assert.rejects(scheme.createPaymentPayload(2, requirement), { name: 'PaymentRefusedError' })
})

test('lists a facilitator with its network and fee payer', { timeout }, async (t) => {
  const { chain, sponsor } = await openMarket(t)
  const scheme = new AlgorandFacilitatorScheme({ chains: [chain], feePayer: sponsor })
  const { kinds, signers } = new x402Facilitator().register(chain.caip2 as Network, scheme).getSupported()
  assert.deepEqual(kinds, [
    { x402Version: 2, scheme: 'exact', network: chain.caip2, extra: { feePayer: sponsor.address } },
  ])
  assert.deepEqual(signers, { 'algorand:*': [sponsor.address] })
})
