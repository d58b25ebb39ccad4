/**
 * A streamed response that is lost at its end: its buyer gets the same bytes again, and the handler does not run again.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { payingFetch, type SignedPayment } from '@latchkey/x402/client'
import { paymentGate } from '@latchkey/x402/node'
import { http2Fetch } from './soakHttp2.test.helper.js'
import { openMarket, repeated } from './support/market.test.helper.js'
import { adapters, routesFor, Stock } from './support/shops.test.helper.js'

const market = await openMarket({ after })

for (const { name, prefix, open } of adapters) {
  test(name, async (t) => {
    const stock = new Stock()
    const gate = await market.gate({ routes: routesFor(prefix, market.chain.caip2, market.seller) })
    const shop = await open(gate, stock)
    t.after(() => shop.close())
    const url = `${shop.url}${prefix}/stream`
    const pay = async (signal?: AbortSignal): Promise<{ response: Response; payment: SignedPayment }> => {
      let payment: SignedPayment | undefined
      const onPayment = (sent: SignedPayment): void => {
        payment = sent
      }
      const response = await payingFetch(market.buyer, { resume: false, onPayment })(url, signal ? { signal } : {})
      return { response, payment: payment! }
    }

    await t.test('is sent again only to the buyer who presents its secret', async () => {
      const { response, payment } = await pay()
      stock.goOn()
      assert.equal(await response.text(), 'first,second')
      const again = await repeated(url, payment.repeatHeader)
      assert.deepEqual([again.status, await again.text()], [200, 'first,second'])
      assert.equal(again.headers.get('payment-response'), response.headers.get('payment-response'))
      const stolen = await repeated(url, payment.header)
      assert.equal(stolen.status, 402)
      await stolen.arrayBuffer()
      assert.equal(stock.count('stream'), 1)
    })

    await t.test('continues to its end if its client leaves early, and is sent again', async () => {
      const before = stock.count('stream')
      const abort = new AbortController()
      const { response, payment } = await pay(abort.signal)
      const reader = response.body!.getReader()
      await reader.read()
      abort.abort()
      await assert.rejects(reader.read())
      stock.goOn()
      const again = await repeated(url, payment.repeatHeader)
      assert.deepEqual([again.status, await again.text()], [200, 'first,second'])
      assert.equal(stock.count('stream'), before + 1)
    })
  })
}

test('node:http2', async (t) => {
  const gate = await market.gate({ routes: routesFor('', market.chain.caip2, market.seller) })
  let runs = 0
  const server = createServer(
    paymentGate(gate, (_, response) => {
      runs++
      response.writeHead(200, { 'Content-Type': 'text/plain' })
      response.write('first,')
      response.end('second')
    }) as never,
  ).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/stream`
  const fetch = http2Fetch(t, new URL(url).origin)
  t.after(() => server.close())
  let header = ''
  const onPayment = ({ repeatHeader }: SignedPayment): void => {
    header = repeatHeader
  }
  const response = await payingFetch(market.buyer, { fetch, onPayment })(url)
  assert.equal(await response.text(), 'first,second')
  const again = await fetch(url, { headers: { 'PAYMENT-SIGNATURE': header } })
  assert.deepEqual([again.status, await again.text(), runs], [200, 'first,second', 1])
  assert.equal(again.headers.get('content-type'), 'text/plain')
})
