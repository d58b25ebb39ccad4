/** The hooks of a buyer: refusals, hooks that fail, and headers that open a request unpaid. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { openMarket, url } from './market.test.helper.js'
import { payingFetch } from './payingFetch.js'
import { buyerOf, paymentRequired, receipt, shop } from './shop.test.helper.js'

test('a hook that refuses, throws, hangs or returns junk pays nothing', async (t) => {
  const market = await openMarket(t)
  const { fetch, shown } = shop(() => paymentRequired(market))
  const hooks: [string, () => unknown][] = [
    ['payment_refused', () => ({ abort: true, reason: 'closed', message: 'not now' })],
    ['hook_decision_failed', () => Promise.reject(new Error('away'))],
    ['hook_decision_failed', () => new Promise(() => {})],
    ['hook_decision_failed', () => true],
  ]
  for (const [code, hook] of hooks) {
    const buyer = buyerOf(market)
    const pay = payingFetch(buyer, { fetch, hookTimeoutMs: 30, onBeforePaymentCreation: hook as never })
    await assert.rejects(pay(url), { code })
    assert.deepEqual(buyer.payments.all(), [], 'nothing is recorded, so nothing was signed')
  }
  assert.ok(shown.every((transactionId) => transactionId === undefined))
})

test('hooks see the offer, the payment and the receipt, and cannot change them', async (t) => {
  const market = await openMarket(t)
  const { fetch } = shop((_, transaction) =>
    transaction === undefined ? paymentRequired(market) : receipt({ transaction }),
  )
  const seen: unknown[] = []
  const pay = payingFetch(buyerOf(market), {
    fetch,
    onBeforePaymentCreation: ({ selectedRequirements }) => {
      seen.push(selectedRequirements.amount)
      assert.throws(() => Object.assign(selectedRequirements, { amount: '1' }))
      return undefined
    },
    onPaymentResponse: ({ settleResponse }) => seen.push(settleResponse?.success),
  })
  assert.equal(await (await pay(url)).text(), 'sunny')
  assert.deepEqual(seen, ['10000', true])
})

test('headers of onPaymentRequired are tried before anything is paid, once', async (t) => {
  const market = await openMarket(t)
  const buyer = buyerOf(market)
  const keys: (string | null)[] = []
  const { fetch, shown } = shop((request) => {
    keys.push(request.headers.get('X-API-Key'))
    return keys.at(-1) === 'known' ? new Response('free') : paymentRequired(market)
  })
  const using = (key: string) =>
    payingFetch(buyer, { fetch, onPaymentRequired: () => ({ headers: { 'X-API-Key': key } }) })
  assert.equal(await (await using('known')(url)).text(), 'free')
  assert.equal((await using('unknown')(url)).status, 402)
  assert.deepEqual(keys, [null, 'known', null, 'unknown'])
  assert.deepEqual([shown.filter((id) => id !== undefined), buyer.payments.all()], [[], []])
})
