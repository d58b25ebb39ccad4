/** Buyer, seller and facilitator, each ours or the published one, unmodified, in all eight combinations. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Network } from '@latchkey/algorand'
import { Server } from '@latchkey/http'
import { Buyer, decodeReceipt, payingFetch, Signer } from '@latchkey/x402/client'
import { paymentGate } from '@latchkey/x402/express'
import { createFacilitatorHandler, Facilitator } from '@latchkey/x402/facilitator'
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
import { Hono } from 'hono'
import {
  asListener,
  cent,
  facilitatorApi,
  keyOf,
  listen,
  network,
  openTrade,
  possessions,
  price,
  type Trade,
} from './trade.test.helper.js'

const timeout = 60_000
const report = { report: { weather: 'sunny', temperature: 70 } }

type Facilitates = (t: TestContext, trade: Trade) => Promise<string>
type Sells = (t: TestContext, trade: Trade, facilitatorUrl: string) => Promise<string>
type Buys = (trade: Trade) => typeof fetch

const buyers: { [whose: string]: Buys } = {
  ours: ({ chain, buyer }) => payingFetch(new Buyer({ signer: Signer.fromSecretKey(keyOf(buyer)), chains: chain })),
  theirs: ({ devnet, buyer }) => {
    const scheme = new ClientScheme(toClientAvmSigner(keyOf(buyer)), { algodUrl: devnet.url })
    return wrapFetchWithPayment(fetch, new x402Client().register(network, scheme))
  },
}

const facilitators: { [whose: string]: Facilitates } = {
  ours: async (t, { chain, sponsor }) => {
    const facilitator = new Facilitator({ chains: [chain], feePayer: Signer.fromSecretKey(keyOf(sponsor)) })
    const server = new Server({ fetch: createFacilitatorHandler({ facilitator }) })
    const { port } = await server.listen('127.0.0.1', 0)
    t.after(async () => {
      await server.stop()
      await facilitator.stop()
    })
    return `http://127.0.0.1:${port}`
  },
  theirs: async (t, { devnet, sponsor }) => {
    const signer = toFacilitatorAvmSigner(keyOf(sponsor), { testnetUrl: devnet.url })
    return listen(t, facilitatorApi(new x402Facilitator().register(network, new FacilitatorScheme(signer))))
  },
}

function theirRoutes({ seller }: Trade) {
  return { 'GET /weather': { accepts: { scheme: 'exact', network, payTo: String(seller.addr), price } } } as const
}

function theirServer(facilitatorUrl: string): x402ResourceServer {
  const client = new HTTPFacilitatorClient({ url: facilitatorUrl })
  return new x402ResourceServer(client).register(network, new ServerScheme())
}

const sellers: { [whose: string]: Sells } = {
  ours: async (t, { chain, seller }, facilitatorUrl) => {
    const accepts = { network: chain.caip2, price, payTo: String(seller.addr) }
    const routes = { 'GET /weather': { accepts } }
    const gate = await Gate.open({ routes, facilitators: facilitatorUrl, chains: chain })
    const app = express()
    app.use(paymentGate(gate))
    app.get('/weather', (_, response) => void response.json(report))
    return listen(t, app)
  },
  theirs: async (t, trade, facilitatorUrl) => {
    const app = express()
    app.use(expressMiddleware(theirRoutes(trade), theirServer(facilitatorUrl)))
    app.get('/weather', (_, response) => void response.json(report))
    return listen(t, app)
  },
  'theirs on Hono': async (t, trade, facilitatorUrl) => {
    const app = new Hono()
    app.use(honoMiddleware(theirRoutes(trade), theirServer(facilitatorUrl)))
    app.get('/weather', (context) => context.json(report))
    return listen(t, asListener(app))
  },
}

async function trade(t: TestContext, buys: Buys, sells: Sells, facilitates: Facilitates): Promise<void> {
  const market = await openTrade(t)
  const { algod, buyer, sponsor } = market
  const url = `${await sells(t, market, await facilitates(t, market))}/weather`
  const before = await possessions(market)

  const unpaid = await fetch(url)
  assert.equal(unpaid.status, 402)
  await unpaid.text()
  assert.deepEqual(await possessions(market), before)

  const paid = await buys(market)(url)
  assert.deepEqual([paid.status, await paid.json()], [200, report])
  const receipt = decodeReceipt(paid.headers.get('payment-response')!)
  assert.deepEqual([receipt.success, receipt.payer], [true, String(buyer.addr)])
  assert.ok(Network.matches(receipt.network!, network), receipt.network)
  const { confirmedRound, txn } = await algod.pendingTransactionInformation(receipt.transaction).do()
  assert.ok(confirmedRound! > 0n)
  assert.deepEqual([txn.txn.assetTransfer?.amount, txn.txn.fee], [cent, 0n])
  const after = await possessions(market)
  assert.deepEqual(after.buyer, [before.buyer[0], before.buyer[1]! - cent], 'a cent, and no fee')
  assert.deepEqual(after.seller, [before.seller[0], cent])
  assert.deepEqual(after.sponsor[0], before.sponsor[0] - 2_000n, `${sponsor.addr} pays both fees`)
}

test('buyer, seller, facilitator', async (t) => {
  for (const [bought, buys] of Object.entries(buyers)) {
    for (const [sold, sells] of Object.entries(sellers)) {
      for (const [settled, facilitates] of Object.entries(facilitators)) {
        const name = `${bought}, ${sold}, ${settled}`
        await t.test(name, { timeout }, (t) => trade(t, buys, sells, facilitates))
      }
    }
  }
})
