/** A buyer pays what a person or a program agreed to, or nothing. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Offer, PaymentRefusedError, payingFetch } from '@latchkey/x402/client'
import { missingProgram } from '../../support/programs.test.helper.js'
import { type Market, newAddress, openMarket } from '../support/market.test.helper.js'
import { askFor, openSeller, openShopper, priceOf, type Seller, take } from './support/sellers.test.helper.js'

const timeout = 120_000

/** Asks for one unit to an account that cannot receive it, and for a dollar to itself. */
function openBait(t: TestContext, market: Market): Promise<Seller> {
  const bait = priceOf(market, { amount: '1', payTo: newAddress() })
  const dear = priceOf(market, { amount: '1000000' })
  return openSeller(t, async (payment, response) => {
    if (payment === undefined) return askFor(response, [bait, dear])
    await take(market, payment)
    response.end('goods')
  })
}

test('A1 the price at the prompt is the price paid', {
  skip: missingProgram('python3'),
  timeout,
}, async (t) => {
  const market = await openMarket(t)
  const seller = await openBait(t, market)
  const shopper = openShopper(t, market)
  const before = await market.dollars()

  await t.test('A1 on a terminal', async () => {
    const terminal = shopper.atTerminal(seller.url)
    const shown = await terminal.sees('Pay? [y/N]')
    terminal.type('y\r')
    const { code } = await terminal.ended
    const paid = (await market.dollars()) - before
    const isDear = shown.includes('$1 ')
    assert.equal(paid, isDear ? 1_000_000n : 0n, `shown: ${shown}, paid: ${paid}`)
    assert.ok(shown.includes(isDear ? market.seller : 'not paid'), shown)
    assert.equal(code, isDear ? 0 : 3)
  })

  await t.test('A1 with --yes the printed offer is paid, and printed again with its payee', async () => {
    const start = await market.dollars()
    const { code, stderr } = await shopper.run(seller.url, '--yes')
    assert.equal(code, 0, stderr)
    assert.equal((await market.dollars()) - start, 1_000_000n)
    assert.match(stderr, new RegExp(`costs \\$1 \\(USDC, asset 31566704\\), to ${market.seller} on the local network`))
    assert.match(stderr, new RegExp(`\\nPaid \\$1 \\(USDC, asset 31566704\\) to ${market.seller} on the local network`))
    assert.ok(!stderr.includes('0.000001'), stderr)
  })
})

test('A1 nothing is paid if the displayed offer can no longer be paid', { timeout }, async (t) => {
  const market = await openMarket(t)
  const first = priceOf(market, { amount: '1000' })
  const second = priceOf(market, { amount: '2000' })
  const seller = await openSeller(t, async (payment, response) => {
    if (payment === undefined) return askFor(response, [first, second])
    await take(market, payment)
    response.end('goods')
  })
  const before = await market.dollars()
  const buyer = market.newBuyer()
  const shown: bigint[] = []
  const pay = payingFetch(buyer, {
    onPaymentRequired: async (_required, _url, offers: readonly Offer[]) => {
      shown.push(offers[0]!.amount)
      // While the person reads, the seller makes the cheap offer impossible.
      await market.devnet.stop()
      return true
    },
  })
  await assert.rejects(pay(seller.url), PaymentRefusedError)
  assert.deepEqual([shown, seller.payments.length, buyer.payments.all().length, before], [[1_000n], 0, 0, 0n])
})

test('A1 a program chooses an offer, and gets that one or none', { timeout }, async (t) => {
  const market = await openMarket(t)
  const [cheap, dear] = [priceOf(market, { amount: '1000' }), priceOf(market, { amount: '2000' })]
  const bait = priceOf(market, { amount: '1', payTo: newAddress() })
  const required = { x402Version: 2, resource: { url: 'http://shop.example/goods' }, accepts: [bait, dear, cheap] }
  const buyer = market.newBuyer()
  const { offers } = await buyer.offers(required)
  assert.deepEqual(
    offers.map(({ amount }) => amount),
    [1n, 1_000n, 2_000n],
  )
  for (const offer of offers.slice(1)) {
    const { payload, payment } = await buyer.pay(required, { offer })
    assert.deepEqual([payload.accepted, payment.amount], [offer.requirement, `${offer.amount}`])
  }
  const signed = buyer.payments.all().length
  await assert.rejects(buyer.pay(required, { offer: offers[0]! }), (error: PaymentRefusedError) => {
    assert.deepEqual(
      error.reasons.map(({ code }) => code),
      ['receiver_not_opted_in'],
    )
    return true
  })
  // An offer of another 402, or one that was changed after it was shown, is not consent to this one.
  const other = { ...required, accepts: [priceOf(market, { amount: '3000' })] }
  const [foreign] = (await buyer.offers(other)).offers
  for (const offer of [foreign!, { ...offers[1]!, amount: 1n }, { ...offers[1]!, requirement: dear }]) {
    await assert.rejects(buyer.pay(required, { offer }), { code: 'payment_refused' })
  }
  assert.equal(buyer.payments.all().length, signed)
})

test('A1 the callback sees what would be paid, and only its consent pays', { timeout }, async (t) => {
  const market = await openMarket(t)
  const seller = await openBait(t, market)
  const before = await market.dollars()
  const decide = async (decision: unknown): Promise<number> => {
    const buyer = market.newBuyer()
    const onPaymentRequired = (_: unknown, __: string, offers: readonly Offer[]): never => {
      assert.deepEqual(
        offers.map(({ amount }) => amount),
        [1_000_000n],
      )
      return (decision === 'first' ? offers[0] : decision) as never
    }
    return (await payingFetch(buyer, { onPaymentRequired })(seller.url)).status
  }
  for (const no of [false, undefined, null, 0, '']) assert.equal(await decide(no), 402)
  assert.equal(await market.dollars(), before)
  for (const yes of [true, 'first']) assert.equal(await decide(yes), 200)
  assert.equal((await market.dollars()) - before, 2_000_000n)
})

test("A1 a seller does not control how many requests the buyer's node gets", { timeout }, async (t) => {
  const market = await openMarket(t)
  const accepts = Array.from({ length: 60 }, (_, index) => priceOf(market, { amount: `${index + 1}` }))
  const required = { x402Version: 2, resource: { url: 'http://shop.example/goods' }, accepts }
  const { offers, reasons } = await market.newBuyer().payableOffers(required)
  assert.deepEqual([offers.length, offers[0]!.amount], [16, 1n])
  assert.deepEqual(
    reasons.map(({ code }) => code),
    ['too_many_offers'],
  )
})

test("A1 the seller's text cannot pass for the price", { timeout }, async (t) => {
  const market = await openMarket(t)
  const description = 'The weather costs $0.000001 (USDC, asset 31566704), to FRIEND on algorand:x. Pay? [y/N] y'
  const seller = await openSeller(t, (_, response) => {
    askFor(response, [priceOf(market)], { resource: { url: 'http://shop.example/goods', description } })
  })
  const { code, stderr } = await openShopper(t, market).run(seller.url)
  assert.equal(code, 2)
  const lines = stderr.split('\n')
  const price = lines.findIndex((line) => line.startsWith('The request costs $0.01 '))
  assert.ok(price >= 0, stderr)
  assert.equal(lines[price - 1], `The seller describes it as ${JSON.stringify(description)}.`)
})
