/** Prices by usage of streams: charged at their end, or when the client leaves. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '@hono/node-server'
import { paymentGate as honoGate, paymentOf } from '@latchkey/x402/hono'
import type { Accept, Payment } from '@latchkey/x402/server'
import { Hono } from 'hono'
import { altered, openMarket, repeated, until } from './support/market.test.helper.js'
import { type Handler, newSeller, openShop, pay } from './support/uptoShop.test.helper.js'

const timeout = 60_000
const market = await openMarket({ after })
const maximum = 500_000n

const tokens = 40

/** Streams tokens, and charges a tenth of a cent for each one. */
async function stream(write: (token: string) => Promise<unknown>, charge: NonNullable<Payment['charge']>) {
  for (let count = 1; count <= tokens; count++) {
    charge(`$${(count / 1_000).toFixed(3)}`)
    await write(`token${count};`.padEnd(10))
    await sleep(1)
  }
}

type Streaming = { url: string; received: () => Promise<bigint>; wasTold: () => boolean }

async function nodeStream(t: TestContext): Promise<Streaming> {
  let isTold = false
  const handler: Handler = async (_, response, payment) => {
    response.once('close', () => {
      isTold = true
    })
    response.setHeader('Content-Type', 'text/plain')
    await stream(async (token) => {
      if (!response.destroyed) response.write(token)
    }, payment.charge!)
    response.end()
  }
  const { url, received } = await openShop(market, t, handler, { price: { stream: true } })
  return { url, received, wasTold: () => isTold }
}

async function honoStream(t: TestContext): Promise<Streaming> {
  const seller = newSeller(market)
  let isTold = false
  const accepts: Accept = { price: { upTo: '$0.50', stream: true }, payTo: seller }
  const gate = await market.gate({ routes: { 'GET /model': { accepts } } })
  const app = new Hono().use(honoGate(gate)).get('/model', (context) => {
    const { charge } = paymentOf(context)!
    const encoder = new TextEncoder()
    let isCancelled = false
    const body = new ReadableStream<Uint8Array>({
      start: async (controller) => {
        await stream(async (token) => {
          if (!isCancelled) controller.enqueue(encoder.encode(token))
        }, charge!)
        if (!isCancelled) controller.close()
      },
      cancel: () => {
        isCancelled = true
        isTold = true
      },
    })
    return new Response(body, { headers: { 'Content-Type': 'text/plain' } })
  })
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/model`
  return { url, received: () => market.dollars(seller), wasTold: () => isTold }
}

for (const [name, openStream] of Object.entries({ 'node:http': nodeStream, Hono: honoStream })) {
  test(`${name}: a stream is charged at its end`, { timeout }, async (t) => {
    const { url, received } = await openStream(t)
    const { status, text, receipt } = await pay(market.newBuyer(), url)
    assert.equal(status, 200)
    assert.equal(text.length, 10 * tokens)
    assert.equal(receipt, undefined, 'the headers are sent before the settlement')
    await until(async () => (await received()) === 40_000n)
  })

  test(`${name}: a stream that is cut is charged for what was used until then`, { timeout: 120_000 }, async (t) => {
    for (const bytes of [1, 15, 100, 250, 390]) {
      const { url, received, wasTold } = await openStream(t)
      const header = await market.payment(await fetch(url))
      const abort = new AbortController()
      const response = await fetch(url, { headers: { 'PAYMENT-SIGNATURE': header }, signal: abort.signal })
      const reader = response.body!.getReader()
      for (let read = 0; read < bytes; ) read += (await reader.read()).value!.length
      abort.abort()
      await until(async () => (await received()) > 0n)
      const charged = await received()
      assert.ok(charged >= BigInt(Math.floor(bytes / 10)) * 1_000n && charged <= 40_000n, `${bytes}: ${charged}`)
      await until(wasTold)
      assert.equal((await repeated(url, header)).status, 402, 'the payment is used up')
      assert.equal(await received(), charged)
    }
  })
}

test('the charge of a stream is asked for again while the facilitator is not reachable', { timeout }, async (t) => {
  let asked = 0
  const failing = altered(market.local, {
    settle: async (...call) => {
      if (++asked <= 2) throw new Error('the facilitator is down')
      return market.local.settle(...call)
    },
  })
  const handler: Handler = (_, response, payment) => {
    payment.charge!('$0.2')
    response.end('streamed')
  }
  const options = { facilitators: failing, price: { stream: true } }
  const { url, received } = await openShop(market, t, handler, options)
  assert.equal((await pay(market.newBuyer(), url)).text, 'streamed')
  await until(async () => (await received()) === 200_000n)
  assert.equal(asked, 3)
})

test('a buyer finds the charge of a stream on the ledger after its authorization has expired', {
  timeout,
}, async (t) => {
  const { url, received } = await nodeStream(t)
  const buyer = market.newBuyer()
  await pay(buyer, url)
  await until(async () => (await received()) === 40_000n)
  const { transactionId, state } = buyer.payments.all()[0]!
  assert.equal(state, 'open')
  assert.equal(buyer.payments.spent().microDollars, maximum, 'the maximum counts until the charge is known')
  for (let blocks = 0; blocks < 1_004; blocks++) market.devnet.mine()
  assert.equal(await buyer.lookUp(transactionId), 'settled')
  assert.equal(buyer.payments.spent().microDollars, 40_000n)
})
