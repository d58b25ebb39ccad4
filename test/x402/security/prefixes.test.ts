/** Under a prefix, full and relative keys both work or are refused; a route is never left free. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { payingFetch } from '@latchkey/x402/client'
import { paymentGate as fastifyGate } from '@latchkey/x402/fastify'
import { paymentGate as honoGate } from '@latchkey/x402/hono'
import { paymentGate as nodeGate } from '@latchkey/x402/node'
import { OptionsError } from '@latchkey/x402/server'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { http2Fetch } from '../support/http2.test.helper.js'
import { openMarket } from '../support/market.test.helper.js'
import { Runs, sellers } from '../support/matrix.test.helper.js'
import { listen } from '../support/shops.test.helper.js'
import { cents } from '../support/stall.test.helper.js'

const market = await openMarket({ after })

for (const { name, protocol, prefix, open } of sellers.filter((seller) => seller.prefix !== '')) {
  test(`A10 ${name}, ${protocol}: full and relative keys require payment, in every spelling`, async (t) => {
    for (const key of [`GET ${prefix}/weather`, 'GET /weather', `GET ${prefix}/*`, '/:name', `${prefix}/:name`]) {
      const runs = new Runs()
      const shop = await open(await market.gate({ routes: cents(market, key) }), runs)
      t.after(() => shop.close())
      const ask = protocol === 'HTTP/2' ? http2Fetch() : fetch
      for (const path of ['/weather', '/%77eather', '/weather?x=1']) {
        const response = await ask(`${shop.url}${prefix}${path}`)
        await response.arrayBuffer()
        assert.ok([402, 404].includes(response.status), `${key} ${path}: ${response.status}`)
      }
      assert.deepEqual(runs.names, [], key)
    }
  })
}

/** As on an edge runtime, without Node's objects. */
async function mounted(key: string, basePath?: string) {
  let served = 0
  const errors: unknown[] = []
  const gate = await market.gate({ routes: cents(market, key), basePath, onError: (error) => errors.push(error) })
  const inner = new Hono().use(honoGate(gate))
  for (const path of ['/weather', '/free', '/']) {
    inner.get(path, (context) => {
      served++
      return context.text('goods')
    })
  }
  const app = new Hono().mount('/api', inner.fetch)
  return { app, served: () => served, errors }
}

test('A10 if mount() hides its prefix, a full key is refused with an error that names basePath', async () => {
  for (const key of ['GET /api/weather', 'GET /api/*', 'GET /api/:name', 'GET /v1/api/weather']) {
    const { app, served, errors } = await mounted(key)
    const response = await app.request('/api/weather')
    assert.equal(response.status, 500, key)
    assert.match(await response.text(), /basePath/)
    assert.equal(served(), 0)
    assert.ok(errors[0] instanceof OptionsError && errors[0].hint?.includes('basePath'))
  }
})

test('A10 with basePath, full and relative keys require payment under mount(), and other paths are free', async () => {
  for (const key of ['GET /api/weather', 'GET /weather']) {
    const { app, served } = await mounted(key, '/api')
    const unpaid = await app.request('/api/weather')
    assert.equal(unpaid.status, 402)
    assert.equal(((await unpaid.json()) as { resource: { url: string } }).resource.url, 'http://localhost/api/weather')
    const pay = payingFetch(market.buyer, { fetch: async (input, init) => app.request(new Request(input, init)) })
    assert.equal((await pay('http://localhost/api/weather')).status, 200)
    assert.equal((await app.request('/api/free')).status, 200)
    assert.equal(served(), 2)
  }
})

test('A10 behind a proxy that removes a prefix, basePath makes full keys match', async (t) => {
  let served = 0
  const gate = await market.gate({ routes: cents(market, 'GET /api/weather'), basePath: '/api' })
  const { url, close } = await listen(
    nodeGate(gate, (_, response) => {
      served++
      response.end('goods')
    }),
  )
  t.after(close)
  const response = await fetch(`${url}/weather`)
  assert.equal(response.status, 402)
  assert.equal(((await response.json()) as { resource: { url: string } }).resource.url, `${url}/api/weather`)
  assert.equal(served, 0)
})

const misplaced: { [name: string]: (app: FastifyInstance, gate: Parameters<typeof fastifyGate>[1]) => unknown } = {
  'in a plugin beside the routes': async (app, gate) => {
    await app.register(async (plugin) => fastifyGate(plugin, gate))
    app.get('/weather', async () => 'goods')
  },
  'with a key relative to the prefix of another plugin': async (app, gate) => {
    fastifyGate(app, gate)
    await app.register(async (plugin) => void plugin.get('/weather', async () => 'goods'), { prefix: '/api' })
  },
}

for (const [name, build] of Object.entries(misplaced)) {
  test(`A10 Fastify does not start with a gate that no route can match: ${name}`, async (t) => {
    const app = fastify()
    t.after(() => app.close())
    await build(app, await market.gate({ routes: cents(market, 'GET /weather') }))
    await assert.rejects(async () => app.ready(), OptionsError)
  })
}
