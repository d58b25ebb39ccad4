import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { PaymentGroup, PaymentHeaders, PaymentSecret } from '@latchkey/x402-wire'
import { type Market, openMarket, requiring, url } from './market.test.helper.js'
import { PaymentRefusedError } from './PaymentRefusedError.js'
import { PaymentRequestError, payingFetch } from './payingFetch.js'
import { LostResponseError, paymentOf, receiptOf } from './sendPayment.js'
import { buyerOf, paymentRequired, receipt, settle, shop } from './shop.test.helper.js'

const timeout = 30_000
const repeatMs = 1

test('a request', async (t) => {
  await t.test('passes a request to a free resource on', { timeout }, async (t) => {
    const market = await openMarket(t)
    const { fetch, shown } = shop(() => new Response('free'))
    const received = await payingFetch(buyerOf(market), { fetch })(url)
    assert.deepEqual([await received.text(), shown, receiptOf(received)], ['free', [undefined], undefined])
  })

  await t.test('is paid, and repeated with the same method, headers and body', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    const seen: unknown[] = []
    const { fetch, bodies } = shop((request, transaction) => {
      seen.push([request.method, request.headers.get('x-mine'), request.headers.get('content-type'), request.url])
      return transaction === undefined ? paymentRequired(market) : receipt({ transaction })
    })
    const notified: unknown[] = []
    const pay = payingFetch(buyer, {
      fetch,
      onPayment: (paid, got) => notified.push(paid.payment.transactionId, got?.success),
    })
    const body = new ReadableStream({
      start: (controller) => {
        for (const part of ['some ', 'weather']) controller.enqueue(new TextEncoder().encode(part))
        controller.close()
      },
    })
    const headers = { 'x-mine': '1', 'content-type': 'text/x-wish' }
    const received = await pay(url, { method: 'PUT', headers, body, duplex: 'half' } as RequestInit)
    const once = ['PUT', '1', 'text/x-wish', url]
    assert.deepEqual(
      [seen, bodies],
      [
        [once, once],
        ['some weather', 'some weather'],
      ],
    )
    const [payment] = buyer.payments.all()
    assert.deepEqual([await received.text(), receiptOf(received)?.transaction], ['sunny', payment!.transactionId])
    // The seller reports a settlement that is not on the ledger.
    assert.deepEqual([notified, payment!.state], [[payment!.transactionId, true], 'open'])
    assert.deepEqual([payment!.url, payment!.claimedResource], [url, market.required.resource.url])
    assert.equal(paymentOf(received)?.state, 'open')
  })

  await t.test('may be a Request', { timeout }, async (t) => {
    const market = await openMarket(t)
    const { fetch, bodies } = shop((_, transaction) =>
      transaction === undefined ? paymentRequired(market) : receipt({ transaction }),
    )
    const pay = payingFetch(buyerOf(market), { fetch })
    const received = await pay(new Request(url, { method: 'POST', body: new URLSearchParams({ city: 'Bergen' }) }))
    assert.deepEqual([received.status, bodies], [200, ['city=Bergen', 'city=Bergen']])
  })

  await t.test('with a body above the limit is not sent', { timeout }, async (t) => {
    const market = await openMarket(t)
    const { fetch, shown } = shop(() => paymentRequired(market))
    const pay = payingFetch(buyerOf(market), { fetch, maxBodyBytes: 10 })
    await assert.rejects(pay(url, { method: 'POST', body: 'x'.repeat(11) }), PaymentRequestError)
    let isCancelled = false
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(4)),
      cancel: () => {
        isCancelled = true
        throw new Error('it cannot be cancelled')
      },
    })
    await assert.rejects(pay(url, { method: 'POST', body: endless, duplex: 'half' } as RequestInit), {
      code: 'body_too_large',
    })
    assert.equal(isCancelled, true)
    assert.deepEqual(shown, [])
  })

  await t.test('that already carries a payment is sent once', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    const { header, payment } = await buyer.pay(market.required)
    const { fetch, shown } = shop(() => paymentRequired(market))
    const received = await payingFetch(buyer, { fetch })(url, {
      headers: { [PaymentHeaders.paymentSignature]: header },
    })
    assert.deepEqual([received.status, shown, buyer.payments.all().length], [402, [payment.transactionId], 1])
  })

  await t.test('is not paid if the caller declines', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    const { fetch } = shop(() => paymentRequired(market))
    const received = await payingFetch(buyer, { fetch, onPaymentRequired: () => false })(url)
    assert.deepEqual([received.status, await received.text(), buyer.payments.all()], [402, '{}', []])
  })
})

