/** Responses that are charged by usage before they are sent, whose client does not get them, and what they contain. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { paymentGate as expressGate } from '@latchkey/x402/express'
import { paymentGate, paymentOf } from '@latchkey/x402/node'
import { type Accept, MemoryClaims } from '@latchkey/x402/server'
import express from 'express'
import { authorizationFor } from './support/authorizations.test.helper.js'
import { altered, headerJson, openMarket, repeated } from './support/market.test.helper.js'
import { type Handler, newSeller, openShop } from './support/uptoShop.test.helper.js'

const timeout = 120_000
const market = await openMarket({ after })

/** On a slow machine, a settlement may take longer than the facilitator waits. */
const patient = altered(market.local, {
  settle: async (...call) => {
    for (;;) {
      const result = await market.local.settle(...call)
      if (result.success || result.errorReason !== 'settlement_pending') return result
    }
  },
})

test('a response that has no room to be held is charged once, and lost if its connection breaks', {
  timeout,
}, async (t) => {
  for (const method of ['GET', 'POST']) {
    let runs = 0
    const claims = new MemoryClaims({ maxHeldBytes: 1_000 })
    const handler: Handler = (_, response, payment) => {
      runs++
      payment.charge!('$0.1')
      response.end(Buffer.alloc(9 * 1024 * 1024))
    }
    const { url, received } = await openShop(market, t, handler, { claims, facilitators: patient })
    const header = await authorizationFor(market, await fetch(url, { method }), { rounds: 900n })
    const broken = new AbortController()
    const response = await repeated(url, header, { method, signal: broken.signal })
    assert.equal(response.status, 200)
    broken.abort()
    let again = await repeated(url, header, { method })
    // The gate has not noticed yet that the connection is broken.
    for (; again.status === 402; again = await repeated(url, header, { method })) await sleep(20)
    assert.equal(again.status, 500)
    assert.match(await again.text(), /response_lost/)
    assert.equal(headerJson(again, 'payment-response')['amount'], '100000')
    assert.deepEqual([runs, await received()], [1, 100_000n])
  }
})

type Written = { readonly trailers: IncomingHttpHeaders; readonly hints: readonly IncomingHttpHeaders[] }

/** Pays for a response, and reads everything that it consists of. */
async function read(url: string): Promise<Written> {
  const header = await authorizationFor(market, await fetch(url), { rounds: 900n })
  const hints: IncomingHttpHeaders[] = []
  const request = get(url, { headers: { 'PAYMENT-SIGNATURE': header, TE: 'trailers' } })
  request.on('information', ({ headers }) => hints.push(headers))
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 200)
  await response.resume().toArray()
  return { trailers: response.trailers, hints }
}

const overrides = JSON.stringify({ amount: '70000' })

const writes: Handler = (_, response, payment) => {
  payment.charge!('$0.1')
  response.writeEarlyHints({ link: '</style.css>; rel=preload', 'settlement-overrides': overrides })
  response.setHeader('Trailer', 'Settlement-Overrides, X-Checksum')
  response.write('a part')
  response.addTrailers({ 'Settlement-Overrides': overrides, 'X-Checksum': 'abc' })
  response.end('the rest')
}

test('Settlement-Overrides does not leave the gate in a trailer or in early hints', { timeout }, async (t) => {
  for (const stream of [false, true]) {
    const accepts: Accept = { price: { upTo: '$0.50', stream }, payTo: newSeller(market) }
    const gate = await market.gate({ routes: { '/model': { accepts } } })
    const node = createServer(
      paymentGate(gate, (request, response) => writes(request, response, paymentOf(request)!)),
    ).listen(0, '127.0.0.1')
    const app = express()
    app.use(expressGate(gate))
    app.get('/model', (request, response) => void writes(request, response, paymentOf(request)!))
    const server = app.listen(0, '127.0.0.1')
    await Promise.all([once(node, 'listening'), once(server, 'listening')])
    for (const one of [node, server]) {
      t.after(() => {
        one.closeAllConnections()
        one.close()
      })
      const { trailers, hints } = await read(`http://127.0.0.1:${(one.address() as AddressInfo).port}/model`)
      assert.equal(trailers['settlement-overrides'], undefined, `stream: ${stream}`)
      assert.equal(trailers['x-checksum'], 'abc')
      for (const headers of hints) assert.equal(headers['settlement-overrides'], undefined)
    }
  }
})
