import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { PaymentGroup, PaymentHeaders, PaymentSecret } from '@latchkey/x402-wire'
import { type Market, openMarket, url } from './market.test.helper.js'
import { payingFetch } from './payingFetch.js'
import { LostResponseError } from './sendPayment.js'
import { buyerOf, paymentRequired, receipt, shop } from './shop.test.helper.js'

const timeout = 30_000
const repeatMs = 1

test('A8 the secret of the buyer', async (t) => {
  const declaring = (market: Market): Market => ({
    ...market,
    required: { ...market.required, extensions: { ...PaymentSecret.declaration(), other: { info: { a: 1 } } } },
  })
  const proofOf = (header: string): unknown => PaymentSecret.read(PaymentHeaders.decodePayment(header))

  await t.test('is withheld the first time, and proves each repeat, even of a POST', { timeout }, async (t) => {
    const market = declaring(await openMarket(t))
    for (const method of ['GET', 'POST']) {
      const headers: string[] = []
      const { fetch } = shop((request, transaction) => {
        if (transaction === undefined) return paymentRequired(market)
        headers.push(request.headers.get(PaymentHeaders.paymentSignature)!)
        if (headers.length === 1) throw new TypeError('fetch failed')
        if (headers.length === 2) return new Response('{}', { status: 503, headers: { 'Retry-After': '5' } })
        return receipt({ transaction })
      })
      const buyer = buyerOf(market)
      assert.equal((await payingFetch(buyer, { fetch, repeatMs })(url, { method })).status, 200)
      assert.deepEqual([headers.length, buyer.payments.all().length], [3, 1])
      const [first, ...repeats] = headers.map(proofOf) as PaymentSecret.Proof[]
      assert.equal(first!.isProven, false)
      assert.match(first!.hash!, /^[\w-]{43}$/)
      for (const repeat of repeats) assert.deepEqual(repeat, { hash: first!.hash, isProven: true })
      // The seller's declaration is echoed.
      const { extensions } = PaymentHeaders.decodePayment(headers[0]!)
      assert.deepEqual(extensions!['other'], { info: { a: 1 } })
    }
  })

  await t.test('proves a repeat on a new connection after a kept-alive one was closed', { timeout }, async (t) => {
    const market = declaring(await openMarket(t))
    const proofs: unknown[] = []
    const server = createServer((request, response) => {
      const header = request.headers['payment-signature'] as string | undefined
      if (header === undefined) {
        response.writeHead(402, { [PaymentHeaders.paymentRequired]: PaymentHeaders.encode(market.required) }).end()
        return
      }
      proofs.push(proofOf(header))
      // The request has arrived, so the seller may have taken its payment.
      if (request.socket.bytesWritten > 0) request.socket.destroy()
      else response.end('sunny')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather`
    const pay = payingFetch(buyerOf(market), { repeatMs, rememberPrices: false })
    assert.equal(await (await pay(address)).text(), 'sunny')
    // A connection is free after the handler of its response's end has returned.
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(await (await pay(address)).text(), 'sunny')
    assert.deepEqual(
      (proofs as PaymentSecret.Proof[]).map(({ isProven }) => isProven),
      [false, false, true],
    )
  })

  await t.test('is in the repeat header, and differs for each payment', { timeout }, async (t) => {
    const market = declaring(await openMarket(t))
    const hashes = new Set<string | undefined>()
    for (let index = 0; index < 3; index++) {
      const { fetch } = shop((_, transaction) => {
        if (transaction === undefined) return paymentRequired(market)
        throw new TypeError('fetch failed')
      })
      const buyer = buyerOf(market)
      await assert.rejects(payingFetch(buyer, { fetch, repeatMs })(url), (error: LostResponseError) => {
        const proof = PaymentSecret.read(PaymentHeaders.decodePayment(error.header)) as PaymentSecret.Proof
        assert.equal(proof.isProven, true)
        hashes.add(proof.hash)
        return true
      })
    }
    assert.equal(hashes.size, 3)
  })

  await t.test('is not sent to a seller that does not support it', { timeout }, async (t) => {
    const market = await openMarket(t)
    const headers: string[] = []
    const { fetch } = shop((request, transaction) => {
      if (transaction === undefined) return paymentRequired(market)
      headers.push(request.headers.get(PaymentHeaders.paymentSignature)!)
      throw new TypeError('fetch failed')
    })
    await assert.rejects(payingFetch(buyerOf(market), { fetch, repeatMs })(url), LostResponseError)
    assert.equal(new Set(headers).size, 1)
    assert.equal(PaymentHeaders.decodePayment(headers[0]!).extensions, undefined)
  })
})

test('a timeout still aborts the request after a garbage collection', { timeout }, async (t) => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const market = await openMarket(t)
  for (const when of ['the 402', 'the response', 'the body']) {
    for (const isRequest of [false, true]) {
      const controller = new AbortController()
      const giveUp = (): void => {
        for (let count = 0; count < 3; count++) collect()
        controller.abort(new Error('enough'))
      }
      const server = createServer(({ headers }, response) => {
        const isPaid = headers['payment-signature'] !== undefined
        if (!isPaid && when !== 'the 402') {
          response.writeHead(402, { [PaymentHeaders.paymentRequired]: PaymentHeaders.encode(market.required) }).end()
          return
        }
        if (when === 'the body') response.writeHead(200).write('half')
        setTimeout(giveUp, 100)
      }).listen(0, '127.0.0.1')
      await once(server, 'listening')
      t.after(() => server.close().closeAllConnections())
      const target = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
      const pay = payingFetch(buyerOf(market))
      const { signal } = controller
      const body = async (): Promise<string> =>
        (await (isRequest ? pay(new Request(target, { signal })) : pay(target, { signal }))).text()
      const expected = when === 'the 402' ? { message: 'enough' } : { name: 'LostResponseError' }
      await assert.rejects(body(), expected, `${when} ${isRequest}`)
    }
  }
})

test('a body that is aborted after it arrived and before it is read is a lost response', async (t) => {
  const market = await openMarket(t)
  const shown: string[] = []
  const server = createServer(async ({ headers }, response) => {
    const header = headers['payment-signature'] as string | undefined
    if (header === undefined) {
      response.writeHead(402, { [PaymentHeaders.paymentRequired]: PaymentHeaders.encode(market.required) }).end()
      return
    }
    shown.push(PaymentGroup.read(PaymentHeaders.decodePayment(header).payload).transactionId)
    response.writeHead(200).write('sun')
    await sleep(20)
    response.end('ny')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close().closeAllConnections())
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`

  for (const [name, fetch] of [['fetch', globalThis.fetch] as const, ['node:http', undefined] as const]) {
    for (const when of ['the ledger is asked', 'the caller waits'] as const) {
      await t.test(`with ${name} while ${when}`, { timeout }, async () => {
        const controller = new AbortController()
        const reason = new Error('enough')
        const abort = async (): Promise<void> => {
          await sleep(200)
          controller.abort(reason)
        }
        const buyer = buyerOf(market)
        const lookUp = buyer.lookUp.bind(buyer)
        buyer.lookUp = async (...args) => {
          if (when === 'the ledger is asked') await abort()
          return lookUp(...args)
        }
        const pay = payingFetch(buyer, { fetch })
        shown.length = 0
        const response = await pay(address, { signal: controller.signal })
        if (when === 'the caller waits') await abort()
        await assert.rejects(response.text(), { name: 'LostResponseError', cause: reason })
        // The same payment is sent again, instead of a second one.
        assert.equal(await (await pay(address)).text(), 'sunny')
        assert.deepEqual([shown.length, new Set(shown).size, buyer.payments.all().length], [2, 1, 1])
      })
    }
  }
})

test('A5 a callback that throws neither hides the payment nor loses the paid response', { timeout }, async (t) => {
  const market = await openMarket(t)
  for (const isLost of [false, true]) {
    const buyer = buyerOf(market)
    const { fetch, shown } = shop((_, transaction) => {
      if (transaction === undefined) return paymentRequired(market)
      if (isLost && shown.filter((id) => id !== undefined).length < 6) throw new TypeError('fetch failed')
      return receipt({ transaction })
    })
    const onPayment = (): void => {
      throw new Error('the database is closed')
    }
    await assert.rejects(payingFetch(buyer, { fetch, repeatMs, onPayment })(url), (error: LostResponseError) => {
      assert.equal(error.name, 'LostResponseError')
      assert.deepEqual(
        [error.transactionId],
        buyer.payments.all().map(({ transactionId }) => transactionId),
      )
      return true
    })
    // The same payment gets the answer.
    const again = await payingFetch(buyer, { fetch, repeatMs })(url)
    assert.deepEqual([again.status, buyer.payments.all().length], [200, 1])
  }
})