test('a body', async (t) => {
  await t.test('A5 that is a form is recognized when it is sent again', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    const form = (city: string): FormData => {
      const data = new FormData()
      data.append('city', city)
      data.append('file', new Blob(['sun', new Uint8Array([0, 255])]), 'a.bin')
      return data
    }
    const { fetch, shown } = shop((_, transaction) => {
      if (transaction === undefined) return paymentRequired(market)
      throw new TypeError('fetch failed')
    })
    const pay = payingFetch(buyer, { fetch, repeatMs })
    const send = (city: string): Promise<void> =>
      assert.rejects(pay(url, { method: 'POST', body: form(city) }), LostResponseError)
    for (const city of ['Bergen', 'Bergen', 'Oslo']) await send(city)
    const payments = shown.filter((id) => id !== undefined)
    // Each attempt has another boundary.
    assert.equal(payments[0], payments[1])
    assert.equal(new Set(payments).size, 2)
  })

  await t.test('that never ends does not outlast the time limit', { timeout }, async (t) => {
    const market = await openMarket(t)
    const { fetch, shown } = shop(() => paymentRequired(market))
    let isCanceled = false
    const body = new ReadableStream({
      pull: () => new Promise(() => {}),
      cancel: () => {
        isCanceled = true
      },
    })
    const controller = new AbortController()
    const init = { method: 'PUT', body, duplex: 'half', signal: controller.signal } as RequestInit
    const sent = payingFetch(buyerOf(market), { fetch })(url, init)
    controller.abort(new Error('enough'))
    await assert.rejects(sent, /^Error: enough$/)
    assert.deepEqual([shown, isCanceled], [[], true])
  })
})

test('a 402', async (t) => {
  await t.test('that cannot be read is returned', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    const first = JSON.stringify({ x402Version: 1, accepts: [{ scheme: 'exact', network: 'base' }] })
    for (const header of [undefined, 'garbage', '%%%', 'e30=', 'x'.repeat(100_000)]) {
      const headers = header === undefined ? {} : { [PaymentHeaders.paymentRequired]: header }
      const { fetch } = shop(() => new Response(first, { status: 402, headers }))
      const received = await payingFetch(buyer, { fetch })(url)
      assert.deepEqual([received.status, await received.text()], [402, first])
    }
    assert.deepEqual(buyer.payments.all(), [])
  })

  await t.test('above the limit is an error, with nothing signed', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    const required = requiring({ ...market.requirement, amount: '1000001' })
    const { fetch, shown } = shop(() => paymentRequired({ ...market, required }))
    await assert.rejects(payingFetch(buyer, { fetch })(url), PaymentRefusedError)
    assert.deepEqual([shown, buyer.payments.all()], [[undefined], []])
  })

  await t.test('after a payment is returned and not paid', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    let amount = 10_000
    const { fetch, shown } = shop(() => {
      const required = requiring({ ...market.requirement, amount: String(amount++) })
      return paymentRequired({ ...market, required })
    })
    const received = await payingFetch(buyer, { fetch })(url)
    const [payment] = buyer.payments.all()
    assert.deepEqual(
      [received.status, shown, receiptOf(received)],
      [402, [undefined, payment!.transactionId], undefined],
    )
    // The seller has the payment, and may still settle it.
    assert.deepEqual([buyer.payments.all().length, payment!.state], [1, 'open'])
  })
})

