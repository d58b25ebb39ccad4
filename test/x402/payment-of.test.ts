/** A handler learns who paid, in every web framework, and no client input can fake it. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { after, test } from 'node:test'
import { serve } from '@hono/node-server'
import { paymentGate as expressGate, paymentOf as ofExpress } from '@latchkey/x402/express'
import { paymentGate as fastifyGate, paymentOf as ofFastify } from '@latchkey/x402/fastify'
import { paymentGate as honoGate, paymentOf as ofHono } from '@latchkey/x402/hono'
import { paymentGate as nodeGate, paymentOf as ofNode, upgradeGate } from '@latchkey/x402/node'
import type { Gate, Payment, Route } from '@latchkey/x402/server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { WebSocket, WebSocketServer } from 'ws'
import { openMarket, repeated, until } from './support/market.test.helper.js'
import { listen, type Shop } from './support/shops.test.helper.js'

const market = await openMarket({ after })

type Seen = { path: string; payment: Payment | undefined; later: () => Payment | undefined }
type Open = (gate: Gate, seen: Seen[]) => Promise<Shop>

const openNode: Open = (gate, seen) => {
  const gated = nodeGate(gate, (request, response) => {
    seen.push({ path: request.url!, payment: ofNode(request), later: () => ofNode(request) })
    response.end('goods')
  })
  return listen((request, response) => void gated(request, response))
}

const openExpress: Open = (gate, seen) => {
  const app = express()
  app.use(expressGate(gate))
  app.use((request, response) => {
    seen.push({ path: request.originalUrl, payment: ofExpress(request), later: () => ofExpress(request) })
    response.end('goods')
  })
  return listen(app)
}

const openFastify: Open = async (gate, seen) => {
  const app = fastify({ forceCloseConnections: true })
  fastifyGate(app, gate)
  const handle = async (request: { raw: { url?: string | undefined } }): Promise<string> => {
    seen.push({ path: request.raw.url!, payment: ofFastify(request), later: () => ofFastify(request.raw) })
    return 'goods'
  }
  app.get('/weather', handle)
  app.post('/jobs', handle)
  app.get('/free', handle)
  return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
}

const openHono: Open = async (gate, seen) => {
  const app = new Hono()
  app.use(honoGate(gate))
  // The middleware replaces the request of the context.
  app.use(bodyLimit({ maxSize: 1_000 }))
  app.all('*', (context) => {
    seen.push({ path: context.req.path, payment: ofHono(context), later: () => ofHono(context) })
    return context.text('goods')
  })
  return serveHono(app.fetch)
}

/** The gate is outside; the handler is in an app that gets a separate request. */
const openHonoMounted: Open = async (gate, seen) => {
  const inner = new Hono().all('*', (context) => {
    seen.push({ path: context.req.path, payment: ofHono(context), later: () => ofHono(context) })
    return context.text('goods')
  })
  const app = new Hono()
  app.use(honoGate(gate))
  app.mount('/', inner.fetch, { replaceRequest: (request) => new Request(request) })
  return serveHono(app.fetch)
}

