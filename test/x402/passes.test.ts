/**
 * Tests passes, which let one payment open several requests: over HTTP, in every web framework, with our buyer and a
 * published one.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, test } from 'node:test'
import {
  MemoryPassCache,
  type PassCache,
  passOf,
  payingFetch,
  paymentOf,
  receiptOf,
  type StoredPass,
} from '@latchkey/x402/client'
import { paymentGate, upgradeGate } from '@latchkey/x402/node'
import { type Payment, paymentOf as paymentOfRequest, type Route } from '@latchkey/x402/server'
import { WebSocket, WebSocketServer } from 'ws'
import { openShopper } from './security/support/sellers.test.helper.js'
import { openMarket, requiredOf } from './support/market.test.helper.js'
import { adapters, listen, routesFor, Stock } from './support/shops.test.helper.js'

const market = await openMarket({ after })
const cent = 10_000n
const secret = 'a secret of at least 32 bytes, as from a generator'

function withPasses(routes: { [key: string]: Route }, passes: NonNullable<Route['passes']>): { [key: string]: Route } {
  return Object.fromEntries(Object.entries(routes).map(([key, route]) => [key, { ...route, passes }]))
}

for (const { name, prefix, open } of adapters) {
  test(name, async (t) => {
    const stock = new Stock()
    const routes = withPasses(routesFor(prefix, market.chain.caip2, market.seller), { requests: 3 })
    const gate = await market.gate({ routes, passes: { secret }, cors: true, onWarning: () => {} })
    const shop = await open(gate, stock)
    after(() => shop.close())
    const at = (path: string): string => `${shop.url}${prefix}${path}`
    const newShopper = () => {
      const cache = new MemoryPassCache()
      const pay = payingFetch(market.newBuyer(), { passes: cache })
      const buy = async (path: string, init: RequestInit = {}) => {
        const before = await market.dollars()
        const response = await pay(at(path), init)
        const text = await response.text()
        return { response, text, charged: (await market.dollars()) - before }
      }
      return { cache, buy }
    }

    await t.test('a payment opens as many requests as were sold, and the next one requires payment', async () => {
      const { buy } = newShopper()
      const charges: bigint[] = []
      const left: (number | undefined)[] = []
      for (let times = 0; times < 5; times++) {
        const { response, text, charged } = await buy('/weather')
        assert.deepEqual([response.status, text], [200, '{"weather":"sunny"}'])
        // The handler's cookies are there, also if a pass opened the request.
        assert.deepEqual(response.headers.getSetCookie(), ['session=1', 'theme=dark'])
        assert.match(response.headers.get('cache-control')!, /^private/)
        assert.match(response.headers.get('vary')!, /PAYMENT-PASS, Cookie/)
        assert.equal(receiptOf(response) !== undefined, charged === cent)
        assert.equal(paymentOf(response) !== undefined, charged === cent)
        charges.push(charged)
        left.push(passOf(response)?.requestsLeft)
      }
      assert.deepEqual(charges, [cent, 0n, 0n, cent, 0n])
      assert.deepEqual(left, [2, 1, 0, 2, 1])
    })

    await t.test('an error does not use up a request', async () => {
      const { cache, buy } = newShopper()
      await buy('/items/1')
      const [pass] = cache.all(shop.url)
      const shown = { headers: { 'PAYMENT-PASS': `${pass!.pass}.${pass!.secret}` } }
      assert.equal((await fetch(at('/items/1'), shown)).status, 200)
      // Handlers that fail in each way, for a pass of their route.
      for (const path of ['/error', '/throw', '/missing']) {
        const bought = await failingPass(at(path), stock, path.slice(1))
        for (let times = 0; times < 4; times++) {
          const response = await fetch(at(path), { headers: { 'PAYMENT-PASS': bought } })
          await response.text()
          assert.ok(response.status === 404 || response.status >= 500, `${path}: ${response.status}`)
        }
      }
    })

    await t.test('a pass for a pattern opens each of its paths, at the price that the seller names', async () => {
      const { buy } = newShopper()
      assert.deepEqual((await buy('/items/1')).charged, cent)
      assert.deepEqual((await buy('/items/2')).charged, 0n)
      assert.deepEqual((await buy('/files/1')).charged, cent)
    })

    await t.test('a pass also opens a POST, and treats HEAD like GET', async () => {
      const { buy } = newShopper()
      const post = { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: 'hello' }
      const first = await buy('/echo', post)
      const second = await buy('/echo', { ...post, body: 'again' })
      assert.deepEqual([first.text, first.charged, second.text, second.charged], ['hello', cent, 'again', 0n])
      await buy('/weather')
      const head = await buy('/weather', { method: 'HEAD' })
      assert.deepEqual([head.response.status, head.text, head.charged], [200, '', 0n])
    })

    await t.test('shared caches cannot store a response that a pass opens', async () => {
      const { buy } = newShopper()
      await buy('/shared')
      const { response, charged } = await buy('/shared')
      assert.equal(charged, 0n)
      for (const header of ['cdn-cache-control', 'surrogate-control', 'vercel-cdn-cache-control']) {
        assert.equal(response.headers.get(header), 'no-store')
      }
    })

    await t.test('scripts of other origins may present and read a pass', async () => {
      const headers = { Origin: 'https://app.example', 'Access-Control-Request-Method': 'GET' }
      const preflight = await fetch(at('/weather'), { method: 'OPTIONS', headers })
      assert.match(preflight.headers.get('access-control-allow-headers')!, /PAYMENT-PASS/)
      assert.match(preflight.headers.get('access-control-expose-headers')!, /PAYMENT-PASS, PAYMENT-PASS-STATUS/)
    })
  })

  /** Returns a pass of a route whose handler fails later; it is bought before. */
  async function failingPass(url: string, stock: Stock, goods: string): Promise<string> {
    const get = stock.get.bind(stock)
    stock.get = (name, body) => (name === goods ? { status: 200, body: 'works' } : get(name, body))
    const cache = new MemoryPassCache()
    await (await payingFetch(market.newBuyer(), { passes: cache })(url)).text()
    stock.get = get
    const [pass] = cache.all(new URL(url).origin)
    return `${pass!.pass}.${pass!.secret}`
  }
}

