/**
 * HTTP/2 gives a handler more output channels than its response. Nothing leaves through any of them before it is paid
 * for.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { payingFetch, receiptOf } from '@latchkey/x402/client'
import { paymentGate as fastifyGate } from '@latchkey/x402/fastify'
import { paymentGate as honoGate } from '@latchkey/x402/hono'
import { paymentGate } from '@latchkey/x402/node'
import type { Gate } from '@latchkey/x402/server'
import fastify from 'fastify'
import { Hono } from 'hono'
import { type Http2Extras, http2Fetch, listenHttp2 } from '../support/http2.test.helper.js'
import { altered, openMarket, until } from '../support/market.test.helper.js'
import type { Shop } from '../support/shops.test.helper.js'
import { cents } from '../support/stall.test.helper.js'

const market = await openMarket({ after })
const cent = 10_000n
type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => unknown

let purchases = 0

/** Buys from a handler, and returns what arrived through which channel. */
async function buy(handler: Handler, { settles = true, method = 'GET' } = {}) {
  const facilitators = altered(market.local, {
    settle: async (payload, requirements, options) =>
      settles
        ? market.local.settle(payload, requirements, options)
        : { success: false, errorReason: 'insufficient_funds', transaction: '', network: requirements.network },
  })
  const gate = await market.gate({ routes: cents(market, 'GET /paid'), facilitators })
  const gated = paymentGate(gate, handler, { onError: () => {} })
  const shop = await listenHttp2(gated)
  const extras: Http2Extras = { pushes: [], interim: [] }
  const before = await market.dollars()
  try {
    const pay = payingFetch(market.buyer, { fetch: http2Fetch(extras) })
    // Unique, because a later shop can get the port of an earlier one, and the buyer repeats an open payment.
    const response = await pay(`${shop.url}/paid?purchase=${++purchases}`, { method })
    const text = await response.text()
    const charged = (await market.dollars()) - before
    return { status: response.status, headers: response.headers, text, receipt: receiptOf(response), charged, extras }
  } finally {
    await shop.close()
  }
}

const ways: { [name: string]: Handler } = {
  'end(body)': (_, response) => response.end('goods'),
  'write and end': (_, response) => {
    response.write('go')
    response.write('od')
    response.end('s')
  },
  'writeHead and end(body)': (_, response) => response.writeHead(200, { 'x-own': '1' }).end('goods'),
  'end later': (_, response) => void setImmediate(() => response.end('goods')),
  'end and a callback': (_, response) => new Promise<void>((resolve) => response.end('goods', () => resolve())),
  'a message of HTTP/1.1': (_, response) => response.writeHead(200, 'Fine', { 'x-own': '1' }).end('goods'),
}

for (const [name, handler] of Object.entries(ways)) {
  test(`A2 the body arrives over HTTP/2, and is charged once: ${name}`, async () => {
    const { status, text, receipt, charged } = await buy(handler)
    assert.deepEqual([status, text, receipt?.success, charged], [200, 'goods', true, cent])
  })

  test(`A2 no part of it leaves over HTTP/2 if the settlement fails: ${name}`, async () => {
    const { status, headers, text, charged } = await buy(handler, { settles: false })
    assert.deepEqual([status, text.includes('goods'), headers.get('x-own'), charged], [402, false, null, 0n])
  })
}

test('A2 a response without a body has its receipt, also if it is settled first', async () => {
  for (const status of [200, 204]) {
    const { headers, receipt, charged } = await buy((_, response) => {
      response.statusCode = status
      response.end()
    })
    assert.deepEqual([receipt?.success, headers.get('cache-control'), charged], [true, 'private', cent])
  }
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller, paymentFlow: 'upfront' as const }
  const gate = await market.gate({ routes: { 'GET /paid': { accepts } } })
  const shop = await listenHttp2(
    paymentGate(gate, (_: Http2ServerRequest, response: Http2ServerResponse) => response.end()),
  )
  const pay = payingFetch(market.buyer, { fetch: http2Fetch() })
  const response = await pay(`${shop.url}/paid`)
  await shop.close()
  assert.equal(receiptOf(response)?.success, true)
})

test('A2 trailers, HEAD and a lower-case method work as with HTTP/1.1', async () => {
  const head = await buy((_, response) => response.end('goods'), { method: 'HEAD' })
  assert.deepEqual([head.status, head.text, head.charged], [200, '', cent])
  const trailed = await buy((_, response) => {
    response.addTrailers({ 'x-sum': '7' })
    response.end('goods')
  })
  assert.deepEqual([trailed.status, trailed.text, trailed.charged], [200, 'goods', cent])
})

