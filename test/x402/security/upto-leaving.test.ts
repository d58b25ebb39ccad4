/** Who leaves a stream that is charged by usage, or makes its handler fail, pays for what was sent until then. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { connect as connectHttp2, constants, createServer as createHttp2 } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { after, type TestContext, test } from 'node:test'
import { serve } from '@hono/node-server'
import { openGateway, Upstream } from '@latchkey/x402/gateway'
import { paymentGate as honoGate, paymentOf } from '@latchkey/x402/hono'
import { paymentGate } from '@latchkey/x402/node'
import type { Accept } from '@latchkey/x402/server'
import { Hono } from 'hono'
import { authorizationFor } from '../support/authorizations.test.helper.js'
import { openMarket, repeated, until } from '../support/market.test.helper.js'
import { type Handler, newSeller, openShop } from '../support/uptoShop.test.helper.js'

const timeout = 120_000
const market = await openMarket({ after })
const streamed = { price: { stream: true } } as const

type Party = (request: IncomingMessage, response: ServerResponse) => void

/** What handlers do when they learn that their client has left. */
const reactions: { readonly [name: string]: Party } = {
  'request aborted': (request, response) => request.on('aborted', () => response.destroy()),
  'request closed': (request, response) => request.on('close', () => response.destroy()),
  'end of the socket': (request, response) => request.socket.on('end', () => response.destroy()),
  'error of the socket': (request, response) => request.socket.on('error', () => response.destroy()),
  'an early end': (request, response) => request.on('aborted', () => response.end()),
}

const leaving =
  (react: Party): Handler =>
  (request, response, payment) => {
    payment.charge!('$0.25')
    react(request, response)
    response.writeHead(200, { 'Content-Length': 1_000 }).write('a part')
  }

/** Sends a request, and calls `leave` when the response has begun. */
async function leaveHttp1(t: TestContext, url: string, header: string, leave: (socket: Socket) => void) {
  const { port, pathname } = new URL(url)
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true }).setEncoding('latin1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  // The body is not complete, so that Node reports an error if the connection ends.
  const head = `POST ${pathname} HTTP/1.1\r\nHost: shop\r\nContent-Length: 10\r\nPAYMENT-SIGNATURE: ${header}\r\n\r\n`
  socket.write(`${head}half`)
  let text = ''
  for await (const piece of socket) {
    text += piece
    if (text.includes('a part')) break
  }
  leave(socket)
}

const departures: { readonly [name: string]: (socket: Socket) => void } = {
  'half-closes': (socket) => socket.end(),
  resets: (socket) => socket.resetAndDestroy(),
}

for (const [reason, react] of Object.entries(reactions)) {
  test(`a handler that breaks off on ${reason} is charged, however its client leaves`, { timeout }, async (t) => {
    for (const leave of Object.values(departures)) {
      const { url, received } = await openShop(market, t, leaving(react), streamed)
      const header = await authorizationFor(market, await fetch(url, { method: 'POST' }), { rounds: 900n })
      await leaveHttp1(t, url, header, leave)
      await until(async () => (await received()) === 250_000n)
    }
  })
}

test('HTTP/2: a handler that breaks off because its client left is charged', { timeout }, async (t) => {
  for (const react of [reactions['request aborted']!, reactions['request closed']!]) {
    const seller = newSeller(market)
    const accepts: Accept = { price: { upTo: '$0.50', stream: true }, payTo: seller }
    const gate = await market.gate({ routes: { '/model': { accepts } } })
    const handler = leaving(react)
    const listener = paymentGate(gate, (request, response) => handler(request, response, paymentOf(request)!))
    const server = createHttp2(listener as never).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    t.after(() => {
      session.destroy()
      server.close()
    })
    const unpaid = session.request({ ':path': '/model' }).resume()
    const [{ 'payment-required': offer }] = (await once(unpaid, 'response')) as [{ 'payment-required': string }]
    const header = await authorizationFor(market, new Response(null, { headers: { 'payment-required': offer } }), {
      rounds: 900n,
    })
    const paid = session.request({ ':path': '/model', 'payment-signature': header })
    paid.on('error', () => {})
    await once(paid, 'data')
    paid.close(constants.NGHTTP2_CANCEL)
    await until(async () => (await market.dollars(seller)) === 250_000n)
  }
})

