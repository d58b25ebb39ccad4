/** Tests the catalogue of our facilitator with published buyers, sellers and clients, and a catalogue of theirs with ours. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { Network } from '@latchkey/algorand'
import { Server } from '@latchkey/http'
import { payingCallTool } from '@latchkey/mcp/client'
import {
  bazaarVersion,
  catalogueClient,
  describedSeller,
  extractDiscoveryInfo,
  newest,
  type PublishedFacilitator,
} from '@latchkey/published'
import { Buyer, decodeRequired, discover, payingFetch, paymentRequired, Signer } from '@latchkey/x402/client'
import { paymentGate } from '@latchkey/x402/express'
import {
  createFacilitatorHandler,
  type DiscoveryOptions,
  Facilitator,
  type SettlementStore,
} from '@latchkey/x402/facilitator'
import { Gate } from '@latchkey/x402/server'
import { SqliteSettlements } from '@latchkey/x402/sqlite'
import express from 'express'
import { openShop, openTools, toolClient } from '../judges/shop.test.helper.js'
import { settingOf } from './interop.test.helper.js'
import { facilitatorApi, keyOf, listen, openTrade, price, type Trade } from './trade.test.helper.js'

const { caip2, genesisHash } = Network.testnet

type Running = { readonly facilitator: Facilitator; readonly url: string; readonly stop: () => Promise<void> }

async function startFacilitator(
  t: TestContext,
  { chain, sponsor }: Trade,
  { store, discovery = { allowPrivate: true } }: { store?: SettlementStore; discovery?: DiscoveryOptions } = {},
): Promise<Running> {
  const feePayer = Signer.fromSecretKey(keyOf(sponsor))
  const facilitator = new Facilitator({ chains: [chain], feePayer, store, discovery })
  const server = new Server({ fetch: createFacilitatorHandler({ facilitator }) })
  const { port } = await server.listen('127.0.0.1', 0)
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => {
    stopping ??= server.stop().then(() => facilitator.stop())
    return stopping
  }
  t.after(stop)
  return { facilitator, url: `http://127.0.0.1:${port}`, stop }
}

async function ourSeller(t: TestContext, { chain, seller }: Trade, facilitators: string): Promise<string> {
  const accepts = { network: chain.caip2, price, payTo: String(seller.addr) }
  const output = { example: { weather: 'sunny' } }
  const gate = await Gate.open({
    routes: {
      'GET /weather': { accepts, description: 'The weather of our shop', output },
      'POST /translate/:language': { accepts, description: 'A translation', input: { example: { body: {} } }, output },
      'GET /plain': { accepts },
    },
    service: { serviceName: 'Weather Inc', tags: ['weather'] },
    facilitators,
    chains: chain,
  })
  t.after(() => gate.close())
  const app = express()
  app.use(paymentGate(gate))
  app.use((_, response) => void response.json({ weather: 'sunny' }))
  return listen(t, app)
}

const ourBuyer = ({ chain, buyer }: Trade): typeof fetch =>
  payingFetch(new Buyer({ signer: Signer.fromSecretKey(keyOf(buyer)), chains: chain }))

const idle = async ({ facilitator }: Running): Promise<void> => facilitator.catalogue!.idle()

test('published clients list what our facilitator settled, sold by us or by them', async (t) => {
  assert.equal(bazaarVersion, '2.27.0')
  const trade = await openTrade(t, { genesisHash })
  const running = await startFacilitator(t, trade)
  const ours = await ourSeller(t, trade, running.url)
  const theirs = await listen(t, describedSeller(settingOf(trade, caip2), running.url))
  const buy = newest.buyers['theirs']!(settingOf(trade, caip2))
  for (const url of [`${ours}/weather?city=Rome`, `${ours}/plain`, `${theirs}/weather`, `${theirs}/weather/Lima`]) {
    assert.equal((await buy(url)).status, 200, url)
  }
  assert.equal((await buy(`${ours}/translate/German`, { method: 'POST' })).status, 200)
  assert.equal((await ourBuyer(trade)(`${theirs}/weather/Rome`)).status, 200)
  await idle(running)
  const client = catalogueClient(running.url)
  const { items, pagination } = await client.listResources({
    network: caip2,
    payTo: String(trade.seller.addr),
  } as never)
  assert.deepEqual(
    items.map(({ resource }) => resource).sort(),
    [`${ours}/translate/:language`, `${ours}/weather`, `${theirs}/weather`, `${theirs}/weather/:city`].sort(),
  )
  assert.equal(pagination.total, 4)
  for (const item of items) {
    assert.deepEqual([item.type, item.x402Version], ['http', 2])
    assert.ok(item.accepts.some(({ payTo, amount }) => payTo === String(trade.seller.addr) && amount === '10000'))
    // From a payment that copies the listing, the published package extracts the same listing.
    const payload = { x402Version: 2, resource: { url: item.resource }, extensions: item.extensions, payload: {} }
    const read = extractDiscoveryInfo(payload as never, item.accepts[0] as never)
    assert.ok(read !== null, item.resource)
  }
  const { resources } = await client.search({ query: 'translation' })
  assert.deepEqual(
    resources.map(({ resource }) => resource),
    [`${ours}/translate/:language`],
  )
  assert.equal((await client.listResources({ type: 'mcp' })).items.length, 0)
  const found = await discover({ facilitators: running.url, query: 'weather', network: Network.fullCaip2(genesisHash) })
  const most = found.find(({ url }) => url === `${theirs}/weather/:city`)
  assert.deepEqual([most?.settleCount, most?.method, most?.description], [2, 'GET', 'The weather of a city'])
  assert.equal(found.find(({ url }) => url === `${ours}/weather`)?.serviceName, 'Weather Inc')
})

test('published clients list tools and requests that change something, and extract their descriptions', async (t) => {
  const shop = await openShop(t)
  const tools = await openTools(t, shop)
  const buyer = new Buyer({ signer: Signer.fromSecretKey(keyOf(shop.trade.buyer)), chains: shop.trade.chain })
  for (const method of ['PUT', 'DELETE']) {
    assert.equal((await payingFetch(buyer)(`${shop.url}/notes/Rome`, { method })).status, 200, method)
  }
  const callTool = payingCallTool(await toolClient(t, tools), buyer, { server: tools })
  const { structuredContent } = await callTool({ name: 'forecast', arguments: { city: 'Rome' } })
  assert.deepEqual(structuredContent, { sky: 'blue' })
  await shop.facilitator.catalogue!.idle()
  const client = catalogueClient(shop.facilitatorUrl)
  const { items } = await client.listResources()
  const read = items.map(({ resource, extensions, accepts }) => {
    const payload = { x402Version: 2, resource: { url: resource }, extensions, payload: {} }
    const { resourceUrl, ...found } = extractDiscoveryInfo(payload as never, accepts[0] as never)!
    return `${'toolName' in found ? found.toolName : found.method} ${resourceUrl}`
  })
  assert.deepEqual(
    read.toSorted(),
    [`DELETE ${shop.url}/notes/:city`, `PUT ${shop.url}/notes/:city`, `forecast ${tools}`].toSorted(),
  )
  const [only, ...others] = (await client.listResources({ type: 'mcp' })).items
  assert.deepEqual([only?.resource, others.length], [tools, 0])
})

test('we read a catalogue that a facilitator of published packages makes', async (t) => {
  const trade = await openTrade(t, { genesisHash })
  const items: object[] = []
  const published = newest.facilitator(settingOf(trade, caip2))
  const cataloguing: PublishedFacilitator = {
    getSupported: () => published.getSupported(),
    verify: (payload, requirements) => published.verify(payload, requirements),
    settle: async (payload, requirements) => {
      const result = await published.settle(payload, requirements)
      const { resourceUrl: resource, extensions, ...found } = extractDiscoveryInfo(payload, requirements)!
      const { description, mimeType } = found
      const lastUpdated = new Date().toISOString()
      const base = { resource, type: 'http', x402Version: 2, accepts: [requirements], lastUpdated }
      items.push({ ...base, description, mimeType, extensions })
      return result
    },
  }
  const api = facilitatorApi(cataloguing)
  const url = await listen(t, (request, response) => {
    const path = request.url!.split('?')[0]
    if (path === '/discovery/resources') {
      const body = { x402Version: 2, items, pagination: { limit: 20, offset: 0, total: items.length } }
      response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    } else if (path === '/discovery/search') response.writeHead(404).end()
    else void api(request, response)
  })
  const theirs = await listen(t, describedSeller(settingOf(trade, caip2), url))
  const ours = await ourSeller(t, trade, url)
  for (const one of [`${theirs}/weather/Lima`, `${ours}/weather`]) {
    assert.equal((await ourBuyer(trade)(one)).status, 200)
  }
  const found = await discover({ facilitators: url, network: caip2 })
  assert.deepEqual(
    found.map((one) => [one.url, one.method, one.description]),
    [
      [`${theirs}/weather/:city`, 'GET', 'The weather of a city'],
      [`${ours}/weather`, 'GET', 'The weather of our shop'],
    ],
  )
  assert.deepEqual((await discover({ facilitators: url, query: 'our shop' })).length, 1)
})

test('a buyer that lies to the facilitator changes no listing', async (t) => {
  const trade = await openTrade(t, { genesisHash })
  const running = await startFacilitator(t, trade)
  const ours = await ourSeller(t, trade, running.url)
  let visits = 0
  const evil = await listen(t, (_, response) => {
    visits++
    response.writeHead(302, { Location: `${ours}/weather` }).end()
  })
  assert.equal((await ourBuyer(trade)(`${ours}/weather`)).status, 200)
  await idle(running)
  const listed = async () => (await (await fetch(`${running.url}/discovery/resources`)).json()) as { items: object[] }
  const before = await listed()
  assert.equal(before.items.length, 1)
  const offer = decodeRequired((await fetch(`${ours}/weather`)).headers.get(paymentRequired)!)
  const buyer = new Buyer({ signer: Signer.fromSecretKey(keyOf(trade.buyer)), chains: trade.chain, maxTotal: '$1' })
  const bazaar = offer.extensions!['bazaar'] as { info: object; schema: object }
  const lies = [
    { resource: { url: `${evil}/weather`, description: 'a-lie' }, extensions: { bazaar } },
    { resource: { url: 'http://127.0.0.1:1/latest/meta-data' }, extensions: { bazaar } },
    {
      resource: { ...offer.resource, description: 'a-lie', serviceName: 'a-lie' },
      extensions: { bazaar: { ...bazaar, 'a-lie': 1 } },
    },
    {
      resource: { ...offer.resource, url: `${ours}/plain` },
      extensions: { bazaar: { ...bazaar, schema: { $ref: 'https://evil.example/a-lie' } } },
    },
    { resource: offer.resource, extensions: { bazaar: { ...bazaar, routeTemplate: '/:a-lie' } } },
  ]
  for (const lie of lies) {
    const { payload } = await buyer.pay(offer)
    const result = await settle(running.url, { ...payload, ...lie }, payload.accepted)
    assert.equal(result['success'], true, JSON.stringify(result))
  }
  await idle(running)
  const after = await listed()
  assert.doesNotMatch(JSON.stringify(after), /a-lie/)
  const still = ({ items }: { items: object[] }) =>
    items.map((item) => ({ ...item, settleCount: 0, verifyCount: 0, lastSeen: 0, lastUpdated: 0 }))
  assert.deepEqual(still(after), still(before))
  assert.equal(visits, 1)
})

test('by default, sellers at private addresses are not asked', async (t) => {
  const trade = await openTrade(t, { genesisHash })
  const running = await startFacilitator(t, trade, { discovery: {} })
  const ours = await ourSeller(t, trade, running.url)
  assert.equal((await ourBuyer(trade)(`${ours}/weather`)).status, 200)
  await idle(running)
  assert.deepEqual(await discover({ facilitators: running.url }), [])
})

test('the catalogue survives a restart on SQLite', async (t) => {
  const trade = await openTrade(t, { genesisHash })
  const directory = mkdtempSync(join(tmpdir(), 'latchkey-catalogue-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const open = () => new SqliteSettlements(join(directory, 'facilitator.db'))
  const first = await startFacilitator(t, trade, { store: open() })
  const ours = await ourSeller(t, trade, first.url)
  assert.equal((await ourBuyer(trade)(`${ours}/weather`)).status, 200)
  await idle(first)
  await first.stop()
  const second = await startFacilitator(t, trade, { store: open() })
  const [found] = await discover({ facilitators: second.url, query: 'weather' })
  assert.deepEqual([found?.url, found?.settleCount], [`${ours}/weather`, 1])
})

async function settle(url: string, paymentPayload: object, paymentRequirements: object) {
  const headers = { 'Content-Type': 'application/json' }
  const body = JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements })
  const response = await fetch(`${url}/settle`, { method: 'POST', headers, body })
  return (await response.json()) as { [name: string]: unknown }
}
