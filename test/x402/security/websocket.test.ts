/**
 * A WebSocket on a paid route is settled before its handler runs, and one payment opens one socket, with every
 * WebSocket package.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, createServer as createHttp2Server, type Http2ServerResponse } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import fastifyWebsocket from '@fastify/websocket'
import { serve, upgradeWebSocket } from '@hono/node-server'
import { createNodeWebSocket } from '@hono/node-ws'
import { paymentGate as expressGate } from '@latchkey/x402/express'
import { paymentGate as fastifyGate } from '@latchkey/x402/fastify'
import { paymentGate as honoGate } from '@latchkey/x402/hono'
import { paymentGate as nodeGate, upgradeGate } from '@latchkey/x402/node'
import type { Gate } from '@latchkey/x402/server'
import express from 'express'
import expressWs from 'express-ws'
import fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import { WebSocket, WebSocketServer } from 'ws'
import { altered, openMarket } from '../support/market.test.helper.js'
import { cents } from '../support/stall.test.helper.js'

const market = await openMarket({ after })
const cent = 10_000n
const onError = (): void => {}

/** `url` is the address of the socket without its protocol. */
type Shop = { url: string; close: () => unknown }
type Opened = () => void

async function started(server: ReturnType<typeof createServer>, path = '/socket'): Promise<Shop> {
  if (!server.listening) server.listen(0, '127.0.0.1')
  if (!server.listening) await once(server, 'listening')
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  return { url: `127.0.0.1:${(server.address() as AddressInfo).port}${path}`, close }
}

/** Sends the goods on opening, and echoes messages. */
function honoEvents(opened: () => void) {
  type Socket = { send: (text: string) => void }
  return {
    onOpen: (_: unknown, socket: Socket) => {
      opened()
      socket.send('goods')
    },
    onMessage: ({ data }: { data: unknown }, socket: Socket) => socket.send(String(data)),
  }
}

