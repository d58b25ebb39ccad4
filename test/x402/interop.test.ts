/** Tests buyer, seller and facilitator, each ours or an unmodified published one, in all combinations. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Network } from '@latchkey/algorand'
import { avmFamily, avmVersions, familyOf, type Modules, newest, newestVersions } from '@latchkey/published'
import { paymentGate } from '@latchkey/x402/express'
import { Gate } from '@latchkey/x402/server'
import { toClientAvmSigner, toFacilitatorAvmSigner } from '@x402/avm'
import { ExactAvmScheme as ClientScheme } from '@x402/avm/exact/client'
import { ExactAvmScheme as FacilitatorScheme } from '@x402/avm/exact/facilitator'
import { ExactAvmScheme as ServerScheme } from '@x402/avm/exact/server'
import { x402Facilitator } from '@x402/core/facilitator'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { paymentMiddleware as expressMiddleware, x402ResourceServer } from '@x402/express'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { paymentMiddleware as honoMiddleware } from '@x402/hono'
import express from 'express'
import { ours, partiesOf, settingOf, tradeInAllCombinations } from './interop.test.helper.js'
import { cent, listen, openTrade, possessions, price } from './trade.test.helper.js'

const { caip2, genesisHash } = Network.testnet
const full = Network.fullCaip2(genesisHash)

/** The version that the packages of this repository use. */
const current = familyOf({
  x402Client,
  ClientScheme,
  toClientAvmSigner,
  pay: (client: x402Client) => wrapFetchWithPayment(fetch, client),
  x402ResourceServer,
  HTTPFacilitatorClient,
  ServerScheme,
  expressMiddleware,
  honoMiddleware,
  x402Facilitator,
  FacilitatorScheme,
  toFacilitatorAvmSigner,
} as unknown as Modules)

test('buyer, seller, facilitator', (t) => tradeInAllCombinations(t, partiesOf(current, caip2), { open: openTrade }))

test('A15 the newest published packages: buyer, seller, facilitator', async (t) => {
  const { '@x402/avm': avm, ...others } = newestVersions
  assert.equal(avm, '2.26.0')
  for (const [name, version] of Object.entries(others)) assert.equal(version, '2.27.0', name)
  await tradeInAllCombinations(t, partiesOf(newest, caip2), {
    open: (t) => openTrade(t, { genesisHash }),
  })
})

test('A15 the @x402-avm packages, which know only the full network id: buyer, seller, facilitator', async (t) => {
  // These packages write to the console.
  t.mock.method(console, 'log', () => {})
  for (const [name, version] of Object.entries(avmVersions)) assert.equal(version, '2.6.1', name)
  await tradeInAllCombinations(t, partiesOf(avmFamily, full), {
    open: (t) => openTrade(t, { genesisHash }),
  })
})

test('A9 published buyers pay for a POST, which our seller settles first', async (t) => {
  t.mock.method(console, 'log', () => {})
  const families = { current: [current, caip2], newest: [newest, caip2], avm: [avmFamily, full] } as const
  for (const [name, [{ buyers }, network]] of Object.entries(families)) {
    await t.test(name, { timeout: 60_000 }, async (t) => {
      const market = await openTrade(t, { genesisHash })
      const facilitators = await ours.facilitators['ours']!(t, market)
      const accepts = { network: caip2, price, payTo: String(market.seller.addr) }
      const routes = { 'POST /orders': { accepts } }
      const gate = await Gate.open({ routes, facilitators, chains: market.chain })
      const app = express()
      app.use(paymentGate(gate), express.json())
      app.post('/orders', (request, response) => void response.status(201).json(request.body))
      const url = `${await listen(t, app)}/orders`
      for (const buys of Object.values(buyers)) {
        const before = await possessions(market)
        const headers = { 'Content-Type': 'application/json' }
        const paid = await buys(settingOf(market, network))(url, { method: 'POST', headers, body: '{"item":7}' })
        assert.deepEqual([paid.status, await paid.json()], [201, { item: 7 }])
        assert.equal((await possessions(market)).buyer[1], before.buyer[1]! - cent)
      }
    })
  }
})

test('published buyers pay for each request of a route with passes, and are served as before', async (t) => {
  t.mock.method(console, 'log', () => {})
  const families = { current: [current, caip2], newest: [newest, caip2], avm: [avmFamily, full] } as const
  for (const [name, [{ buyers }, network]] of Object.entries(families)) {
    await t.test(name, { timeout: 60_000 }, async (t) => {
      const market = await openTrade(t, { genesisHash })
      const facilitators = await ours.facilitators['ours']!(t, market)
      const accepts = { network: caip2, price, payTo: String(market.seller.addr) }
      const routes = { 'GET /news': { accepts, passes: { minutes: 30, requests: 10 } } }
      const gate = await Gate.open({ routes, facilitators, chains: market.chain, onWarning: () => {} })
      const app = express()
      app.use(paymentGate(gate))
      app.get('/news', (_, response) => void response.json({ news: 'none' }))
      const url = `${await listen(t, app)}/news`
      for (const buys of Object.values(buyers)) {
        const before = await possessions(market)
        const buy = buys(settingOf(market, network))
        for (let times = 1; times <= 2; times++) {
          const paid = await buy(url, {})
          assert.deepEqual([paid.status, await paid.json()], [200, { news: 'none' }])
          assert.deepEqual(paid.headers.getSetCookie(), [])
          assert.equal((await possessions(market)).buyer[1], before.buyer[1]! - BigInt(times) * cent)
        }
      }
    })
  }
})
