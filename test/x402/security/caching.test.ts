/** A shared cache must not store a response that one buyer paid for. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openMarket } from '../support/market.test.helper.js'
import { adapters, routesFor, Stock, sharedCacheHeaders } from '../support/shops.test.helper.js'

const timeout = 60_000
const market = await openMarket({ after })

for (const { name, prefix, open } of adapters) {
  test(`M ${name}: no header of the handler lets a shared cache store a paid response`, { timeout }, async (t) => {
    const routes = routesFor(prefix, market.chain.caip2, market.seller)
    const shop = await open(await market.gate({ routes }), new Stock())
    t.after(() => shop.close())
    const response = await market.payingFetch(`${shop.url}${prefix}/shared`)
    assert.deepEqual([response.status, await response.text()], [200, 'for one buyer'])
    for (const header of Object.keys(sharedCacheHeaders)) {
      const value = response.headers.get(header) ?? ''
      assert.match(value, header === 'Cache-Control' ? /^private, max-age=600$/ : /^(no-store|0)?$/, header)
    }
  })
}