/** Each sends `goods` on a new socket, and then echoes messages. */
const shops: { [name: string]: (gate: Gate, opened: Opened) => Promise<Shop> } = {
  '@fastify/websocket': async (gate, opened) => {
    const app = fastify({ forceCloseConnections: true })
    await app.register(fastifyWebsocket)
    fastifyGate(app, gate, { onError })
    app.get('/socket', { websocket: true }, (socket) => {
      opened()
      socket.on('message', (text) => socket.send(text.toString()))
      socket.send('goods')
    })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { url: `${url.replace('http://', '')}/socket`, close: () => app.close() }
  },
  '@fastify/websocket with a prefix': async (gate, opened) => {
    const app = fastify({ forceCloseConnections: true })
    await app.register(fastifyWebsocket)
    const add = async (plugin: FastifyInstance): Promise<void> => {
      fastifyGate(plugin, gate, { onError })
      plugin.get('/socket', { websocket: true }, (socket) => {
        opened()
        socket.on('message', (text) => socket.send(text.toString()))
        socket.send('goods')
      })
    }
    await app.register(add, { prefix: '/api' })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    return { url: `${url.replace('http://', '')}/api/socket`, close: () => app.close() }
  },
  'express-ws': async (gate, opened) => {
    const { app } = expressWs(express())
    app.use(expressGate(gate, { onError }))
    app.ws('/socket', (socket) => {
      opened()
      socket.on('message', (text) => socket.send(text.toString()))
      socket.send('goods')
    })
    const server = app.listen(0, '127.0.0.1')
    return started(server as never)
  },
  'express-ws in a router': async (gate, opened) => {
    const { app, applyTo } = expressWs(express())
    const router = express.Router() as ReturnType<typeof express.Router> & { ws: typeof app.ws }
    applyTo(router)
    router.use(expressGate(gate, { onError }))
    router.ws('/socket', (socket) => {
      opened()
      socket.on('message', (text) => socket.send(text.toString()))
      socket.send('goods')
    })
    app.use('/api', router)
    const server = app.listen(0, '127.0.0.1')
    return started(server as never, '/api/socket')
  },
  '@hono/node-ws': async (gate, opened) => {
    const app = new Hono().use(honoGate(gate))
    const { injectWebSocket, upgradeWebSocket: upgrade } = createNodeWebSocket({ app })
    app.get(
      '/socket',
      upgrade(() => honoEvents(opened)),
    )
    const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
    injectWebSocket(server)
    return started(server as never)
  },
  '@hono/node-server': async (gate, opened) => {
    const app = new Hono().use(honoGate(gate))
    app.get(
      '/socket',
      upgradeWebSocket(() => honoEvents(opened)),
    )
    const websocket = { server: new WebSocketServer({ noServer: true }) as never }
    return started(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1', websocket }) as never)
  },
  'ws with upgradeGate': async (gate, opened) => {
    const sockets = new WebSocketServer({ noServer: true })
    const server = createServer((_, response) => void response.end('no socket'))
    const listener = upgradeGate(
      gate,
      (request, socket, head) =>
        sockets.handleUpgrade(request, socket, head, (webSocket) => {
          opened()
          webSocket.on('message', (text) => webSocket.send(text.toString()))
          webSocket.send('goods')
        }),
      { onError },
    )
    server.on('upgrade', listener)
    return started(server)
  },
}

/** Returns the outcome of a connection: its messages until it ends or has echoed. */
async function connected(url: string, header?: string) {
  const headers = header === undefined ? {} : { 'PAYMENT-SIGNATURE': header }
  const socket = new WebSocket(`ws://${url}`, { headers, handshakeTimeout: 20_000 })
  const messages: string[] = []
  let code = 0
  let refusal: { status?: number; headers?: { [name: string]: unknown } } = {}
  await new Promise<void>((resolve) => {
    // Sent immediately: the message must not be lost while the payment is settled.
    socket.on('open', () => socket.send('echo'))
    socket.on('message', (text) => {
      messages.push(text.toString())
      if (messages.includes('echo')) socket.close()
    })
    socket.on('unexpected-response', (_, response) => {
      refusal = { status: response.statusCode!, headers: response.headers }
      response.resume()
      socket.terminate()
    })
    socket.on('close', (closeCode) => {
      code = closeCode
      resolve()
    })
    socket.on('error', () => {})
  })
  return { messages, code, ...refusal }
}

/** Makes a payment for the socket from the 402 of a plain GET of its path. */
async function payment(shop: Shop): Promise<string> {
  return market.payment(await fetch(`http://${shop.url}`))
}

for (const [name, open] of Object.entries(shops)) {
  const build = async (t: { after: (work: () => unknown) => void }, settles = true) => {
    let opened = 0
    const facilitators = altered(market.local, {
      settle: async (payload, requirements, options) =>
        settles
          ? market.local.settle(payload, requirements, options)
          : { success: false, errorReason: 'insufficient_funds', transaction: '', network: requirements.network },
    })
    const gate = await market.gate({ routes: cents(market, 'GET /socket'), facilitators })
    const shop = await open(gate, () => {
      opened++
    })
    t.after(() => shop.close())
    return { shop, opened: () => opened }
  }
  // Here the gate handles only the upgrade event.
  const plain = name === 'ws with upgradeGate' ? undefined : payment

  test(`A3 ${name}: an unpaid socket gets no message, and its handler does not run`, async (t) => {
    const { shop, opened } = await build(t)
    const { messages, code, status, headers } = await connected(shop.url)
    assert.deepEqual([messages, opened()], [[], 0])
    if (name.startsWith('express-ws')) assert.equal(code, 4402)
    else assert.equal(status, 402)
    if (name === 'ws with upgradeGate' || name.startsWith('@fastify')) assert.ok(headers?.['payment-required'])
    if (plain === undefined) return
    for (const header of ['e30=', 'junk']) assert.deepEqual((await connected(shop.url, header)).messages, [])
    assert.equal(opened(), 0)
  })

  test(`A3 ${name}: one payment is charged once, and opens one socket`, async (t) => {
    const { shop, opened } = await build(t)
    const header = plain === undefined ? await paymentByUpgrade(shop) : await plain(shop)
    const before = await market.dollars()
    const first = await connected(shop.url, header)
    assert.deepEqual([first.messages, opened()], [['goods', 'echo'], 1])
    assert.equal((await market.dollars()) - before, cent)
    for (const again of await Promise.all([1, 2, 3].map(() => connected(shop.url, header)))) {
      assert.deepEqual(again.messages, [])
    }
    assert.equal(opened(), 1)
    assert.equal((await market.dollars()) - before, cent)
  })

  test(`A3 ${name}: several concurrent sockets with one payment are one`, async (t) => {
    const { shop, opened } = await build(t)
    const header = plain === undefined ? await paymentByUpgrade(shop) : await plain(shop)
    const before = await market.dollars()
    const all = await Promise.all([1, 2, 3, 4].map(() => connected(shop.url, header)))
    assert.equal(all.filter(({ messages }) => messages.length > 0).length, 1)
    assert.deepEqual([opened(), (await market.dollars()) - before], [1, cent])
  })

  test(`A3 ${name}: a socket whose settlement fails does not open`, async (t) => {
    const { shop, opened } = await build(t, false)
    const header = plain === undefined ? await paymentByUpgrade(shop) : await plain(shop)
    const { messages } = await connected(shop.url, header)
    assert.deepEqual([messages, opened()], [[], 0])
  })
}

/** Makes a payment from the price in the 402 of an upgrade. */
async function paymentByUpgrade(shop: Shop): Promise<string> {
  const { headers } = await connected(shop.url)
  return market.payment(
    new Response(null, { status: 402, headers: { 'PAYMENT-REQUIRED': String(headers!['payment-required']) } }),
  )
}

test('A3 a client that leaves during the check, or breaks its connection, does not harm the server', async (t) => {
  let opened = 0
  const gate = await market.gate({ routes: cents(market, 'GET /socket') })
  const shop = await shops['ws with upgradeGate']!(gate, () => {
    opened++
  })
  t.after(() => shop.close())
  const { hostname: host, port } = new URL(`http://${shop.url}`)
  const { connect: connectTcp } = await import('node:net')
  for (const end of ['destroy', 'resetAndDestroy'] as const) {
    const socket = connectTcp(Number(port), host)
    await once(socket, 'connect')
    socket.write('GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', () =>
      socket[end](),
    )
    await once(socket, 'close')
  }
  assert.equal((await connected(shop.url)).status, 402)
  assert.equal(opened, 0)
})

test('A3 a WebSocket over HTTP/2 (extended CONNECT) is settled first', async (t) => {
  let opened = 0
  const gate = await market.gate({ routes: cents(market, 'GET /socket') })
  const gated = nodeGate(gate, ((_: unknown, response: Http2ServerResponse) => {
    opened++
    response.stream.respond({ ':status': 200 })
    response.stream.end('goods')
  }) as never)
  const server = createHttp2Server({ settings: { enableConnectProtocol: true } }, gated as never)
  server.on('connect', gated as never)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.after(() => session.destroy())
  await once(session, 'remoteSettings')
  const ask = async (headers: { [name: string]: string }) => {
    const stream = session.request({ ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/socket', ...headers })
    const [answer] = await once(stream, 'response')
    let text = ''
    for await (const chunk of stream.setEncoding('utf8')) text += chunk
    return { status: answer[':status'], required: String(answer['payment-required'] ?? ''), text }
  }
  const unpaid = await ask({})
  assert.deepEqual([unpaid.status, opened], [402, 0])
  const header = await market.payment(new Response(null, { headers: { 'PAYMENT-REQUIRED': unpaid.required } }))
  const before = await market.dollars()
  const paid = await ask({ 'payment-signature': header })
  assert.deepEqual([paid.status, paid.text, opened, (await market.dollars()) - before], [200, 'goods', 1, cent])
  assert.equal((await ask({ 'payment-signature': header })).status, 402)
  assert.equal(opened, 1)
})

test('A3 upgradeGate: a listener that fails before it accepts a connection leaves the payment valid for another', {
  timeout: 60_000,
}, async (t) => {
  const gate = await market.gate({ routes: cents(market, 'GET /socket') })
  const sockets = new WebSocketServer({ noServer: true })
  let runs = 0
  const listener = async (request: never, socket: never, head: never): Promise<void> => {
    if (++runs === 1) throw new Error('no database')
    sockets.handleUpgrade(request, socket, head, (own) => own.send('goods'))
  }
  const server = createServer(nodeGate(gate, (_, response) => response.end('plain')))
  server.on('upgrade', upgradeGate(gate, listener as never, { onError }))
  const { url, close } = await started(server)
  t.after(close)
  const header = await market.payment(await fetch(`http://${url}`))
  const before = await market.dollars()
  const connected = async (): Promise<string> => {
    const socket = new WebSocket(`ws://${url}`, { headers: { 'PAYMENT-SIGNATURE': header } })
    const said = await new Promise<string>((resolve) => {
      socket.on('message', (text) => resolve(text.toString())).on('error', ({ message }) => resolve(message))
    })
    socket.terminate()
    return said
  }
  assert.notEqual(await connected(), 'goods')
  assert.equal(await connected(), 'goods')
  assert.match(await connected(), /402/)
  assert.deepEqual([runs, (await market.dollars()) - before], [2, cent])
})
