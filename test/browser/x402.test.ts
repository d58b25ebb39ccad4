/** Runs buyer, seller and facilitator, bundled for browsers and edge runtimes, with payments on a real devnet. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Server } from '@latchkey/http'
import { createFacilitatorHandler } from '@latchkey/x402/facilitator'
import { paymentGate } from '@latchkey/x402/node'
import type { GateOptions } from '@latchkey/x402/server'
import { textOf } from '../docs/Blocks.test.helper.js'
import { dollar, type Market, openMarket } from '../x402/support/market.test.helper.js'
import { bundle, call } from './bundle.test.helper.js'
import { launch } from './chromium.test.helper.js'
import { edgeSkipReason, startWorker } from './edge.test.helper.js'

const buyerSource = `
import { Buyer, Chain, LatchkeyError, payingFetch, receiptOf, Signer } from '@latchkey/x402/client'

/** Pays for a resource, then hits a limit. */
export async function buy({ node, dollarAssetId, mnemonic, url }) {
  const chain = await Chain.open({ network: 'local', nodes: node, dollarAssetId: BigInt(dollarAssetId) })
  const signer = Signer.fromMnemonic(mnemonic)
  const buyer = new Buyer({ signer, chains: chain, maxTotal: '$0.015' })
  const pay = payingFetch(buyer)
  const response = await pay(url)
  const { success, transaction } = receiptOf(response)
  const [payment] = buyer.payments.all()
  const refused = await pay(url).then(() => undefined, (error) => error)
  const misspelt = await Chain.open({ network: 'tesnet' }).catch((error) => error)
  return {
    status: response.status, body: await response.text(), success,
    isSameTransaction: transaction === payment.transactionId, state: payment.state,
    ledger: await buyer.lookUp(transaction),
    refused: refused instanceof LatchkeyError && [refused.code, ...refused.reasons.map(({ code, left }) => code + ' ' + left)],
    misspelt: [misspelt.code, misspelt.hint],
  }
}
`

const bought = {
  status: 200,
  body: '{"weather":"sunny"}',
  success: true,
  isSameTransaction: true,
  state: 'settled',
  ledger: 'settled',
  refused: ['payment_refused', 'above_total_limit 5000'],
  misspelt: ['unknown_network', 'did you mean testnet?'],
}

/** The seller of a worker. The source contains all settings, like those of a deployment. */
const sellerSource = (settings: object): string => `
import { paymentGate } from '@latchkey/x402/hono'
import { Chain, Gate } from '@latchkey/x402/server'
import { Hono } from 'hono'

const settings = ${JSON.stringify(settings)}
const warnings = []

async function open() {
  const chain = await Chain.open({ network: 'local', nodes: settings.node, dollarAssetId: BigInt(settings.dollarAssetId) })
  const accepts = { network: chain.caip2, price: '$0.01', payTo: settings.payTo }
  const gate = await Gate.open({
    routes: { 'GET /weather': { accepts } },
    chains: chain,
    facilitators: settings.facilitator,
    onWarning: (text) => warnings.push(text),
  })
  const app = new Hono().use(paymentGate(gate))
  app.get('/free', (context) => context.json(warnings))
  return app.get('/weather', (context) => context.json({ weather: 'sunny' }))
}

let app
export default { fetch: async (...args) => (await (app ??= open())).fetch(...args) }

/** For a page, which cannot serve requests. */
export async function serve(url, init) {
  const response = await (await (app ??= open())).fetch(new Request(url, init))
  return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
}
`

/** The example for edge runtimes, with settings that the runtime would pass. */
const edgeSource = (settings: object): string =>
  `${textOf('examples/edge/worker.js').replace('export default', 'const worker =')}
export default { fetch: (request) => worker.fetch(request, ${JSON.stringify(settings)}) }
`

/** The facilitator of a worker. Its records are in memory, because the stores on disk need Node. */
const facilitatorSource = (settings: object): string => `
import { Chain, createFacilitatorHandler, Facilitator, Signer } from '@latchkey/x402/facilitator'

const settings = ${JSON.stringify(settings)}

async function open() {
  const chain = await Chain.open({ network: 'local', nodes: settings.node, dollarAssetId: BigInt(settings.dollarAssetId) })
  const feePayer = Signer.fromMnemonic(settings.feePayer)
  return createFacilitatorHandler({ facilitator: new Facilitator({ chains: [chain], feePayer }) })
}

let handler
export default { fetch: async (request) => (await (handler ??= open()))(request) }
`

async function openFacilitator(t: TestContext, market: Market): Promise<string> {
  const server = new Server({ fetch: createFacilitatorHandler({ facilitator: market.facilitator }) })
  const { port } = await server.listen('127.0.0.1', 0)
  t.after(() => server.stop())
  return `http://127.0.0.1:${port}`
}