/** Charges five cents for each piece, without an eye on the maximum of fifty cents. */
async function useTooMuch(charge: (price: string) => void, write: (piece: string) => void): Promise<void> {
  for (let count = 1; count <= 12; count++) {
    charge(`$${(count * 0.05).toFixed(2)}`)
    write(`piece ${count};`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

test('a handler that fails because it used more than the maximum is charged for what was sent', {
  timeout,
}, async (t) => {
  const handler: Handler = (_, response, payment) => useTooMuch(payment.charge!, (piece) => response.write(piece))
  const { url, received } = await openShop(market, t, handler, streamed)
  const header = await authorizationFor(market, await fetch(url), { rounds: 900n })
  await assert.rejects(async () => (await repeated(url, header)).text(), 'not a clean end')
  await until(async () => (await received()) === 500_000n)

  const seller = newSeller(market)
  const accepts: Accept = { price: { upTo: '$0.50', stream: true }, payTo: seller }
  const gate = await market.gate({ routes: { '/model': { accepts } } })
  const app = new Hono().use(honoGate(gate)).get('/model', (context) => {
    const { charge } = paymentOf(context)!
    const encoder = new TextEncoder()
    const start = async (controller: ReadableStreamDefaultController): Promise<void> => {
      await new Promise((resolve) => setImmediate(resolve))
      await useTooMuch(charge!, (piece) => controller.enqueue(encoder.encode(piece)))
    }
    return new Response(new ReadableStream({ start }))
  })
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  t.after(() => server.close())
  const other = `http://127.0.0.1:${(server.address() as AddressInfo).port}/model`
  const second = await authorizationFor(market, await fetch(other), { rounds: 900n })
  await assert.rejects(async () => (await repeated(other, second)).text(), 'not a clean end')
  await until(async () => (await market.dollars(seller)) === 500_000n)
})

test('a first charge above the maximum, before anything is sent, costs nothing', { timeout }, async (t) => {
  const handler: Handler = (_, response, payment) => {
    payment.charge!('$0.10')
    payment.charge!('$0.60')
    response.end('not sent')
  }
  const { url, received } = await openShop(market, t, handler, streamed)
  const header = await authorizationFor(market, await fetch(url), { rounds: 900n })
  assert.equal((await repeated(url, header)).status, 500)
  assert.equal(await received(), 0n)
})

const invalidHeaders = ['{"amount":"500001"}', '{"amount":"100.01%"}', '{"amount":"-1"}', '{"amount":5}', 'five']

test('a stream whose header sets an invalid charge is not sent', { timeout }, async (t) => {
  const outputs: Handler[] = [
    (_, response) => {
      response.write('a secret')
      response.end('a secret')
    },
    (_, response) => response.end('a secret'),
    (_, response) => {
      response.writeHead(200, { 'Content-Length': 8 }).end('a secret')
    },
    (_, response) => {
      response.flushHeaders()
      response.end('a secret')
    },
  ]
  for (const [index, output] of outputs.entries()) {
    for (const value of index === 0 ? invalidHeaders : invalidHeaders.slice(0, 1)) {
      const handler: Handler = (request, response, payment) => {
        response.setHeader('Settlement-Overrides', value)
        output(request, response, payment)
      }
      const { url, received } = await openShop(market, t, handler, streamed)
      const header = await authorizationFor(market, await fetch(url), { rounds: 900n })
      const refused = await repeated(url, header)
      const text = await refused.text()
      assert.deepEqual([refused.status, text.includes('secret')], [500, false], `${index} ${value}`)
      assert.match(text, /invalid charge/)
      assert.equal(await received(), 0n)
    }
  }
  const accepts: Accept = { price: { upTo: '$0.50', stream: true }, payTo: newSeller(market) }
  const gate = await market.gate({ routes: { '/model': { accepts } } })
  const app = new Hono()
    .use(honoGate(gate))
    .get('/model', (context) => context.body('a secret', 200, { 'Settlement-Overrides': invalidHeaders[0]! }))
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/model`
  const refused = await repeated(url, await authorizationFor(market, await fetch(url), { rounds: 900n }))
  assert.deepEqual([refused.status, (await refused.text()).includes('secret')], [500, false])
})

test('gateway: a client that stops reading for longer than the upstream may be silent is charged', {
  timeout,
}, async (t) => {
  const listen = async (listener: RequestListener): Promise<string> => {
    const server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const piece = Buffer.alloc(64 * 1024, 'x')
  const endless = function* () {
    for (;;) yield piece
  }
  const service = await listen((_, response) => void Readable.from(endless()).pipe(response))
  const seller = newSeller(market)
  const accepts: Accept = { price: { upTo: '$0.50', stream: true, whenUnset: 'maximum' }, payTo: seller }
  const gate = await market.gate({ routes: { '/model': { accepts } } })
  const upstream = new Upstream({ url: service, timeoutMs: 500 })
  t.after(() => upstream.close())
  const url = `${await listen(openGateway({ gate, upstream }).request as RequestListener)}/model`
  const header = await authorizationFor(market, await fetch(url), { rounds: 900n })
  const { port } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  t.after(() => socket.destroy())
  socket.on('error', () => {})
  socket.write(`GET /model HTTP/1.1\r\nHost: shop\r\nPAYMENT-SIGNATURE: ${header}\r\n\r\n`)
  await once(socket, 'data')
  socket.pause()
  await until(async () => (await market.dollars(seller)) === 500_000n)
})
