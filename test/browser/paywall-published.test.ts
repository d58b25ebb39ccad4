/** Our payment page, served by a seller on the published `@x402/express` and paid in Chromium. */
import assert from 'node:assert/strict'
import { after, afterEach, test } from 'node:test'
import { Server } from '@latchkey/http'
import { newestModules } from '@latchkey/published'
import { paywallFiles } from '@latchkey/x402/express'
import { createFacilitatorHandler } from '@latchkey/x402/facilitator'
import { AlgorandPaywall, AlgorandServerScheme } from '@latchkey/x402/schemes'
import type { Network } from '@x402/core/types'
import express from 'express'
import { pay, received, startEnvironment, visit, waitForStatus } from './paywall.test.helper.js'

const environment = await startEnvironment({ after, afterEach })
const { market, kmd, second, browser } = environment
const report = { weather: 'sunny', temperature: 70 }

const facilitator = new Server({ fetch: createFacilitatorHandler({ facilitator: market.facilitator }) })
const { port } = await facilitator.listen('127.0.0.1', 0)
after(() => facilitator.stop())

const { x402ResourceServer, HTTPFacilitatorClient, expressMiddleware } = newestModules
const server = new x402ResourceServer(new HTTPFacilitatorClient({ url: `http://127.0.0.1:${port}` }))
server.register('algorand:*' as Network, new AlgorandServerScheme({ chains: market.chain }) as never)
const network = market.chain.caip2 as Network
const accepts = { scheme: 'exact', network, price: '$0.01', payTo: market.seller }
const other = { ...accepts, network: 'eip155:84532' as Network, payTo: `0x${'1'.repeat(40)}` }
const paywall = await AlgorandPaywall.open({ chains: market.chain, name: 'Weather Inc', kmd })
const app = express()
app.use(paywallFiles(paywall))
const routes = { 'GET /weather': { accepts, description: 'The weather, now' } }
app.use(expressMiddleware(routes, server, undefined, paywall as never))
let served = 0
app.get('/weather', (_, response) => {
  served += 1
  response.json(report)
})
second.server.on('request', app)

test('shows the price, takes the payment and shows the content', async () => {
  const before = await received(environment)
  const visitor = await visit(browser, `${second.url}/weather?city=Rome`, { kmdUrl: kmd.url })
  const { page, issues } = visitor
  assert.equal(await page.locator('h1').innerText(), 'The weather, now')
  assert.equal(await page.locator('[data-price]').innerText(), '$0.01')
  assert.match(await page.locator('main').innerText(), /Weather Inc/)
  const policy = await page.locator('meta[http-equiv="Content-Security-Policy"]').getAttribute('content')
  assert.match(policy!, /default-src 'none'; script-src 'self'/)
  await pay(visitor, environment.funded)
  assert.deepEqual(JSON.parse(await page.locator('[data-content] pre').innerText()), report)
  assert.deepEqual(issues, [])
  assert.deepEqual([served, (await received(environment)) - before], [1, 10_000n])
})

test('an account without money is told so, and nothing is served', async () => {
  const servedBefore = served
  const visitor = await visit(browser, `${second.url}/weather`, { kmdUrl: kmd.url })
  await pay(visitor, environment.empty)
  await waitForStatus(visitor, /Nothing was paid/)
  assert.equal(served, servedBefore)
})

test('the files of the page open nothing', async () => {
  for (const query of ['?x402-page=params', '?x402-page=nothing', '?x402-page=', '?a=1&x402-page=x']) {
    const response = await fetch(`${second.url}/weather${query}`)
    assert.ok([200, 404].includes(response.status), query)
    assert.doesNotMatch(await response.text(), /sunny/)
  }
  assert.equal((await fetch(`${second.url}/weather?x402-page=params`, { method: 'POST' })).status, 404)
})

test('shows each price of its networks once, and leaves other chains to another provider', async () => {
  const requirement = { scheme: 'exact', network, asset: '31566704', amount: '10000', payTo: market.seller }
  const common = { maxTimeoutSeconds: 60, extra: {} }
  const older = market.chain.ids.find((id) => id !== network)!
  const required = (...list: object[]) =>
    ({ x402Version: 2, resource: { url: 'https://shop.example/a' }, accepts: list }) as never
  const both = paywall.generateHtml(
    required({ ...requirement, ...common }, { ...requirement, ...common, network: older }, { ...other, ...common }),
  )
  const { offers, required: shown } = JSON.parse(/id="x402">([^<]*)</.exec(both)![1]!) as {
    offers: object[]
    required: { accepts: object[] }
  }
  assert.deepEqual([offers.length, shown.accepts.length], [1, 1])
  assert.match(paywall.generateHtml(required({ ...other, ...common })), /cannot be paid on this page/)
  const delegating = await AlgorandPaywall.open({ chains: market.chain, others: { generateHtml: () => 'theirs' } })
  assert.equal(delegating.generateHtml(required({ ...other, ...common })), 'theirs')
})