const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }

test('a handler learns that a pass opened its request, and whose it is', async (t) => {
  const gate = await market.gate({
    routes: { 'GET /a': { accepts, passes: { minutes: 5, requests: 3 } } },
    passes: { secret },
    onWarning: () => {},
  })
  const seen: (Payment | undefined)[] = []
  const shop = await listen(
    paymentGate(gate, (request, response) => {
      seen.push(paymentOfRequest(request))
      response.end('goods')
    }),
  )
  t.after(() => shop.close())
  const pay = payingFetch(market.newBuyer())
  for (let times = 0; times < 2; times++) await (await pay(`${shop.url}/a`)).text()
  const [paid, opened] = seen
  assert.equal(paid!.pass, undefined)
  const { untilMs, requestsLeft } = opened!.pass!
  assert.equal(requestsLeft, 1)
  assert.ok(Math.abs(untilMs - Date.now() - 5 * 60_000) < 60_000)
  assert.deepEqual({ ...opened, pass: undefined }, { ...paid, state: 'settled', round: undefined, pass: undefined })
})

test('a dynamic price is paid again for another request', async (t) => {
  const price = (request: Request): string => (request.headers.get('X-Quality') === 'best' ? '$0.05' : '$0.01')
  const routes = { 'GET /a/:id': { accepts: { ...accepts, price }, varyBy: ['X-Quality'], passes: { minutes: 5 } } }
  const gate = await market.gate({ routes, passes: { secret } })
  const shop = await listen(paymentGate(gate, (_, response) => void response.end('goods')))
  t.after(() => shop.close())
  const pay = payingFetch(market.newBuyer())
  const charge = async (path: string, headers: { [name: string]: string } = {}): Promise<bigint> => {
    const before = await market.dollars()
    assert.equal((await pay(`${shop.url}${path}`, { headers })).status, 200)
    return (await market.dollars()) - before
  }
  const best = { 'X-Quality': 'best' }
  const charges = [
    await charge('/a/1'),
    await charge('/a/1'),
    await charge('/a/1', best),
    await charge('/a/1', best),
    await charge('/a/1'),
    await charge('/a/1?b=2'),
    await charge('/a/2'),
  ]
  assert.deepEqual(charges, [cent, 0n, 5n * cent, 0n, 0n, cent, cent])
})

test('a pass opens WebSockets, each as one request', async (t) => {
  const gate = await market.gate({
    routes: { 'GET /socket': { accepts, passes: { requests: 3 } } },
    passes: { secret },
    onWarning: () => {},
  })
  const sockets = new WebSocketServer({ noServer: true })
  const server = createServer(paymentGate(gate, (_, response) => void response.end('goods')))
  const payers: (string | undefined)[] = []
  const onUpgrade = upgradeGate(gate, (request, socket, head, receipt) => {
    payers.push(receipt?.payer)
    sockets.handleUpgrade(request, socket, head, (webSocket) => webSocket.send('goods'))
  })
  server.on('upgrade', onUpgrade).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const client of sockets.clients) client.terminate()
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  const cache = new MemoryPassCache()
  await (await payingFetch(market.newBuyer(), { passes: cache })(`http://127.0.0.1:${port}/socket`)).text()
  const [pass] = cache.all(`http://127.0.0.1:${port}`)
  const openSocket = async (): Promise<string> => {
    const headers = { 'PAYMENT-PASS': `${pass!.pass}.${pass!.secret}` }
    const socket = new WebSocket(`ws://127.0.0.1:${port}/socket`, { headers })
    const opened = await Promise.race([
      once(socket, 'message').then(([text]) => String(text)),
      once(socket, 'unexpected-response').then(
        ([, response]) => `status ${(response as { statusCode: number }).statusCode}`,
      ),
    ])
    socket.on('error', () => {}).terminate()
    return opened
  }
  assert.deepEqual([await openSocket(), await openSocket(), await openSocket()], ['goods', 'goods', 'status 402'])
  assert.deepEqual(payers, [market.buyer.address, market.buyer.address])
})

