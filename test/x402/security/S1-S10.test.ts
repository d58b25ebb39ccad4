/** Attacks on a seller, by row of the list of published weaknesses. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { paymentGate } from '@latchkey/x402/express'
import { GateError } from '@latchkey/x402/server'
import express from 'express'
import { altered, headerJson, openMarket, type Payload, requiredOf } from '../support/market.test.helper.js'
import { rawRequest } from '../support/rawRequest.test.helper.js'
import { listen } from '../support/shops.test.helper.js'
import { cents, openStall, show } from '../support/stall.test.helper.js'

const market = await openMarket({ after })
const cent = 10_000n

// Published: the signature for one route opens every route with the same price. Ours: it opens one request in total.
test('S1 a payment is accepted for one request, on one route', async (t) => {
  const { url, runs } = await openStall(t, market, { routes: cents(market, 'GET /a', 'GET /b') })
  const honest = await market.payment(await fetch(`${url}/a`))
  assert.equal((await show(`${url}/b`, honest)).status, 402)
  const unbound = await market.payment(await fetch(`${url}/a`), (payload) => {
    delete payload.resource
  })
  assert.equal((await show(`${url}/b`, unbound)).status, 200)
  for (const path of ['/a', '/b'])
    assert.equal((await requiredOf(await show(`${url}${path}`, unbound))).error, 'payment_already_used')
  assert.equal(runs(), 1)
})

// Published: a quote or payment is compared by value only. Ours: a quote is valid for one resource.
test('S1 the quote of a cheaper route is rejected on another route', async (t) => {
  const { caip2: network } = market.chain
  const priced = (price: (request: Request) => string) => ({ accepts: { network, price, payTo: market.seller } })
  const { url } = await openStall(t, market, {
    routes: {
      'GET /cheap': priced(() => '$0.01'),
      'GET /dear': priced(() => '$0.90'),
      'GET /fixed': { accepts: { network, price: '$0.90', payTo: market.seller } },
      'GET /sized': priced((request) => (new URL(request.url).searchParams.get('size') === 'big' ? '$0.90' : '$0.01')),
      'GET /mine': priced((request) => (request.headers.has('authorization') ? '$0.01' : '$0.90')),
    },
  })
  const free = (payload: Payload): void => void delete payload.resource
  const cheap = await market.payment(await fetch(`${url}/cheap`), free)
  for (const path of ['/dear', '/fixed']) assert.equal((await show(`${url}${path}`, cheap)).status, 402, path)
  const small = await market.payment(await fetch(`${url}/sized?size=small`), free)
  assert.equal((await show(`${url}/sized?size=big`, small)).status, 402)
  const known = await market.payment(await fetch(`${url}/mine`, { headers: { Authorization: 'Bearer x' } }), free)
  assert.equal((await show(`${url}/mine`, known)).status, 402)
  assert.equal((await show(`${url}/cheap`, cheap)).status, 200)
})

// Published: sellers with one account accept each other's payments. Ours: a payment settled elsewhere is rejected.
test('S1 a payment settled by another server is rejected', async (t) => {
  const routes = cents(market, 'GET /a')
  const [one, other] = [await openStall(t, market, { routes }), await openStall(t, market, { routes })]
  const header = await market.payment(await fetch(`${one.url}/a`))
  assert.equal((await show(`${one.url}/a`, header)).status, 200)
  const refused = await show(`${other.url}/a`, header)
  assert.equal((await requiredOf(refused)).error, 'payment_already_used')
  assert.equal(other.runs(), 0)
})

// Published: three concurrent requests all got 200. Ours: the payment is claimed before the handler runs.
test('S2 one of ten concurrent requests with the same payment is served', async (t) => {
  const { url, runs } = await openStall(t, market, { routes: cents(market, 'GET /a') })
  const header = await market.payment(await fetch(`${url}/a`))
  const before = await market.dollars()
  const statuses = (await Promise.all(Array.from({ length: 10 }, () => show(`${url}/a`, header)))).map(
    (one) => one.status,
  )
  // The same buyer is asked to wait; after the first request was served, the payment is used up.
  assert.equal(statuses.filter((one) => one === 200).length, 1)
  assert.ok(
    statuses.every((one) => [200, 402, 503].includes(one)),
    statuses.join(),
  )
  assert.equal(runs(), 1)
  assert.equal((await market.dollars()) - before, cent)
  // Another spelling of the same transactions is the same payment.
  const respelled = Buffer.from(JSON.stringify(JSON.parse(Buffer.from(header, 'base64').toString()), null, 2))
  assert.equal((await show(`${url}/a`, respelled.toString('base64'))).status, 402)
})

// Published: a payment is accepted again once its record is gone. Ours: an expired payment is refused without a record.
test('S2 an old payment is rejected after its claim is removed', async (t) => {
  const { url, runs } = await openStall(t, market, { routes: cents(market, 'GET /a') })
  const header = await market.payment(await fetch(`${url}/a`))
  assert.equal((await show(`${url}/a`, header)).status, 200)
  market.devnet.mine(2_100)
  await new Promise((resolve) => setTimeout(resolve, 1_100))
  const other = await market.payment(await fetch(`${url}/a`))
  assert.equal((await show(`${url}/a`, other)).status, 200)
  assert.match((await requiredOf(await show(`${url}/a`, header))).error, /validity|already_used/)
  assert.equal(runs(), 2)
})

// Published: HEAD does not match a GET key and runs the handler unpaid. Ours: HEAD costs what GET costs.
test('S3 HEAD, OPTIONS and unknown methods do not run a GET handler unpaid', async (t) => {
  const { url, runs } = await openStall(t, market, { routes: cents(market, 'GET /a') })
  for (const method of ['HEAD', 'OPTIONS', 'PURGE']) {
    const { status } = await rawRequest(url, '/a', { method })
    assert.ok([402, 204, 405].includes(status), `${method}: ${status}`)
  }
  assert.equal(runs(), 0)
})

// Published: mounted under a prefix the middleware sees a shortened path and requires no payment. Ours: it sees the full path.
test('S4 under a prefix, keys with the full path and keys relative to the mount both require payment', async (t) => {
  for (const key of ['GET /api/a', 'GET /a']) {
    const app = express()
    app.use('/api', paymentGate(await market.gate({ routes: cents(market, key) })))
    app.get('/api/a', (_, response) => void response.send('goods'))
    const { url, close } = await listen(app)
    t.after(close)
    assert.equal((await fetch(`${url}/api/a`)).status, 402, key)
  }
  const rewritten = express()
  rewritten.use((request, _, next) => {
    request.url = request.url.replace('/pretty', '/a')
    next()
  })
  rewritten.use(paymentGate(await market.gate({ routes: cents(market, 'GET /a') })))
  rewritten.get('/a', (_, response) => void response.send('goods'))
  const { url, close } = await listen(rewritten)
  t.after(close)
  assert.equal((await fetch(`${url}/pretty`)).status, 402)
})

// Published: an exception in a guard is logged and the request passes. Ours: after any exception, nothing is served.
test('S5 a price, a payee or a store that throws results in 500, and the handler does not run', async (t) => {
  const broken = (): never => {
    throw new Error('out of order')
  }
  const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
  const reported: unknown[] = []
  const { url, runs } = await openStall(t, market, {
    routes: {
      'GET /price': { accepts: { ...accepts, price: broken } },
      'GET /payee': { accepts: { ...accepts, payTo: broken } },
    },
    onError: (error) => reported.push(error),
  })
  for (const path of ['/price', '/payee']) {
    const response = await fetch(`${url}${path}`)
    assert.equal(response.status, 500)
    assert.ok(!(await response.text()).includes('out of order'))
  }
  assert.equal(reported.length, 2)
  const claims = { id: 'x', has: () => false, claim: broken, hold: broken, finish: broken, close: () => {} }
  const stall = await openStall(t, market, { routes: cents(market, 'GET /a'), claims })
  const response = await show(`${stall.url}/a`, await market.payment(await fetch(`${stall.url}/a`)))
  assert.equal(response.status, 500)
  assert.equal(runs() + stall.runs(), 0)
})

// Published: Express sends the handler's headers with the 402. Ours: everything the handler set is removed.
test('S6 a failed settlement sends no header, cookie, hint, trailer or body of the handler', async (t) => {
  const facilitators = altered(market.local, {
    settle: async (_, { network }) => ({ success: false, errorReason: 'no', transaction: '', network }),
  })
  const app = express()
  app.use((_, response, next) => {
    response.setHeader('X-Outer', 'stays')
    next()
  })
  app.use(paymentGate(await market.gate({ routes: cents(market, 'GET /a'), facilitators })))
  app.get('/a', (_, response) => {
    response.writeEarlyHints({ link: '</sesame.css>; rel=preload' })
    response.cookie('session', 'sesame').set('Location', '/sesame').set('Trailer', 'X-Sum')
    response.statusMessage = 'sesame'
    response.flushHeaders()
    response.write('sesame')
    response.addTrailers({ 'X-Sum': 'sesame' })
    response.end('sesame')
  })
  const { url, close } = await listen(app)
  t.after(close)
  const header = await market.payment(await fetch(`${url}/a`))
  const raw = await rawRequest(url, '/a', { headers: { 'PAYMENT-SIGNATURE': header } })
  assert.equal(raw.status, 402)
  assert.ok(!`${raw.head}${raw.body}`.includes('sesame'), raw.head)
  assert.match(raw.head, /x-outer: stays/i)
})

// Published: buffered without a limit, and forever if the client disconnects. Ours: a limit, and streaming if upfront.
test('S7 an endless response ends at the limit and is not charged', async (t) => {
  const { url } = await openStall(t, market, { routes: cents(market, 'GET /a') }, (_, response) => {
    const chunk = Buffer.alloc(1024 * 1024)
    const timer = setInterval(() => response.write(chunk), 1)
    response.on('close', () => clearInterval(timer))
  })
  const before = await market.dollars()
  const response = await show(`${url}/a`, await market.payment(await fetch(`${url}/a`)))
  assert.equal(response.status, 500)
  assert.equal(await market.dollars(), before)
})

// Published: an empty transaction id, so that the client pays again. Ours: the id, 503, and the same payment is accepted.
test('S8 a lost settlement returns 503 with the transaction id, and a retry with the same payment is served once', async (t) => {
  let isLost = true
  const facilitators = altered(market.local, {
    settle: async (payload, requirements, ...rest) => {
      const settled = await market.local.settle(payload, requirements, ...rest)
      if (isLost) throw new Error('the connection broke')
      return settled
    },
  })
  const { url } = await openStall(t, market, { routes: cents(market, 'GET /a'), facilitators })
  const header = await market.payment(await fetch(`${url}/a`))
  const before = await market.dollars()
  const lost = await show(`${url}/a`, header)
  assert.equal(lost.status, 503)
  const receipt = headerJson(lost, 'payment-response')
  assert.equal(receipt['errorReason'], 'settlement_pending')
  assert.match(String(receipt['transaction']), /^[A-Z2-7]{52}$/)
  isLost = false
  const statuses = [await show(`${url}/a`, header), await show(`${url}/a`, header)].map(({ status }) => status)
  assert.deepEqual(statuses, [200, 402])
  assert.equal((await market.dollars()) - before, cent)
})

// Published: a price below the smallest unit becomes 0 and is served. Ours: it is an error at the start.
test('S9 a price of zero, or below the smallest unit, is an error at the start', async () => {
  for (const price of ['$0.0000001', '$0', 0, { asset: '31566704', amount: '0' }]) {
    const accepts = { network: market.chain.caip2, price, payTo: market.seller }
    await assert.rejects(market.gate({ routes: { 'GET /a': { accepts } } }), GateError, JSON.stringify(price))
  }
})

// Published: version 1 is matched by scheme and network only. Ours: only version 2 is accepted.
test('S10 a payment of version 1 is rejected', async (t) => {
  const { url, runs } = await openStall(t, market, { routes: cents(market, 'GET /a') })
  const old = await market.payment(await fetch(`${url}/a`), (payload) => {
    payload['x402Version'] = 1
    payload['scheme'] = 'exact'
    payload['network'] = market.chain.caip2
    payload.accepted['amount'] = '1'
  })
  assert.equal((await requiredOf(await show(`${url}/a`, old))).error, 'invalid_payload')
  assert.equal((await fetch(`${url}/a`, { headers: { 'X-PAYMENT': old } })).status, 402)
  assert.equal(runs(), 0)
})
