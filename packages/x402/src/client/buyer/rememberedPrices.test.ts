import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { PaymentHeaders, type PaymentPayload, type PaymentRequirements, PaymentSecret } from '@latchkey/x402-wire'
import { Buyer, type SignedPayment } from './Buyer.js'
import { type Market, newAddress, newSigner, openMarket, requiring, url } from './market.test.helper.js'
import type { LimitOptions } from './Offer.js'
import { type PayingFetchOptions, payingFetch } from './payingFetch.js'
import { paymentOf, receiptOf } from './sendPayment.js'
import { receipt, settle, shop } from './shop.test.helper.js'

const timeout = 30_000

type Seller = {
  market: Market
  /** The seller's current offers. */
  accepts: PaymentRequirements[]
  hasSecret: boolean
  /** Responds to a request. A refused payment is not settled. */
  respond: ((request: Request, payload: PaymentPayload | undefined) => Response | undefined) | undefined
}

/** A seller that serves payments at its price, settles them on the ledger, and refuses others with 402. */
async function open(t: TestContext, options: PayingFetchOptions = {}, limits: LimitOptions = {}) {
  const market = await openMarket(t)
  const seller: Seller = { market, accepts: [market.requirement], hasSecret: true, respond: undefined }
  const { fetch, shown } = shop(async (request) => {
    const header = request.headers.get(PaymentHeaders.paymentSignature)
    const payload = header === null ? undefined : PaymentHeaders.decodePayment(header)
    const own = seller.respond?.(request, payload)
    if (own !== undefined) return own
    const isPaid = seller.accepts.some((one) => JSON.stringify(one) === JSON.stringify(payload?.accepted))
    if (!isPaid) return priceOf(seller)
    await settle(market, request)
    return receipt({ transaction: shown.at(-1)! })
  })
  const buyer = new Buyer({ signer: market.signer, chains: market.chain, ...limits })
  const pay = payingFetch(buyer, { fetch, repeatMs: 1, ...options })
  return { market, seller, shown, buyer, pay, isPaid: () => shown.map((id) => id !== undefined) }
}

function priceOf({ accepts, hasSecret }: Seller): Response {
  const required = { ...requiring(...accepts), ...(hasSecret ? { extensions: PaymentSecret.declaration() } : {}) }
  return new Response('{}', {
    status: 402,
    headers: { [PaymentHeaders.paymentRequired]: PaymentHeaders.encode(required) },
  })
}

