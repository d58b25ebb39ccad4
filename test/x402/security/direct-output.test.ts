/**
 * A handler that bypasses its response, or fails after it, leaves nothing unpaid and charges nothing without an answer.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { createServer, IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { after, test } from 'node:test'
import { type HttpBindings, serve } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { payingFetch } from '@latchkey/x402/client'
import { paymentGate as expressGate } from '@latchkey/x402/express'
import { paymentGate as honoGate } from '@latchkey/x402/hono'
import { paymentGate as nodeGate } from '@latchkey/x402/node'
import type { GateOptions } from '@latchkey/x402/server'
import express from 'express'
import { Hono } from 'hono'
import { WebSocketServer } from 'ws'
import { openMarket } from '../support/market.test.helper.js'
import { listen } from '../support/shops.test.helper.js'
import { cents } from '../support/stall.test.helper.js'

const market = await openMarket({ after })
const cent = 10_000n
const goods = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\ngoods'

async function buy(url: string) {
  const before = await market.dollars()
  const response = await payingFetch(market.buyer)(url)
  const text = await response.text()
  return { status: response.status, text, charged: (await market.dollars()) - before }
}

const around: { [name: string]: (request: IncomingMessage, response: ServerResponse) => void } = {
  'write of the socket of the request': ({ socket }) => void socket.write(goods),
  'end of the socket of the response': (_, response) => void response.socket!.end(goods),
  'write of the client of the request': (request) =>
    void (request as unknown as { client: IncomingMessage['socket'] }).client.write(goods),
  'write of the connection of the request': ({ connection }) => void connection.write(goods),
  'end of the connection of the response': (_, response) => void response.connection!.end(goods),
  'write of the client of the request of the response': (_, response) =>
    void (response.req as unknown as { client: IncomingMessage['socket'] }).client.write(goods),
  'a pipe into the socket': ({ socket }) => void Readable.from([goods]).pipe(socket),
  'a chain of calls on the socket': ({ socket }) => void socket.setNoDelay(true).write(goods),
  'destroy of the socket': ({ socket }) => void socket.destroy(),
  'destroy of the response': (_, response) => void response.destroy(),
  'destroy of the request': (request) => void request.destroy(),
  'a WebSocket on a request that is no upgrade': (request) =>
    new WebSocketServer({ noServer: true }).handleUpgrade(request, request.socket, Buffer.alloc(0), (socket) =>
      socket.send('goods'),
    ),
}

for (const [name, handler] of Object.entries(around)) {
  test(`M output that bypasses the response is refused and not charged: ${name}`, { timeout: 60_000 }, async (t) => {
    const gate = await market.gate({ routes: cents(market, 'GET /paid') })
    const { url, close } = await listen(nodeGate(gate, handler, { onError: () => {} }))
    t.after(close)
    const { status, text, charged } = await buy(`${url}/paid`)
    assert.deepEqual([status, charged], [500, 0n])
    assert.match(text, /nothing was charged/)
  })
}

test('M the older name of writeHead, hints and corking do not bypass the gate', async (t) => {
  const gate = await market.gate({ routes: cents(market, 'GET /paid') })
  const listener = nodeGate(gate, (_: IncomingMessage, response: ServerResponse) => {
    const { writeHeader } = response as unknown as { writeHeader: (status: number, headers: object) => void }
    response.cork()
    response.writeProcessing()
    response.writeEarlyHints({ link: '</secret.css>; rel=preload' })
    writeHeader.call(response, 201, { 'X-Own': '1' })
    response.uncork()
    response.end('goods')
  })
  const { url, close } = await listen(listener)
  t.after(close)
  assert.deepEqual(await buy(`${url}/paid`), { status: 201, text: 'goods', charged: cent })
})

const direct: { [name: string]: (outgoing: ServerResponse) => Response } = {
  'and says that it is sent': (outgoing) => {
    outgoing.writeHead(200)
    outgoing.end('goods')
    return RESPONSE_ALREADY_SENT
  },
  'and responds as well': (outgoing) => {
    outgoing.write('goods')
    return new Response('more goods')
  },
  'in early hints': (outgoing) => {
    outgoing.writeEarlyHints({ link: '</secret.css>; rel=preload' })
    outgoing.socket!.write(goods)
    return new Response('more goods')
  },
}

for (const [name, handler] of Object.entries(direct)) {
  test(`M Hono: a handler that writes to Node's response ${name} is refused and not charged`, async (t) => {
    const gate = await market.gate({ routes: cents(market, 'GET /paid') })
    const app = new Hono<{ Bindings: HttpBindings }>()
    app.use(honoGate(gate))
    app.get('/paid', (context) => handler(context.env.outgoing))
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as ReturnType<typeof createServer>
    if (!server.listening) await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    const { status, text, charged } = await buy(`http://127.0.0.1:${(server.address() as AddressInfo).port}/paid`)
    assert.deepEqual([status, charged], [500, 0n])
    assert.match(text, /nothing was charged/)
  })
}

test('M Express: a large response arrives and is charged even if its handler throws afterwards', async (t) => {
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const size = 6 * 1024 * 1024
  const flows: GateOptions['routes'][] = [
    { 'GET /paid': { accepts } },
    { 'GET /paid': { accepts: { ...accepts, paymentFlow: 'upfront' } } },
  ]
  for (const routes of flows) {
    const app = express()
    app.set('env', 'test')
    app.use(expressGate(await market.gate({ routes })))
    app.get('/paid', (_, response) => {
      response.send('x'.repeat(size))
      throw new Error('the handler is broken after its response')
    })
    const { url, close } = await listen(app)
    t.after(close)
    const { status, text, charged } = await buy(`${url}/paid`)
    assert.deepEqual([status, text.length, charged], [200, size, cent])
  }
})