test('a lost response', async (t) => {
  await t.test('is requested again with the same payment', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    const { fetch, shown } = shop((_, transaction) => {
      if (transaction === undefined) return paymentRequired(market)
      if (shown.length < 4) throw new TypeError('fetch failed')
      return receipt({ transaction })
    })
    const received = await payingFetch(buyer, { fetch, repeatMs })(url)
    const [payment] = buyer.payments.all()
    assert.deepEqual(
      [received.status, new Set(shown.slice(1)), shown.length],
      [200, new Set([payment!.transactionId]), 4],
    )
    assert.equal(buyer.payments.all().length, 1)
  })

  await t.test('is not requested again with a method that is not idempotent', { timeout }, async (t) => {
    const market = await openMarket(t)
    const { fetch, shown } = shop((_, transaction) => {
      if (transaction === undefined) return paymentRequired(market)
      throw new TypeError('fetch failed')
    })
    const buyer = buyerOf(market)
    const notified: unknown[] = []
    const pay = payingFetch(buyer, { fetch, repeatMs, onPayment: (_, got) => notified.push(got) })
    await assert.rejects(pay(url, { method: 'POST' }), (error: LostResponseError) => {
      assert.ok(error instanceof LostResponseError)
      assert.deepEqual([error.transactionId, error.state], [shown[1], 'open'])
      assert.equal(PaymentGroup.read(PaymentHeaders.decodePayment(error.header).payload).transactionId, shown[1])
      return true
    })
    assert.deepEqual([shown.length, notified], [2, [undefined]])
  })

  await t.test('is an error that names the payment after the last attempt', { timeout }, async (t) => {
    const market = await openMarket(t)
    const { fetch, shown } = shop((_, transaction) => {
      if (transaction === undefined) return paymentRequired(market)
      throw new TypeError('fetch failed')
    })
    await assert.rejects(payingFetch(buyerOf(market), { fetch, repeatMs })(url), LostResponseError)
    assert.deepEqual([shown.length, new Set(shown).size], [6, 2])
  })

  await t.test('of a settled payment is an error that reports the settlement', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    const { fetch, shown } = shop(async (request, transaction) => {
      if (transaction === undefined) return paymentRequired(market)
      if (shown.length > 2) return paymentRequired(market)
      await settle(market, request)
      throw new TypeError('fetch failed')
    })
    await assert.rejects(payingFetch(buyer, { fetch, repeatMs })(url), (error: LostResponseError) => {
      assert.ok(error instanceof LostResponseError)
      assert.deepEqual([error.state, error.transactionId], ['settled', shown[1]])
      assert.match(error.message, /the seller responded with status 402, but the payment [A-Z2-7]{52} is settled/)
      return true
    })
    assert.equal(buyer.payments.get(shown[1]!)?.state, 'settled')
  })

  await t.test('of a settled payment reports the settlement, even if the seller gave up', { timeout }, async (t) => {
    const market = await openMarket(t)
    const failed = { success: false, errorReason: 'unexpected_settle_error' }
    for (const isSettled of [true, false]) {
      for (const refusal of [
        () => new Response('bad gateway', { status: 502 }),
        () => receipt(failed, 402, 'refused'),
      ]) {
        const { fetch } = shop(async (request, transaction) => {
          if (transaction === undefined) return paymentRequired(market)
          if (isSettled) await settle(market, request)
          return refusal()
        })
        const result = payingFetch(buyerOf(market), { fetch, repeatMs })(url)
        if (isSettled) await assert.rejects(result, { name: 'LostResponseError', state: 'settled' })
        else assert.equal(await (await result).text(), await refusal().text())
      }
    }
  })

  await t.test('is requested with the same payment while the settlement is pending', { timeout }, async (t) => {
    const plain = await openMarket(t)
    const declaring = { ...plain, required: { ...plain.required, extensions: PaymentSecret.declaration() } }
    const pending = { success: false, errorReason: 'settlement_pending' }
    const lost = { name: 'LostResponseError', cause: new Error('the settlement is still pending') }
    // A POST is repeated only if the seller serves a payment once, because it might place a second order otherwise.
    for (const [market, method, shows, isServed] of [
      [plain, 'GET', 2, true],
      [plain, 'GET', 9, false],
      [declaring, 'POST', 2, true],
      [plain, 'POST', 2, false],
    ] as const) {
      const { fetch, shown } = shop((_, transaction) => {
        if (transaction === undefined) return paymentRequired(market)
        return shown.length > shows ? receipt({ transaction }) : receipt({ ...pending, transaction }, 402, '{}')
      })
      const buyer = buyerOf(market)
      const body = method === 'POST' ? { body: 'x' } : {}
      const result = payingFetch(buyer, { fetch, repeatMs })(url, { method, ...body })
      if (isServed) assert.equal(await (await result).text(), 'sunny')
      else await assert.rejects(result, lost)
      assert.deepEqual([buyer.payments.all().length, new Set(shown).size], [1, 2])
      if (market === plain && method === 'POST') assert.equal(shown.length, 2)
    }
  })
})

test('a 503', async (t) => {
  const later = (): Response => new Response('{}', { status: 503, headers: { 'Retry-After': '5' } })

  await t.test('with Retry-After is retried with the same payment until it succeeds', { timeout }, async (t) => {
    const market = await openMarket(t)
    const { fetch, shown } = shop((_, transaction) => {
      if (transaction === undefined) return paymentRequired(market)
      return shown.length > 3 ? receipt({ transaction }) : later()
    })
    const buyer = buyerOf(market)
    assert.equal((await payingFetch(buyer, { fetch, repeatMs })(url)).status, 200)
    assert.deepEqual([shown.length, buyer.payments.all().length], [4, 1])
  })

  await t.test('that persists is returned', { timeout }, async (t) => {
    const market = await openMarket(t)
    const { fetch, shown } = shop((_, transaction) => (transaction === undefined ? paymentRequired(market) : later()))
    assert.equal((await payingFetch(buyerOf(market), { fetch, repeatMs })(url)).status, 503)
    assert.equal(shown.length, 6)
  })

  await t.test('without Retry-After, or to a POST, is returned immediately', { timeout }, async (t) => {
    const market = await openMarket(t)
    for (const [received, method] of [
      [() => new Response('closed', { status: 503 }), 'GET'],
      [later, 'POST'],
    ] as const) {
      const { fetch, shown } = shop((_, transaction) =>
        transaction === undefined ? paymentRequired(market) : received(),
      )
      assert.equal((await payingFetch(buyerOf(market), { fetch, repeatMs })(url, { method })).status, 503)
      assert.equal(shown.length, 2)
    }
  })
})