test('a price', async (t) => {
  await t.test('is paid immediately with the second request', { timeout }, async (t) => {
    const { pay, isPaid, shown, buyer } = await open(t)
    for (let count = 0; count < 3; count++) {
      const response = await pay(url)
      assert.equal(await response.text(), 'sunny')
      assert.equal(receiptOf(response)?.transaction, shown.at(-1))
      assert.equal(paymentOf(response)?.state, 'settled')
    }
    assert.deepEqual(isPaid(), [false, true, true, true])
    assert.equal(new Set(shown).size, 4)
    assert.equal(buyer.payments.all().length, 3)
  })

  await t.test('is not remembered for another URL, method or `fetch`', { timeout }, async (t) => {
    const { pay, isPaid, buyer } = await open(t)
    await pay(url)
    await pay(`${url}?city=Oslo`)
    await pay(url, { method: 'HEAD' })
    assert.deepEqual(isPaid(), [false, true, false, true, false, true])
    await pay(`${url}#today`)
    assert.equal(isPaid().length, 7)
    const other = shop(() => new Response('free'))
    await payingFetch(buyer, { fetch: other.fetch })(url)
    assert.deepEqual(other.shown, [undefined])
  })

  await t.test('is not remembered with `rememberPrices: false`', { timeout }, async (t) => {
    const { pay, isPaid } = await open(t, { rememberPrices: false })
    await pay(url)
    await pay(url)
    assert.deepEqual(isPaid(), [false, true, false, true])
  })

  await t.test('is requested first if the caller decides on it', { timeout }, async (t) => {
    const { pay, isPaid } = await open(t, { onPaymentRequired: () => true })
    await pay(url)
    await pay(url)
    assert.deepEqual(isPaid(), [false, true, false, true])
  })

  await t.test('of a seller without the buyer’s secret is not remembered', { timeout }, async (t) => {
    const { pay, isPaid, seller } = await open(t)
    seller.hasSecret = false
    await pay(url)
    await pay(url)
    assert.deepEqual(isPaid(), [false, true, false, true])
  })

  await t.test('does not prevent a request from following a redirect', { timeout }, async (t) => {
    const { pay, isPaid, seller, buyer } = await open(t)
    await pay(url)
    seller.respond = (_, payload) =>
      payload === undefined ? new Response('moved') : new Response('', { status: 302, headers: { Location: '/new' } })
    assert.equal(await (await pay(url)).text(), 'moved')
    assert.deepEqual(isPaid(), [false, true, true, false])
    // Sent payments count until they expire.
    assert.equal(buyer.payments.spent().microDollars, 20_000n)
    seller.respond = undefined
    await pay(url)
    await pay(url)
    assert.deepEqual(isPaid().slice(4), [false, true, false, true])
  })

  await t.test('is paid if the answer is a redirect', { timeout }, async (t) => {
    const { pay, seller, isPaid, market } = await open(t)
    await pay(url)
    const settled: Promise<void>[] = []
    seller.respond = (request, payload) => {
      if (payload === undefined) return undefined
      settled.push(settle(market, request))
      return new Response('', { status: 303, headers: { Location: '/result' } })
    }
    assert.equal((await pay(url)).status, 303)
    await Promise.all(settled)
    assert.deepEqual(isPaid(), [false, true, true])
  })

  await t.test('is forgotten if paying it does not open the request', { timeout }, async (t) => {
    const { pay, isPaid, seller } = await open(t)
    await pay(url)
    seller.respond = (_, payload) => (payload === undefined ? undefined : new Response('free'))
    assert.equal(await (await pay(url)).text(), 'free')
    seller.respond = undefined
    await pay(url)
    assert.deepEqual(isPaid(), [false, true, true, false, true])
  })
})

test('a price that has changed', async (t) => {
  const changes: { [what: string]: (requirement: PaymentRequirements, market: Market) => PaymentRequirements } = {
    amount: (one) => ({ ...one, amount: '20000' }),
    'lower amount': (one) => ({ ...one, amount: '5000' }),
    payee: (one, { devnet }) => {
      const payTo = newAddress()
      devnet.optIn(payTo, BigInt(one.asset))
      return { ...one, payTo }
    },
    facilitator: (one, market) => {
      market.sponsor = newSigner()
      market.devnet.fund(market.sponsor.address, { microAlgos: 10_000_000n })
      return { ...one, extra: { ...one.extra, feePayer: market.sponsor.address } }
    },
  }
  for (const [what, change] of Object.entries(changes)) {
    await t.test(
      `in its ${what} is paid like any other, and the refused payment stays unsettled`,
      { timeout },
      async (t) => {
        const paid: [SignedPayment, string][] = []
        const { pay, isPaid, seller, buyer, shown } = await open(t, {
          onPayment: (payment, _, state) => paid.push([payment, state]),
        })
        await pay(url)
        seller.accepts = [change(seller.market.requirement, seller.market)]
        const response = await pay(url)
        assert.equal(await response.text(), 'sunny')
        assert.deepEqual(isPaid(), [false, true, true, true])
        assert.deepEqual(
          paid.map(([{ payment }, state]) => [payment.transactionId, state]),
          [
            [shown[1], 'settled'],
            [shown[2], 'open'],
            [shown[3], 'settled'],
          ],
        )
        assert.equal(await buyer.lookUp(shown[2]!), 'open')
        // For a while, this origin gets no immediate payments, and the refused one is not sent again.
        await pay(url)
        assert.deepEqual(isPaid().slice(4), [false, true])
        assert.ok(!shown.slice(3).includes(shown[2]))
      },
    )
  }

  await t.test('counts with the refused payment against the limits', { timeout }, async (t) => {
    const { pay, seller, buyer, shown } = await open(t, {}, { maxTotal: '$0.035' })
    await pay(url)
    seller.accepts = [{ ...seller.market.requirement, amount: '20000' }]
    // One cent is settled, one is refused and may be settled, and two more would be four.
    await assert.rejects(async () => pay(url), { name: 'PaymentRefusedError' })
    assert.equal(buyer.payments.spent().microDollars, 20_000n)
    assert.equal(shown.length, 3)
  })

  await t.test('is paid only if both payments are within the limit for one payment', { timeout }, async (t) => {
    const { pay, seller, shown, market, isPaid } = await open(t)
    await pay(url)
    seller.accepts = [{ ...market.requirement, amount: '995000' }]
    const why =
      /was refused and may still be settled; together with it, \$1\.005 is above the limit of \$1 for one payment/
    await assert.rejects(async () => pay(url), { name: 'PaymentRefusedError', message: why })
    assert.deepEqual(isPaid(), [false, true, true])
    // As after any payment without an answer, the same payment is sent again, and no other.
    assert.equal((await pay(url)).status, 402)
    assert.deepEqual([isPaid().slice(3), shown[4]], [[false, true], shown[2]])
  })

  await t.test('is not paid in another asset', { timeout }, async (t) => {
    const assets = [{ asset: 0n, maxPerPayment: 1_000_000n }]
    const { pay, seller, market, isPaid } = await open(t, {}, { assets })
    market.devnet.fund(market.signer.address, { microAlgos: 1_000_000n })
    await pay(url)
    seller.accepts = [{ ...market.requirement, asset: '0' }]
    await assert.rejects(async () => pay(url), {
      name: 'PaymentRefusedError',
      message: /may still be settled, in another/,
    })
    assert.deepEqual(isPaid(), [false, true, true])
  })

  await t.test('is not paid twice if the seller settles a refused payment', { timeout }, async (t) => {
    const { pay, seller, shown, market } = await open(t)
    await pay(url)
    let settling: Promise<void> | undefined
    seller.respond = (request, payload) => {
      if (payload === undefined) return undefined
      settling = settle(market, request)
      return undefined
    }
    seller.accepts = [{ ...market.requirement, amount: '20000' }]
    await assert.rejects(async () => pay(url), { name: 'LostResponseError', state: 'settled' })
    await settling
    assert.equal(shown.length, 3)
  })
})