test('a buyer pays again within its limits when its pass is refused, and counts each payment once', async (t) => {
  const gate = await market.gate({
    routes: { 'GET /a': { accepts, passes: { requests: 2 } } },
    passes: { secret },
    onWarning: () => {},
  })
  const shop = await listen(paymentGate(gate, (_, response) => void response.end('goods')))
  t.after(() => shop.close())
  const buyer = market.newBuyer({ maxTotal: '$0.02' })
  // The buyer does not learn that the pass is used up.
  const passes = new MemoryPassCache()
  const deaf: PassCache = { all: (origin) => passes.all(origin), put: (pass) => passes.put(pass), remove: () => {} }
  const pay = payingFetch(buyer, { passes: deaf })
  const before = await market.dollars()
  for (let times = 0; times < 4; times++) assert.equal((await pay(`${shop.url}/a`)).status, 200)
  assert.equal((await market.dollars()) - before, 2n * cent)
  await assert.rejects(pay(`${shop.url}/a`), { code: 'payment_refused' })
  assert.equal((await market.dollars()) - before, 2n * cent)
  const stored: readonly StoredPass[] = passes.all(shop.url)
  assert.equal(stored.length, 1)
})

test('the 402 of a route without passes is unchanged', async (t) => {
  const gate = await market.gate({ routes: { 'GET /a': { accepts } }, passes: { secret } })
  const shop = await listen(paymentGate(gate, (_, response) => void response.end('goods')))
  t.after(() => shop.close())
  const required = (await requiredOf(await fetch(`${shop.url}/a`))) as unknown as { extensions: object }
  assert.deepEqual(Object.keys(required.extensions), ['payment-secret'])
})

test('`latchkey pay` presents the pass of an earlier run, and pays again if it is refused or a new payment is requested', async (t) => {
  const gate = await market.gate({
    routes: { 'GET /a': { accepts, passes: { requests: 3 } } },
    passes: { secret },
    onWarning: () => {},
  })
  const shop = await listen(paymentGate(gate, (_, response) => void response.end('goods')))
  t.after(() => shop.close())
  const { run, log } = openShopper(t, market)
  const charge = async (...args: string[]) => {
    const before = await market.dollars()
    const { code, stdout, stderr } = await run(`${shop.url}/a`, '--yes', ...args)
    assert.deepEqual([code, stdout], [0, 'goods'], stderr)
    return { charged: (await market.dollars()) - before, stderr }
  }
  const first = await charge()
  assert.equal(first.charged, cent)
  assert.match(
    first.stderr,
    /\nThe response includes a pass, until 20[0-9-]+ [0-9:]+ UTC, with 2 requests left: further requests are free\.\n/,
  )
  const [file] = readdirSync(`${log}.passes`)
  assert.equal(statSync(join(`${log}.passes`, file!)).mode & 0o777, 0o600)
  const second = await charge()
  assert.equal(second.charged, 0n)
  assert.match(
    second.stderr,
    /^Nothing was paid: a pass from an earlier payment was used, until 20[0-9-]+ [0-9:]+ UTC, with 1 request left \(/,
  )
  const third = await charge('--json')
  assert.equal(third.charged, 0n)
  const { payment, pass } = JSON.parse(third.stderr) as {
    payment: unknown
    pass: { until: string; requestsLeft: number }
  }
  assert.deepEqual([payment, pass.requestsLeft], [null, 0])
  assert.ok(Date.parse(pass.until) > Date.now())
  assert.deepEqual(readdirSync(`${log}.passes`), [])
  assert.equal((await charge()).charged, cent)
  assert.equal((await charge('--new-payment')).charged, cent)
  const header = await run(`${shop.url}/a`, '--yes', '--header', 'payment-pass: 1.x.y')
  assert.equal(header.code, 2)
  assert.match(header.stderr, /--header cannot set PAYMENT-PASS/)
})