test('an aborted request', async (t) => {
  await t.test('is not paid if it is aborted before', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    const controller = new AbortController()
    const { fetch, shown } = shop(() => {
      controller.abort()
      return paymentRequired(market)
    })
    await assert.rejects(payingFetch(buyer, { fetch })(url, { signal: controller.signal }), { name: 'AbortError' })
    assert.deepEqual([shown, buyer.payments.all()], [[undefined], []])
  })

  for (const when of ['during the response', 'while it waits for the retry']) {
    const method = when === 'during the response' ? 'POST' : 'GET'
    await t.test(`${when} leaves its payment open`, { timeout }, async (t) => {
      const market = await openMarket(t)
      const buyer = buyerOf(market)
      const controller = new AbortController()
      const { fetch, shown } = shop(async (request, transaction) => {
        if (transaction === undefined) return paymentRequired(market)
        await settle(market, request)
        if (when === 'during the response') controller.abort()
        else setTimeout(() => controller.abort(), 20)
        request.signal.throwIfAborted()
        throw new TypeError('fetch failed')
      })
      const notified: string[] = []
      const pay = payingFetch(buyer, {
        fetch,
        repeatMs: 2 * timeout,
        onPayment: (paid) => notified.push(paid.payment.transactionId),
      })
      await assert.rejects(pay(url, { method, signal: controller.signal }), (error: LostResponseError) => {
        assert.ok(error instanceof LostResponseError)
        assert.deepEqual([error.transactionId, (error.cause as Error).name], [shown[1], 'AbortError'])
        return true
      })
      assert.deepEqual([shown.length, notified], [2, [shown[1]]])
      assert.equal(await buyer.lookUp(shown[1]!), 'settled')
    })
  }
})

test('redirects', async (t) => {
  async function listen(t: TestContext, listener: RequestListener): Promise<string> {
    const server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.close()
      server.closeAllConnections()
    })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  const header = (market: Market) => ({ [PaymentHeaders.paymentRequired]: PaymentHeaders.encode(market.required) })

  await t.test('to another origin are followed, but not paid', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    const dear = await listen(t, (_, response) => void response.writeHead(402, header(market)).end())
    const free = await listen(t, (_, response) => void response.end('free'))
    const shop = await listen(t, ({ url: path }, response) => {
      response.writeHead(302, { location: path === '/free' ? free : dear }).end()
    })
    assert.equal(await (await payingFetch(buyer)(`${shop}/free`)).text(), 'free')
    await assert.rejects(payingFetch(buyer)(`${shop}/dear`), PaymentRequestError)
    assert.deepEqual(buyer.payments.all(), [])
  })

  await t.test('do not carry the payment', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    const seen: unknown[] = []
    const thief = await listen(t, ({ headers }, response) => {
      seen.push(headers)
      response.end()
    })
    const shop = await listen(t, ({ headers }, response) => {
      const isPaid = headers['payment-signature'] !== undefined
      response.writeHead(isPaid ? 307 : 402, isPaid ? { location: thief } : header(market)).end()
    })
    const received = await payingFetch(buyer)(shop)
    assert.deepEqual([received.status, received.headers.get('location'), seen], [307, thief, []])
    const again = { headers: { [PaymentHeaders.paymentSignature]: (await buyer.pay(market.required)).header } }
    assert.deepEqual([(await payingFetch(buyer)(shop, again)).status, seen], [307, []])
  })

  await t.test('within an origin are paid at their target, if method and body are known', { timeout }, async (t) => {
    const market = await openMarket(t)
    const buyer = buyerOf(market)
    const seen: unknown[] = []
    const shop = await listen(t, ({ url: path, headers, method }, response) => {
      seen.push([method, path, headers['payment-signature'] !== undefined])
      if (path === '/old') response.writeHead(303, { location: '/new' }).end()
      else if (headers['payment-signature'] === undefined) response.writeHead(402, header(market)).end()
      else response.end('sunny')
    })
    assert.equal(await (await payingFetch(buyer)(`${shop}/old`)).text(), 'sunny')
    assert.deepEqual(seen, [
      ['GET', '/old', false],
      ['GET', '/new', false],
      ['GET', '/new', true],
    ])
    await assert.rejects(payingFetch(buyer)(`${shop}/old`, { method: 'POST', body: 'x' }), PaymentRequestError)
    assert.equal(buyer.payments.all().length, 1)
  })
})