test('an immediate payment that is refused at the same price is not followed by another', { timeout }, async (t) => {
  const { pay, seller, shown, buyer, isPaid } = await open(t)
  await pay(url)
  seller.respond = (_, payload) => (payload === undefined ? undefined : priceOf(seller))
  assert.equal((await pay(url)).status, 402)
  assert.equal(buyer.payments.all().length, 2)
  assert.equal(shown.length, 3)
  // The same payment is sent again, after the price.
  seller.respond = undefined
  assert.equal((await pay(url)).status, 200)
  assert.deepEqual(isPaid().slice(3), [false, true])
  assert.equal(shown[4], shown[2])
})

test('a price above the balance is requested again', { timeout }, async (t) => {
  const { pay, isPaid, seller, market } = await open(t)
  seller.accepts = [{ ...market.requirement, amount: '990000' }]
  for (let count = 0; count < 5; count++) await pay(url)
  // Of five dollars, 5 cents are left.
  await assert.rejects(async () => pay(url), { name: 'PaymentRefusedError' })
  assert.deepEqual(isPaid(), [false, true, true, true, true, true, false])
})

test('remembers a quoted price until the quote expires, for the same request', { timeout }, async (t) => {
  const { pay, isPaid, seller, market } = await open(t)
  const quoted = (seconds: number): PaymentRequirements => ({
    ...market.requirement,
    extra: { ...market.requirement.extra, quote: `${Math.floor(Date.now() / 1000) + seconds}.mac` },
  })
  seller.accepts = [quoted(60)]
  await pay(url, { headers: { 'X-Tier': '1' } })
  await pay(url, { headers: { 'X-Tier': '1' } })
  assert.deepEqual(isPaid(), [false, true, true])
  await pay(url, { headers: { 'X-Tier': '2' } })
  assert.deepEqual(isPaid().slice(3), [false, true])
  seller.accepts = [quoted(5)]
  await pay(`${url}?b`)
  await pay(`${url}?b`)
  assert.deepEqual(isPaid().slice(5), [false, true, false, true])
})