const pushed: { [name: string]: (request: Http2ServerRequest, response: Http2ServerResponse) => void } = {
  'createPushResponse of the response': (_, response) =>
    response.createPushResponse({ ':path': '/secret' }, (error, push) => {
      if (error === null || error === undefined) push.end('goods')
    }),
  'pushStream of the response': (_, response) =>
    response.stream.pushStream({ ':path': '/secret' }, (error, push) => {
      if (error) return
      push.respond({ ':status': 200 })
      push.end('goods')
    }),
  'pushStream of the request': (request) =>
    (request.stream as Http2ServerResponse['stream']).pushStream({ ':path': '/secret' }, {}, (error, push) => {
      if (error) return
      push.respond({ ':status': 200 })
      push.end('goods')
    }),
  'early hints': (_, response) => response.writeEarlyHints({ link: '</secret.css>; rel=preload' }),
  'informational headers': (_, response) => response.stream.additionalHeaders({ ':status': 103, 'x-secret': 'goods' }),
}

for (const [name, push] of Object.entries(pushed)) {
  test(`A2 nothing is pushed or hinted before it is paid for: ${name}`, async () => {
    for (const settles of [true, false]) {
      const { status, extras, charged } = await buy(
        (request, response) => {
          push(request, response)
          setImmediate(() => response.end('goods'))
        },
        { settles },
      )
      assert.deepEqual([status, charged], settles ? [200, cent] : [402, 0n])
      assert.deepEqual(extras, { pushes: [], interim: [] })
    }
  })
}

const around: { [name: string]: Handler } = {
  'respond of the stream': (_, response) => {
    response.stream.respond({ ':status': 200 })
    response.stream.end('goods')
  },
  'respond of the stream of the request': (request) => {
    const stream = request.stream as Http2ServerResponse['stream']
    stream.respond({ ':status': 200 })
    stream.end('goods')
  },
  'a chain of calls on the stream': (_, response) => {
    response.stream.on('aborted', () => {}).end('goods')
  },
  'respondWithFile of the stream': (_, response) => response.stream.respondWithFile(fileURLToPath(import.meta.url)),
  'destroy of the response': (_, response) => (response as unknown as { destroy: () => void }).destroy(),
  'destroy of the socket': (request) => request.socket.destroy(),
  'close of the stream': (_, response) => response.stream.close(),
}

for (const [name, handler] of Object.entries(around)) {
  test(`A2 output that cannot be buffered is refused and not charged: ${name}`, async () => {
    const { status, text, charged } = await buy(handler)
    assert.deepEqual([status, charged], [500, 0n])
    assert.match(text, /nothing was charged/)
  })
}

type Served = (gate: Gate, goods: () => Promise<string>) => Promise<Shop>
const slow: { [name: string]: Served } = {
  'node:http2': (gate, goods) =>
    listenHttp2(
      paymentGate(gate, async (_: Http2ServerRequest, response: Http2ServerResponse) => {
        response.end(await goods())
      }),
    ),
  Fastify: async (gate, goods) => {
    const app = fastify({ http2: true })
    fastifyGate(app, gate)
    app.get('/paid', goods)
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), close: () => app.close() }
  },
  Hono: async (gate, goods) => {
    const app = new Hono().use(honoGate(gate)).get('/paid', async (context) => context.text(await goods()))
    return listenHttp2(getRequestListener(app.fetch) as never)
  },
}

for (const [name, open] of Object.entries(slow)) {
  test(`A2 ${name}: a stream that is reset while the handler runs is settled, and the next one gets its answer`, async (t) => {
    let runs = 0
    let goOn = (): void => {}
    const waits = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const gate = await market.gate({ routes: cents(market, 'GET /paid') })
    const shop = await open(gate, async () => {
      runs++
      await waits
      return 'goods'
    })
    t.after(() => shop.close())
    const ask = http2Fetch()
    const header = await market.payment(await ask(`${shop.url}/paid`))
    const before = await market.dollars()
    const headers = { 'payment-signature': header }
    const session = connect(shop.url)
    const stream = session.request({ ':path': '/paid', ...headers })
    stream.on('error', () => {})
    await until(() => runs === 1)
    stream.close(constants.NGHTTP2_CANCEL)
    await once(stream, 'close')
    session.destroy()
    goOn()
    await until(async () => (await market.dollars()) - before === cent)
    let again = await ask(`${shop.url}/paid`, { headers })
    await until(async () => {
      if (again.status === 503) again = await ask(`${shop.url}/paid`, { headers })
      return again.status !== 503
    })
    assert.deepEqual([again.status, await again.text(), runs], [200, 'goods', 1])
    assert.equal((await market.dollars()) - before, cent)
  })
}

test('A2 a response shorter than its Content-Length is not charged', async () => {
  const { status, charged } = await buy((_, response) => {
    response.setHeader('content-length', '100')
    response.end('goods')
  })
  assert.deepEqual([status, charged], [500, 0n])
})
