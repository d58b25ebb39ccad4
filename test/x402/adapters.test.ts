/** Runs one table of behaviours over HTTP for every web framework. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { receiptOf } from '@latchkey/x402/client'
import { altered, headerJson, openMarket, repeated, requiredOf, until } from './support/market.test.helper.js'
import { rawRequest } from './support/rawRequest.test.helper.js'
import { adapters, largeBytes, routesFor, Stock } from './support/shops.test.helper.js'

const market = await openMarket({ after })
const cent = 10_000n

for (const { name, prefix, open, own } of adapters) {
  test(name, async (t) => {
    const stock = new Stock()
    const routes = routesFor(prefix, market.chain.caip2, market.seller)
    let settles: 'settle' | 'fail' = 'settle'
    const facilitators = altered(market.local, {
      settle: async (payload, requirements, ...rest) =>
        settles === 'settle'
          ? market.local.settle(payload, requirements, ...rest)
          : { success: false, errorReason: 'insufficient_funds', transaction: '', network: requirements.network },
    })
    const gate = await market.gate({ routes, ...own, facilitators, cors: ['https://shop.example'] })
    const shop = await open(gate, stock)
    after(() => shop.close())
    const at = (path: string): string => `${shop.url}${prefix}${path}`
    /** Returns the outcome, and the change of the seller's balance. */
    const buy = async (path: string, init: RequestInit = {}) => {
      const before = await market.dollars()
      const response = await market.payingFetch(at(path), init)
      const body = Buffer.from(await response.arrayBuffer())
      return { response, body, text: body.toString(), charged: (await market.dollars()) - before }
    }

    await t.test('responds to an unpaid request with 402, and does not run the handler', async () => {
      const response = await fetch(at('/weather'))
      const body = (await response.json()) as { [name: string]: unknown }
      assert.equal(response.status, 402)
      assert.equal(response.headers.get('cache-control'), 'no-store')
      const { accepts } = await requiredOf(response)
      assert.equal(accepts[0]!['amount'], '10000')
      assert.deepEqual(body['accepts'], accepts)
      assert.match(String(body['message']), /PAYMENT-SIGNATURE/)
      assert.equal(stock.count('weather'), 0)
    })

    await t.test('serves a paid request after the settlement, with a receipt, for exactly the price', async () => {
      const { response, text, charged } = await buy('/weather')
      assert.equal(response.status, 200)
      assert.equal(text, '{"weather":"sunny"}')
      assert.equal(charged, cent)
      const receipt = receiptOf(response)!
      assert.equal(receipt.success, true)
      assert.equal((await market.chain.algod.transaction(receipt.transaction)).type, 'confirmed')
      assert.equal(receipt.payer, market.buyer.address)
      assert.match(response.headers.get('set-cookie')!, /session=1/)
      assert.equal(response.headers.get('cache-control'), 'private')
    })

    await t.test('makes a paid response private to shared caches', async () => {
      const { response } = await buy('/cached')
      assert.equal(response.headers.get('cache-control'), 'private, max-age=60')
    })

    await t.test('does not charge for an error, and sends it', async () => {
      const { response, text, charged } = await buy('/error')
      assert.deepEqual([response.status, text, charged], [503, 'out of order', 0n])
      assert.equal(response.headers.get('payment-response'), null)
    })

    await t.test('does not charge for a handler that throws', async () => {
      const { response, charged } = await buy('/throw')
      assert.deepEqual([response.status, charged], [500, 0n])
      assert.equal(response.headers.get('payment-response'), null)
    })

    await t.test('does not charge for a 404', async () => {
      const missing = await buy('/missing')
      assert.deepEqual([missing.response.status, missing.charged], [404, 0n])
      const nowhere = await fetch(at('/nowhere'))
      assert.equal(nowhere.status, 404)
    })

    await t.test('sends no output of the handler if the settlement fails', async () => {
      settles = 'fail'
      const { response, text, charged } = await buy('/weather')
      settles = 'settle'
      assert.equal(response.status, 402)
      assert.equal(charged, 0n)
      assert.ok(!text.includes('sunny'))
      for (const header of ['set-cookie', 'etag']) assert.equal(response.headers.get(header), null)
      assert.equal(headerJson(response, 'payment-response')['errorReason'], 'insufficient_funds')
      assert.notEqual(headerJson(response, 'payment-response')['transaction'], '')
    })

    await t.test('requires payment for HEAD, as for GET', async () => {
      const before = stock.count('weather')
      assert.equal((await fetch(at('/weather'), { method: 'HEAD' })).status, 402)
      assert.equal(stock.count('weather'), before)
      const { response, text, charged } = await buy('/weather', { method: 'HEAD' })
      assert.deepEqual([response.status, text, charged], [200, '', cent])
    })

    await t.test('responds to a preflight without running a handler', async () => {
      const runs = stock.runs.length
      const headers = {
        Origin: 'https://shop.example',
        'Access-Control-Request-Method': 'GET',
        'Access-Control-Request-Headers': 'payment-signature, x-own',
      }
      const response = await fetch(at('/weather'), { method: 'OPTIONS', headers })
      assert.equal(response.status, 204)
      assert.equal(response.headers.get('access-control-allow-origin'), 'https://shop.example')
      assert.match(response.headers.get('access-control-allow-headers')!, /PAYMENT-SIGNATURE.*x-own/)
      const stranger = await fetch(at('/weather'), {
        method: 'OPTIONS',
        headers: { ...headers, Origin: 'https://other.example' },
      })
      assert.equal(stranger.headers.get('access-control-allow-origin'), null)
      assert.equal(stock.runs.length, runs)
    })

    await t.test('exposes prices, receipts and errors to browsers', async () => {
      const headers = { Origin: 'https://shop.example' }
      const unpaid = await fetch(at('/weather'), { headers })
      const paid = (await buy('/weather', { headers })).response
      const failed = (await buy('/error', { headers })).response
      for (const response of [unpaid, paid, failed]) {
        assert.equal(response.headers.get('access-control-allow-origin'), 'https://shop.example')
        assert.match(response.headers.get('access-control-expose-headers')!, /PAYMENT-REQUIRED, PAYMENT-RESPONSE/)
      }
    })

    await t.test('passes the body of a POST to the handler', async () => {
      const init = { method: 'POST', body: 'a text', headers: { 'Content-Type': 'text/plain' } }
      const { response, text, charged } = await buy('/echo', init)
      assert.deepEqual([response.status, text, charged], [200, 'a text', cent])
    })

    await t.test('streams a response that is settled upfront', async () => {
      const before = await market.dollars()
      const response = await market.payingFetch(at('/stream'))
      const reader = response.body!.getReader()
      const first = await reader.read()
      assert.equal(Buffer.from(first.value!).toString(), 'first,')
      assert.equal((await market.dollars()) - before, cent)
      assert.equal(receiptOf(response)!.success, true)
      assert.equal(response.headers.get('cache-control'), 'private')
      stock.goOn()
      const second = await reader.read()
      assert.equal(Buffer.from(second.value!).toString(), 'second')
    })

    await t.test('buffers a large response, and refuses an endless one without charging', async () => {
      const large = await buy('/large')
      assert.deepEqual([large.response.status, large.body.length, large.charged], [200, largeBytes, cent])
      const endless = await buy('/endless')
      assert.deepEqual([endless.response.status, endless.charged], [500, 0n])
      assert.match(endless.text, /nothing was charged/)
    })

    await t.test('settles for a client that disconnects while the handler runs, and holds the answer', async () => {
      const header = await market.payment(await fetch(at('/slow')))
      const before = await market.dollars()
      const runs = stock.count('slow')
      const controller = new AbortController()
      const { signal } = controller
      const left = fetch(at('/slow'), { headers: { 'PAYMENT-SIGNATURE': header }, signal })
      await until(() => stock.count('slow') === runs + 1)
      controller.abort()
      await assert.rejects(left)
      const again = await repeated(at('/slow'), header)
      assert.deepEqual([again.status, await again.text()], [200, 'late'])
      assert.equal((await market.dollars()) - before, cent)
      assert.equal(stock.count('slow'), runs + 1, 'the handler ran once')
    })

    await t.test('requires payment for every spelling of a path', async () => {
      const runs = stock.runs.length
      const plain = ['/weather/', '/WEATHER', '/%77eather', '/weather?x=/free', '//weather', '/weather//', '/./weather']
      const tricky = [
        '/free/../weather',
        '/weather%2f',
        '/files/../free',
        '/items/a%2Fb',
        '/%69tems/a%2fb',
        '/weather;a',
      ]
      for (const path of [...plain, ...tricky]) {
        const { status, body } = await rawRequest(shop.url, `${prefix}${path}`)
        // Some clients resolve dots before they send the path; then the free route is served.
        const isFree = path === '/files/../free' && status === 200 && body.includes('free')
        assert.ok(isFree || [400, 402, 404].includes(status), `${path} is answered with ${status}`)
      }
      const fromHost = await rawRequest(shop.url, `${prefix}/weather`, { host: 'x/free?' })
      assert.equal(fromHost.status, 400)
      const absolute = await rawRequest(shop.url, `http://other.example${prefix}/weather`)
      assert.ok(absolute.status >= 400)
      assert.equal(stock.runs.filter((one, index) => index >= runs && one !== 'free').length, 0)
    })

    await t.test('keeps a connection open after a 402', async () => {
      const first = await fetch(at('/weather'), { headers: { Connection: 'keep-alive' } })
      await first.text()
      assert.notEqual(first.headers.get('connection'), 'close')
      assert.equal((await buy('/weather')).response.status, 200)
    })

    await t.test('leaves free routes alone', async () => {
      const response = await fetch(at('/free'))
      assert.deepEqual([response.status, await response.text()], [200, 'free'])
      assert.equal(response.headers.get('cache-control'), null)
    })
  })
}
