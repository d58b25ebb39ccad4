/** Streams that are charged by usage, cut when their time is up: in every framework, and however their client reads. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createHttp2 } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { openGateway, Upstream } from '@latchkey/x402/gateway'
import { paymentGate } from '@latchkey/x402/node'
import type { Accept, Gate } from '@latchkey/x402/server'
import { http2Fetch } from './soakHttp2.test.helper.js'
import { authorizationFor } from './support/authorizations.test.helper.js'
import { openMarket, repeated, until } from './support/market.test.helper.js'
import { type Adapter, adapters, Stock } from './support/shops.test.helper.js'
import { newSeller } from './support/uptoShop.test.helper.js'

const timeout = 120_000
const market = await openMarket({ after })
const maximum = 500_000n

/** A gate whose streams end after a second, and cost the maximum. */
async function openGate(prefix: string, own: Adapter['own'] = {}): Promise<{ gate: Gate; seller: string }> {
  const seller = newSeller(market)
  const price = { upTo: '$0.50', stream: true, whenUnset: 'maximum' } as const
  const accepts: Accept = { price, payTo: seller, maxTimeoutSeconds: 1 }
  const routes = { [`GET ${prefix}/stream`]: { accepts }, [`GET ${prefix}/endless`]: { accepts } }
  return { gate: await market.gate({ routes, ...own }), seller }
}

/** A service without a gate, behind a gateway. */
const gateway: Adapter = {
  name: 'gateway',
  prefix: '',
  open: async (gate, stock) => {
    const listen = async (listener: RequestListener) => {
      const server = createServer(listener).listen(0, '127.0.0.1')
      await once(server, 'listening')
      return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
    }
    const service = await listen(async (request, response) => {
      const { body } = stock.get(request.url!.slice(1))
      for await (const piece of body as AsyncGenerator<string>) {
        if (response.destroyed) return
        if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')])
      }
      response.end()
    })
    const upstream = new Upstream({ url: service.url })
    const front = await listen(openGateway({ gate, upstream }).request as RequestListener)
    const close = async (): Promise<void> => {
      upstream.close()
      for (const { server } of [front, service]) {
        server.closeAllConnections()
        server.close()
      }
    }
    return { url: front.url, close }
  },
}

for (const { name, prefix, open, own } of [...adapters, gateway]) {
  test(`${name}: a stream that does not end in time is cut and charged`, { timeout }, async (t) => {
    const stock = new Stock()
    const { gate, seller } = await openGate(prefix, own)
    const shop = await open(gate, stock)
    t.after(() => shop.close())
    const url = `${shop.url}${prefix}/stream`
    const header = await authorizationFor(market, await fetch(url), { rounds: 900n })
    const response = await repeated(url, header)
    assert.equal(response.status, 200)
    const reader = response.body!.getReader()
    assert.equal(Buffer.from((await reader.read()).value!).toString(), 'first,')
    await assert.rejects(reader.read(), 'not a clean end')
    stock.goOn()
    await until(async () => (await market.dollars(seller)) === maximum)
    const again = await repeated(url, header)
    assert.equal(again.status, 402, 'the payment is used up')
    await again.arrayBuffer()
  })

  test(`${name}: a client that does not read cannot stretch a stream`, { timeout }, async (t) => {
    const stock = new Stock()
    const { gate, seller } = await openGate(prefix, own)
    const shop = await open(gate, stock)
    t.after(() => shop.close())
    const url = `${shop.url}${prefix}/endless`
    const header = await authorizationFor(market, await fetch(url), { rounds: 900n })
    const request = get(url, { headers: { 'PAYMENT-SIGNATURE': header } })
    t.after(() => request.destroy())
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    assert.equal(response.statusCode, 200)
    response.pause()
    await until(async () => (await market.dollars(seller)) === maximum)
    // What is left in the buffers of both sides can be read, and then the connection is broken.
    await assert.rejects(async () => {
      for await (const _ of response);
    })
  })
}

test('node:http2: a stream that does not end in time is reset and charged', { timeout }, async (t) => {
  const { gate, seller } = await openGate('')
  const handler = paymentGate(gate, (_, response) => void response.write('first,'))
  const server = createHttp2(handler as never).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/stream`
  const fetch = http2Fetch(t, new URL(url).origin)
  t.after(() => server.close())
  const header = await authorizationFor(market, await fetch(url), { rounds: 900n })
  await assert.rejects(async () => {
    const response = await fetch(url, { headers: { 'PAYMENT-SIGNATURE': header } })
    assert.equal(response.status, 200)
    await response.text()
  })
  await until(async () => (await market.dollars(seller)) === maximum)
})
