/** `@hono/node-server` 1.x replaces the global `Response` by a class that forgets headers when its body is read. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { payingFetch } from '@latchkey/x402/client'
import { serve } from 'hono-node-server-1'
import { altered, openMarket } from '../support/market.test.helper.js'
import { Runs, sellers } from '../support/matrix.test.helper.js'
import { rawRequest } from '../support/rawRequest.test.helper.js'
import { cents } from '../support/stall.test.helper.js'

const original = Response
serve({ fetch: () => new Response('started'), port: 0, hostname: '127.0.0.1' }, function started() {}).unref()
const market = await openMarket({ after })

test('A11 the older server replaces the class, and the replacement forgets headers', async () => {
  assert.notEqual(Response, original)
  const response = new Response('body', { headers: { 'X-First': '1' } })
  response.headers.set('X-Later', '1')
  await response.arrayBuffer()
  assert.deepEqual([response.headers.get('x-first'), response.headers.get('x-later')], ['1', null])
})

for (const { name, prefix, open } of sellers.filter(({ protocol }) => protocol === 'HTTP/1.1')) {
  test(`A11 every header of the gate arrives if Response is replaced: ${name}`, async (t) => {
    let result: 'settled' | 'failed' | 'lost' = 'settled'
    const facilitators = altered(market.local, {
      settle: async (payload, requirements, options) => {
        if (result === 'settled') return market.local.settle(payload, requirements, options)
        if (result === 'lost') throw new TypeError('the connection was lost')
        return { success: false, errorReason: 'insufficient_funds', transaction: '', network: requirements.network }
      },
    })
    const routes = cents(market, `GET ${prefix}/weather`)
    const gate = await market.gate({ routes, facilitators, cors: ['https://shop.example'] })
    const shop = await open(gate, new Runs())
    t.after(() => shop.close())
    const url = `${shop.url}${prefix}/weather`
    const headers = { Origin: 'https://shop.example' }
    const has = (response: Response, ...names: string[]): void => {
      const all = [...names, 'cache-control', 'access-control-allow-origin', 'access-control-expose-headers', 'vary']
      for (const one of all) assert.ok(response.headers.has(one), `${response.status}: ${one}`)
    }
    const unpaid = await fetch(url, { headers })
    assert.equal(unpaid.status, 402)
    has(unpaid, 'payment-required', 'content-type')
    const page = await rawRequest(shop.url, `${prefix}/weather`, {
      headers: { ...headers, Accept: 'text/html', 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document' },
    })
    assert.equal(page.status, 402)
    const onPage = [
      'payment-required',
      'content-security-policy',
      'x-content-type-options',
      'access-control-allow-origin',
    ]
    for (const one of onPage) assert.match(page.head, new RegExp(`^${one}: `, 'im'))
    const pay = payingFetch(market.buyer, { fetch })
    has(await pay(url, { headers }), 'payment-response', 'content-type')
    result = 'failed'
    const failed = await pay(url, { headers })
    assert.equal(failed.status, 402)
    has(failed, 'payment-required', 'payment-response')
    const refused = await fetch(url, { method: 'DELETE', headers })
    if (refused.status !== 404) has(refused, 'allow')
    const preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: { ...headers, 'Access-Control-Request-Method': 'GET' },
    })
    assert.ok(preflight.headers.has('access-control-allow-methods'))
  })
}
