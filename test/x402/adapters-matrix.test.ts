/**
 * Tests every adapter over HTTP/1.1 and HTTP/2, under every prefix: nothing is served unpaid, and nothing is charged
 * without an answer.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { payingFetch, receiptOf } from '@latchkey/x402/client'
import { http2Fetch } from './support/http2.test.helper.js'
import { altered, openMarket } from './support/market.test.helper.js'
import { type Good, goods, Runs, sellers, weather } from './support/matrix.test.helper.js'

const market = await openMarket({ after })
const cent = 10_000n

for (const { name, protocol, prefix, open } of sellers) {
  for (const kind of prefix === '' ? ['whole'] : ['whole', 'relative']) {
    test(`${name}, ${protocol}, ${kind} keys: serves nothing unpaid, and charges nothing without an answer`, {
      timeout: 60_000,
    }, async (t) => {
      const accepts = { network: market.chain.caip2, price: '$0.01', payTo: market.seller }
      const base = kind === 'whole' ? prefix : ''
      const paid = goods.filter((good) => good !== 'free')
      const routes = Object.fromEntries(paid.map((good) => [`GET ${base}/${good}`, { accepts }]))
      let isSettled = true
      const facilitators = altered(market.local, {
        settle: async (payload, requirements, options) =>
          isSettled
            ? market.local.settle(payload, requirements, options)
            : { success: false, errorReason: 'insufficient_funds', transaction: '', network: requirements.network },
      })
      const runs = new Runs()
      const shop = await open(await market.gate({ routes, facilitators }), runs)
      t.after(() => shop.close())
      // A port may have belonged to an earlier shop, and the buyer would continue with a payment that was refused
      // there.
      const visit = randomUUID()
      const at = (good: Good): string => `${shop.url}${prefix}/${good}?visit=${visit}`
      const ask = protocol === 'HTTP/2' ? http2Fetch() : fetch
      const pay = payingFetch(market.buyer, { fetch: ask })
      const buy = async (good: Good, method = 'GET') => {
        const before = await market.dollars()
        const response = await pay(at(good), { method })
        const text = await response.text()
        return {
          status: response.status,
          text,
          receipt: receiptOf(response),
          charged: (await market.dollars()) - before,
        }
      }

      for (const good of paid) {
        const unpaid = await ask(at(good))
        assert.equal(unpaid.status, 402, good)
        assert.ok(unpaid.headers.has('payment-required'), good)
      }
      assert.deepEqual(runs.names, [])

      for (const good of ['weather', 'after', 'later'] as const) {
        const { status, text, receipt, charged } = await buy(good)
        assert.deepEqual([status, text, receipt?.success, charged], [200, weather, true, cent], good)
      }
      const empty = await buy('empty')
      assert.deepEqual([empty.status, empty.receipt?.success, empty.charged], [204, true, cent])
      const head = await buy('weather', 'HEAD')
      assert.deepEqual([head.status, head.text, head.receipt?.success, head.charged], [200, '', true, cent])

      const error = await buy('error')
      assert.deepEqual([error.status, error.text, error.receipt, error.charged], [503, 'out of order', undefined, 0n])
      for (const good of ['throw', 'partial'] as const) {
        const { status, text, charged } = await buy(good)
        assert.deepEqual([status, charged], [500, 0n], good)
        assert.ok(!text.includes('half'), good)
      }

      isSettled = false
      const refused = await buy('weather')
      assert.deepEqual([refused.status, refused.charged, refused.text.includes('sunny')], [402, 0n, false])
      const free = await ask(at('free'))
      assert.deepEqual([free.status, await free.text()], [200, weather])
    })
  }
}
