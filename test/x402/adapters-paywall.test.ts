/**
 * Tests the page for people over HTTP in every web framework: it is served, works under any prefix, and opens nothing.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openMarket } from './support/market.test.helper.js'
import { rawRequest } from './support/rawRequest.test.helper.js'
import { adapters, routesFor, Stock } from './support/shops.test.helper.js'

const market = await openMarket({ after })
const browser = { Accept: 'text/html,*/*;q=0.8', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' }

for (const { name, prefix, open, own } of adapters) {
  test(name, async (t) => {
    const stock = new Stock()
    const routes = routesFor(prefix, market.chain.caip2, market.seller)
    const gate = await market.gate({ routes, ...own })
    const shop = await open(gate, stock)
    after(() => shop.close())
    const at = (path: string): string => `${shop.url}${prefix}${path}`
    // A raw request, because `fetch` sends headers that identify it as a program.
    const page = (path: string, method = 'GET') =>
      rawRequest(shop.url, `${prefix}${path}`, { method, headers: browser })
    const files = async (): Promise<string[]> =>
      [...(await page('/weather')).body.matchAll(/"(\?x402-page=[^"]+)"/g)].map(([, query]) => query!)

    await t.test('serves a page to people and JSON to programs', async () => {
      const { status, head, body } = await page('/weather')
      assert.equal(status, 402)
      assert.match(head, /content-type: text\/html; charset=utf-8/i)
      assert.match(head, /payment-required: [A-Za-z0-9+/=]+/i)
      assert.match(head, /cache-control: no-store/i)
      assert.match(head, /vary: [^\r]*accept/i)
      assert.match(head, /content-security-policy: default-src 'none'/i)
      assert.match(body, /\$0\.01/)
      const program = await fetch(at('/weather'), { headers: { Accept: '*/*', 'User-Agent': 'Mozilla/5.0' } })
      assert.equal(program.headers.get('content-type'), 'application/json')
      assert.equal(stock.runs.length, 0)
    })

    await t.test('responds to HEAD with the same headers and no body', async () => {
      const { status, head, body } = await page('/weather', 'HEAD')
      assert.equal(status, 402)
      assert.match(head, /text\/html/)
      assert.equal(body, '')
    })

    await t.test('serves the files of the page at the paid URL, and runs no handler', async () => {
      const names = await files()
      assert.equal(names.length, 3)
      for (const query of names) {
        const response = await fetch(at(`/weather${query}`))
        assert.equal(response.status, 200)
        assert.match(response.headers.get('cache-control')!, /^private, max-age=31536000, immutable$/)
        assert.equal(response.headers.get('content-encoding'), 'gzip')
        assert.ok((await response.text()).length > 1_000)
        const head = await fetch(at(`/weather${query}`), { method: 'HEAD' })
        assert.deepEqual([head.status, await head.text()], [200, ''])
      }
      const parameters = await fetch(at('/weather?x402-page=params'))
      assert.equal(parameters.headers.get('cache-control'), 'no-store')
      const { networks } = (await parameters.json()) as { networks: { caip2: string }[] }
      assert.equal(networks[0]!.caip2, market.chain.caip2)
      assert.equal(stock.runs.length, 0)
    })

    await t.test('the query of the page opens nothing, with or without a payment', async () => {
      const [query] = await files()
      const before = await market.dollars()
      const payment = await market.payment(await fetch(at('/weather')))
      const paths = ['/weather', '/items/1', '/files/a/b', '/WEATHER', '/%77eather', '//weather', '/weather/']
      const queries = [query!, '?x402-page=params', '?x402-page=nothing', '?x402-page=', '?a=1&x402-page=x']
      for (const path of paths) {
        for (const one of queries) {
          for (const headers of [{}, browser, { 'PAYMENT-SIGNATURE': payment }]) {
            const { status, body } = await rawRequest(shop.url, `${prefix}${path}${one}`, { headers })
            assert.ok([200, 400, 404].includes(status), `${path}${one}: ${status}`)
            assert.ok(!body.includes('sunny'))
          }
        }
      }
      assert.equal(stock.runs.length, 0)
      assert.equal(await market.dollars(), before)
      const paid = await fetch(at('/weather'), { headers: { 'PAYMENT-SIGNATURE': payment } })
      assert.equal(paid.status, 200)
      stock.runs.length = 0
    })

    await t.test('ignores the query on free routes', async () => {
      const response = await fetch(at('/free?x402-page=params'))
      assert.deepEqual([response.status, await response.text()], [200, 'free'])
      stock.runs.length = 0
    })
  })
}