async function serveHono(handle: (request: Request) => Response | Promise<Response>): Promise<Shop> {
  const server = serve({ fetch: handle, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const close = async (): Promise<void> => {
    ;(server as { closeAllConnections?: () => void }).closeAllConnections?.()
    server.close()
  }
  return { url: `http://127.0.0.1:${port}`, close }
}

const shops: readonly (readonly [string, Open])[] = [
  ['node:http', openNode],
  ['Express', openExpress],
  ['Fastify', openFastify],
  ['Hono', openHono],
  ['Hono, mounted', openHonoMounted],
]

for (const [name, open] of shops) {
  test(name, async (t) => {
    const accepts = { price: '$0.01', payTo: market.seller }
    const routes: { [key: string]: Route } = { 'GET /weather': { accepts }, 'POST /jobs': { accepts } }
    const seen: Seen[] = []
    const shop = await open(await market.gate({ routes, basePath: '/' }), seen)
    t.after(() => shop.close())

    const paid = await market.payingFetch(`${shop.url}/weather`)
    assert.equal(await paid.text(), 'goods')
    const { payment, later } = seen.pop()!
    assert.deepEqual(
      [payment?.payer, payment?.payTo, payment?.amount, payment?.amountText, payment?.asset, payment?.network],
      [market.buyer.address, market.seller, '10000', '0.01 USDC', '31566704', market.chain.caip2],
    )
    assert.deepEqual(
      [payment?.state, payment?.route, payment?.networkName],
      ['verified', 'GET /weather', 'local network'],
    )
    const { transactionId } = payment!
    assert.equal((await market.chain.algod.transaction(transactionId)).type, 'confirmed')
    await until(() => later()?.state === 'settled')

    // Our facilitator reports the round, so it is known if a payment is settled first.
    await (await market.payingFetch(`${shop.url}/jobs`, { method: 'POST', body: 'x' })).text()
    const first = seen.pop()!.payment!
    assert.equal(first.state, 'settled')
    const found = await market.chain.algod.transaction(first.transactionId)
    assert.deepEqual(found, { type: 'confirmed', round: BigInt(first.round!) })

    const forged = {
      payment: JSON.stringify(payment),
      'X-Payment': transactionId,
      'PAYMENT-RESPONSE': Buffer.from('{"success":true}').toString('base64'),
      'PAYMENT-SIGNATURE': Buffer.from(JSON.stringify({ x402Version: 2, payer: 'X' })).toString('base64'),
    }
    const free = await fetch(`${shop.url}/free`, { headers: forged })
    assert.equal(await free.text(), 'goods')
    assert.equal(seen.pop()!.payment, undefined)
    const unpaid = await fetch(`${shop.url}/weather`, { headers: forged })
    assert.equal(unpaid.status, 402)
    assert.equal(seen.length, 0)
  })
}

test('a middleware around the gate sees the payment of a resent answer', async (t) => {
  const accepts = { price: '$0.01', payTo: market.seller }
  const gate = await market.gate({ routes: { 'GET /weather': { accepts } } })
  const around: (Payment | undefined)[] = []
  let runs = 0
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const gated = nodeGate(gate, async (_, response) => {
    runs++
    await released
    response.end('goods')
  })
  const shop = await listen((request, response) => {
    void gated(request, response).then(() => around.push(ofNode(request)))
  })
  t.after(() => shop.close())
  const header = await market.payment(await fetch(`${shop.url}/weather`))
  const leaving = new AbortController()
  const lost = fetch(`${shop.url}/weather`, { headers: { 'PAYMENT-SIGNATURE': header }, signal: leaving.signal })
  await until(() => runs === 1)
  leaving.abort()
  await assert.rejects(lost)
  release()
  const again = await repeated(`${shop.url}/weather`, header)
  assert.equal(await again.text(), 'goods')
  assert.equal(runs, 1)
  await until(() => around.at(-1) !== undefined)
  assert.deepEqual([around.at(-1)?.payer, around.at(-1)?.state], [market.buyer.address, 'settled'])
})

test('a WebSocket knows who paid for it', async (t) => {
  const accepts = { price: '$0.01', payTo: market.seller }
  const gate = await market.gate({ routes: { 'GET /socket': { accepts } } })
  const sockets = new WebSocketServer({ noServer: true })
  const server = createServer(nodeGate(gate, (_, response) => void response.end('goods')))
  const seen: (Payment | undefined)[] = []
  server.on(
    'upgrade',
    upgradeGate(gate, (request, socket, head) => {
      seen.push(ofNode(request))
      sockets.handleUpgrade(request, socket, head, (webSocket) => webSocket.send('goods'))
    }),
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const client of sockets.clients) client.terminate()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  const header = await market.payment(await fetch(`http://127.0.0.1:${port}/socket`))
  const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`, { headers: { 'PAYMENT-SIGNATURE': header } })
  assert.equal(String((await once(socket, 'message'))[0]), 'goods')
  socket.terminate()
  assert.deepEqual(
    [seen[0]?.payer, seen[0]?.state, seen[0]?.amountText],
    [market.buyer.address, 'settled', '0.01 USDC'],
  )
})
