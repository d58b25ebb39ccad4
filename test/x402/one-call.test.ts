/** A seller in one call, in each framework: the gate is opened by its options. */
import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { serve } from '@hono/node-server'
import * as expressGate from '@latchkey/x402/express'
import * as fastifyGate from '@latchkey/x402/fastify'
import * as honoGate from '@latchkey/x402/hono'
import * as nodeGate from '@latchkey/x402/node'
import * as webGate from '@latchkey/x402/web'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { type Market, openMarket } from './support/market.test.helper.js'

const goods = { weather: 'sunny' }

type Seller = (market: Market, t: TestContext) => Promise<string>

const optionsOf = ({ seller, local, chain }: Market) => ({
  payTo: seller,
  facilitators: local,
  chains: chain,
  routes: { 'GET /weather': '$0.01' },
})

const sellers: { readonly [name: string]: Seller } = {
  Express: async (market, t) => {
    const app = express()
    app.use(await expressGate.paymentGate(optionsOf(market)))
    app.get('/weather', (_, response) => void response.json(goods))
    return listen(app, t)
  },
  Hono: async (market, t) => {
    const app = new Hono()
    app.use(await honoGate.paymentGate(optionsOf(market)))
    app.get('/weather', (context) => context.json(goods))
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
    t.after(() => server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  },
  Fastify: async (market, t) => {
    const app = fastify()
    fastifyGate.paymentGate(app, optionsOf(market))
    app.get('/weather', () => goods)
    t.after(() => app.close())
    return app.listen({ port: 0, host: '127.0.0.1' })
  },
  'node:http': async (market, t) => {
    const listener = await nodeGate.paymentGate(optionsOf(market), (request, response) => {
      if (request.url === '/weather') response.setHeader('Content-Type', 'application/json').end(JSON.stringify(goods))
      else response.writeHead(404).end()
    })
    return listen(listener, t)
  },
  'a fetch handler': async (market, t) => {
    const handler = webGate.paymentGate(optionsOf(market), async () => Response.json(goods))
    const server = serve({ fetch: (request: Request) => handler(request), port: 0, hostname: '127.0.0.1' })
    t.after(() => server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  },
}

async function listen(listener: RequestListener, t: TestContext): Promise<string> {
  const server = createServer(listener)
  t.after(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('sells in every framework', async (t) => {
  const market = await openMarket(t)
  for (const [index, [name, open]] of Object.entries(sellers).entries()) {
    const url = `${await open(market, t)}/weather`
    const unpaid = await fetch(url)
    assert.equal(unpaid.status, 402, name)
    assert.doesNotMatch(await unpaid.text(), /sunny/)
    const paid = await market.payingFetch(url)
    assert.deepEqual([paid.status, await paid.json()], [200, goods], name)
    assert.equal(await market.dollars(), BigInt((index + 1) * 10_000), name)
  }
})

test('a gate that cannot be opened serves nothing', async (t) => {
  const market = await openMarket(t)
  const wrong = { ...market, seller: 'X' }
  for (const name of ['Express', 'Hono', 'Fastify', 'node:http']) {
    await assert.rejects(sellers[name]!(wrong, t), /payTo/, name)
  }
  const url = await sellers['a fetch handler']!(wrong, t)
  assert.equal((await fetch(`${url}/weather`)).status, 503)
})

test('a promise that is not awaited serves nothing', async (t) => {
  const market = await openMarket(t)
  const app = new Hono()
  app.use(honoGate.paymentGate(optionsOf(market)) as never)
  app.get('/weather', (context) => context.json(goods))
  app.onError((_, context) => context.text('failed', 500))
  assert.equal((await app.request('/weather')).status, 500)
  assert.throws(() => express().use(expressGate.paymentGate(optionsOf(market)) as never))
  await new Promise((resolve) => setImmediate(resolve))
})
