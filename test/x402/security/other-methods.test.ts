/** A handler that ignores the method serves the goods for every method. The gate lets only paid requests through. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { serve } from '@hono/node-server'
import { paymentGate as expressGate } from '@latchkey/x402/express'
import { paymentGate as fastifyGate } from '@latchkey/x402/fastify'
import { paymentGate as honoGate } from '@latchkey/x402/hono'
import { paymentGate as nodeGate } from '@latchkey/x402/node'
import type { Gate, GateOptions } from '@latchkey/x402/server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { listenHttp2 } from '../support/http2.test.helper.js'
import { openMarket } from '../support/market.test.helper.js'
import { rawRequest } from '../support/rawRequest.test.helper.js'
import { listen, type Shop } from '../support/shops.test.helper.js'
import { cents } from '../support/stall.test.helper.js'

const market = await openMarket({ after })
type Serve = () => string

/** Each shop serves every method. */
const shops: { [name: string]: (gate: Gate, goods: Serve) => Promise<Shop> } = {
  'node:http': (gate, goods) => listen(nodeGate(gate, (_, response) => void response.end(goods()))),
  Express: (gate, goods) => {
    const app = express()
    app.use(expressGate(gate))
    app.use((_, response) => void response.send(goods()))
    return listen(app)
  },
  Fastify: async (gate, goods) => {
    const app = fastify({ forceCloseConnections: true })
    fastifyGate(app, gate)
    app.all('/*', async () => goods())
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
  },
  Hono: async (gate, goods) => {
    const app = new Hono().use(honoGate(gate))
    app.all('*', (context) => context.text(goods()))
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
    if (!server.listening) await once(server, 'listening')
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return { url, close: async () => void server.close() }
  },
}

async function open(t: { after: (work: () => unknown) => void }, name: string, routes: GateOptions['routes']) {
  let served = 0
  const shop = await shops[name]!(await market.gate({ routes }), () => {
    served++
    return 'goods'
  })
  t.after(() => shop.close())
  return { url: shop.url, served: () => served }
}

const methods = ['POST', 'PUT', 'PATCH', 'DELETE', 'PROPFIND', 'PURGE', 'REPORT', 'TRACE']

for (const name of Object.keys(shops)) {
  test(`A14 ${name}: other methods of a paid path are refused`, async (t) => {
    const { url, served } = await open(t, name, cents(market, 'GET /weather', 'PUT /weather', 'POST /orders'))
    for (const method of methods.filter((one) => one !== 'PUT')) {
      const { status, head } = await rawRequest(url, '/weather', { method })
      // Some frameworks refuse the rarest methods before the gate sees them.
      assert.ok([405, 404, 400, 501].includes(status), `${method}: ${status}`)
      if (status === 405) assert.match(head, /^allow: GET, HEAD, PUT, OPTIONS\r?$/im)
    }
    for (const path of ['/%77eather', '/weather/', '//weather', '/WEATHER']) {
      const { status } = await rawRequest(url, path, { method: 'POST' })
      assert.ok([405, 400].includes(status), `${path}: ${status}`)
    }
    assert.equal((await rawRequest(url, '/weather', { method: 'HEAD' })).status, 402)
    assert.equal((await rawRequest(url, '/orders', { method: 'HEAD' })).status, 405)
    assert.equal((await rawRequest(url, '/weather', { method: 'OPTIONS' })).status, 204)
    assert.equal(served(), 0)
  })

  test(`A14 ${name}: a header or a parameter that overrides the method opens no other route`, async (t) => {
    const { url, served } = await open(t, name, {
      ...cents(market, 'POST /orders', 'DELETE /orders'),
      'GET /weather': { ...cents(market, 'x')['x']!, otherMethods: 'free' },
    })
    for (const header of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']) {
      const headers = { [header]: 'GET', 'Content-Length': '0' }
      assert.equal((await rawRequest(url, '/weather', { method: 'POST', headers })).status, 400)
      const other = { [header]: 'DELETE', 'Content-Length': '0' }
      assert.equal((await rawRequest(url, '/orders', { method: 'POST', headers: other })).status, 400)
    }
    for (const query of ['?_method=GET', '?%5Fmethod=GET', '?_meth%6Fd=GET', '?_method[]=GET', '?x=1#&_method=GET']) {
      assert.equal((await rawRequest(url, `/weather${query}`, { method: 'POST' })).status, 400, query)
    }
    for (const query of ['?%5fmethod=DELETE', '?_method%5B0%5D=DELETE', '?x=1;_method=DELETE', '?_METHOD=delete']) {
      assert.equal((await rawRequest(url, `/orders${query}`, { method: 'POST' })).status, 400, query)
    }
    const many = Array.from({ length: 5 }, (_, index) => `_method=M${index}`).join('&')
    assert.equal((await rawRequest(url, `/free?${many}`, { method: 'POST' })).status, 400)
    assert.equal((await rawRequest(url, '/orders?method=DELETE', { method: 'POST' })).status, 402)
    assert.equal(served(), 0)
  })

  test(`A14 ${name}: a route can leave other methods free, and its own method stays paid`, async (t) => {
    const routes = { 'GET /weather': { ...cents(market, 'x')['x']!, otherMethods: 'free' as const } }
    const { url, served } = await open(t, name, routes)
    assert.equal((await rawRequest(url, '/weather', { method: 'POST' })).status, 200)
    assert.equal(served(), 1)
    for (const method of ['GET', 'HEAD']) assert.equal((await rawRequest(url, '/weather', { method })).status, 402)
    assert.equal(served(), 1)
  })
}

test('A14 a lower-case method is the same method', async (t) => {
  let served = 0
  const gate = await market.gate({ routes: cents(market, 'GET /weather') })
  const shop = await listenHttp2(
    nodeGate(gate, (_, response) => {
      served++
      response.end('goods')
    }) as never,
  )
  t.after(() => shop.close())
  const session = connect(shop.url)
  t.after(() => session.destroy())
  for (const [method, expected] of [
    ['get', 402],
    ['hEAd', 402],
    ['post', 405],
    ['purge', 405],
  ] as const) {
    const stream = session.request({ ':method': method, ':path': '/weather' }, { endStream: true })
    const [headers] = await once(stream, 'response')
    assert.equal(headers[':status'], expected, method)
    stream.close()
  }
  assert.equal(served, 0)
})