/** Starts a seller on Node that pages of every origin may pay. */
async function openSeller(t: TestContext, market: Market, options: Partial<GateOptions> = {}): Promise<string> {
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const gate = await market.gate({ routes: { 'GET /weather': { accepts } }, cors: true, ...options })
  const server = createServer(paymentGate(gate, (_, response) => response.end('{"weather":"sunny"}')))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const settingsOf = ({ devnet, seller }: Market) => ({
  node: devnet.url,
  dollarAssetId: String(dollar),
  mnemonic: devnet.accounts[0]!.mnemonic,
  payTo: seller,
})

test('buyer, seller and facilitator bundle for browsers and edge runtimes without Node modules', async (t) => {
  for (const source of [buyerSource, sellerSource({}), edgeSource({}), facilitatorSource({})]) {
    for (const conditions of [undefined, ['workerd', 'worker', 'browser']]) {
      const { nodeImports, code } = await bundle(t, { source, ...(conditions && { conditions }) })
      assert.deepEqual(nodeImports, [])
      assert.doesNotMatch(code, /\bBuffer\.|\brequire\(/)
    }
  }
})

test('in Chromium a page pays a seller', async (t) => {
  const market = await openMarket(t)
  const seller = await openSeller(t, market)
  const page = await (await launch(t)).newPage()
  await page.goto(`${seller}/`)
  const bundled = await bundle(t, { source: buyerSource })
  const setup = { ...settingsOf(market), url: `${seller}/weather` }
  assert.deepEqual(await call(page, bundled, 'buy', setup), bought)
  assert.equal(await market.dollars(), 10_000n)
})

test('in Chromium, the Hono gate responds with 402 and serves paid content', async (t) => {
  const market = await openMarket(t)
  const facilitator = await openFacilitator(t, market)
  const page = await (await launch(t)).newPage()
  // Facilitators send no CORS headers, because pages do not call them. Here the page has the same origin.
  await page.goto(`${facilitator}/health`)
  const bundled = await bundle(t, { source: sellerSource({ ...settingsOf(market), facilitator }) })
  type Served = { status: number; headers: { [name: string]: string }; body: string }
  const serve = async (path: string, init: RequestInit = {}): Promise<Served> =>
    (await call(page, bundled, 'serve', `http://seller.example${path}`, init)) as Served
  const unpaid = await serve('/weather')
  assert.equal(unpaid.status, 402)
  const payment = await market.payment(new Response(null, { headers: unpaid.headers }))
  const paid = await serve('/weather', { headers: { 'PAYMENT-SIGNATURE': payment } })
  assert.deepEqual([paid.status, paid.body], [200, '{"weather":"sunny"}'])
  assert.equal(await market.dollars(), 10_000n)
})

test('in workerd a buyer pays a seller', { skip: edgeSkipReason }, async (t) => {
  const market = await openMarket(t)
  const seller = await openSeller(t, market)
  const worker = await startWorker(t, { source: buyerSource })
  assert.deepEqual(await worker.call('buy', { ...settingsOf(market), url: `${seller}/weather` }), bought)
})

test('in workerd, the Hono gate sells, and people get JSON', { skip: edgeSkipReason }, async (t) => {
  const market = await openMarket(t)
  const facilitator = await openFacilitator(t, market)
  const { url } = await startWorker(t, { source: sellerSource({ ...settingsOf(market), facilitator }) })
  const person = await fetch(`${url}/weather`, { headers: { Accept: 'text/html' } })
  assert.deepEqual([person.status, person.headers.get('Content-Type')], [402, 'application/json'])
  const response = await market.payingFetch(`${url}/weather`)
  assert.deepEqual([response.status, await response.text()], [200, '{"weather":"sunny"}'])
  assert.equal(await market.dollars(), 10_000n)
  const [warning] = (await (await fetch(`${url}/free`)).json()) as string[]
  assert.match(warning!, /browsers get the JSON response/)
})

test('in workerd, a gate in front of a fetch handler sells', { skip: edgeSkipReason }, async (t) => {
  const market = await openMarket(t)
  const { node, payTo, dollarAssetId } = settingsOf(market)
  const settings = { AVM_NETWORK: 'local', ALGOD_URL: node, AVM_ADDRESS: payTo, USDC_ASSET_ID: dollarAssetId }
  const source = edgeSource({ ...settings, FACILITATOR_URL: await openFacilitator(t, market) })
  const { url } = await startWorker(t, { source })
  assert.equal((await fetch(`${url}/weather`)).status, 402)
  assert.equal((await fetch(`${url}/other`)).status, 404)
  const response = await market.payingFetch(`${url}/weather`)
  assert.deepEqual([response.status, await response.json()], [200, { weather: 'sunny' }])
  assert.equal(await market.dollars(), 10_000n)
})

test('in workerd the facilitator settles the payments of a seller', { skip: edgeSkipReason }, async (t) => {
  const market = await openMarket(t)
  const feePayer = market.devnet.accounts[3]!.mnemonic
  const { url } = await startWorker(t, { source: facilitatorSource({ ...settingsOf(market), feePayer }) })
  const seller = await openSeller(t, market, { facilitators: url })
  const response = await market.payingFetch(`${seller}/weather`)
  assert.deepEqual([response.status, await response.text()], [200, '{"weather":"sunny"}'])
  assert.equal(await market.dollars(), 10_000n)
})
