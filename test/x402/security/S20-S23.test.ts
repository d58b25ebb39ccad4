/** Attacks on a buyer and on the messages between the parties, by row of the list of published weaknesses. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PaymentRefusedError, PaymentRequestError, payingFetch } from '@latchkey/x402/client'
import { httpFacilitator } from '@latchkey/x402/server'
import { altered, headerJson, openMarket, requiredOf } from '../support/market.test.helper.js'
import { cents, openServer, openStall, show } from '../support/stall.test.helper.js'

const market = await openMarket({ after })
const cent = 10_000n

// Published: a limit for each payment only, and a recovery that pays again. Ours: a total limit, and no second payment.
test('S20 the total limit holds for concurrent payments, and a rejected payment is not followed by another', async (t) => {
  const { url } = await openStall(t, market, { routes: cents(market, 'GET /a') })
  const thrifty = market.newBuyer({ maxTotal: '$0.02' }, 1)
  const spend = payingFetch(thrifty)
  const results = await Promise.allSettled(Array.from({ length: 4 }, () => spend(`${url}/a`)))
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 2)
  await assert.rejects(spend(`${url}/a`), PaymentRefusedError)
  const failing = altered(market.local, {
    settle: async (_, { network }) => ({ success: false, errorReason: 'no', transaction: '', network }),
  })
  const broken = await openStall(t, market, { routes: cents(market, 'GET /a'), facilitators: failing })
  const careful = market.newBuyer({}, 2)
  assert.equal((await payingFetch(careful)(`${broken.url}/a`)).status, 402)
  assert.equal(careful.payments.all().length, 1)
})

// Published: any JSON in the header is used. Ours: it is validated against the protocol.
test('S21 malformed payment headers result in 402 without an exception', async (t) => {
  const reported: unknown[] = []
  const { url, runs } = await openStall(t, market, {
    routes: cents(market, 'GET /a'),
    onError: (error) => reported.push(error),
  })
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
  const values = [
    'null',
    '[]',
    '7',
    '""',
    '{}',
    '{"x402Version":2}',
    '{"x402Version":2,"accepted":null,"payload":[]}',
    deep,
  ]
  const good = JSON.parse(Buffer.from(await market.payment(await fetch(`${url}/a`)), 'base64').toString())
  const odd = [
    { ...good, payload: { paymentGroup: [null], paymentIndex: 0 } },
    { ...good, payload: { paymentGroup: ['gA=='], paymentIndex: 0.5 } },
    { ...good, payload: { paymentGroup: [], paymentIndex: 0 } },
    { ...good, accepted: { ...good.accepted, amount: 10_000 } },
    { ...good, resource: { url: 'not an address' } },
  ].map((value) => JSON.stringify(value))
  for (const text of [...values, ...odd]) {
    assert.equal((await show(`${url}/a`, Buffer.from(text).toString('base64'))).status, 402, text.slice(0, 80))
  }
  for (const header of ['%%%', 'e30', 'eyJ4', '']) assert.equal((await show(`${url}/a`, header)).status, 402, header)
  assert.equal(reported.length, 0)
  assert.equal(runs(), 0)
})

// Suspected in the published packages: redirects receive payments and keys. Ours: redirects are not followed with them.
test('S22 payments and API keys do not follow redirects', async (t) => {
  const caught: { [name: string]: unknown }[] = []
  const thief = await openServer(t, (request, response) => {
    caught.push(request.headers)
    response.end('{}')
  })
  const stall = await openStall(t, market, { routes: cents(market, 'GET /a') })
  const elsewhere = await openServer(
    t,
    (_, response) => void response.writeHead(307, { Location: `${stall.url}/a` }).end(),
  )
  const buyer = market.newBuyer({}, 1)
  await assert.rejects(payingFetch(buyer)(`${elsewhere.url}/a`), PaymentRequestError)
  assert.equal(buyer.payments.all().length, 0)

  const { head } = { head: await fetch(`${stall.url}/a`) }
  const required = head.headers.get('payment-required')!
  const trap = await openServer(t, (request, response) => {
    if (request.headers['payment-signature'] === undefined)
      response.writeHead(402, { 'PAYMENT-REQUIRED': required }).end()
    else response.writeHead(307, { Location: thief.url }).end()
  })
  const response = await payingFetch(buyer)(`${trap.url}/a`)
  assert.equal(response.status, 307)

  const redirecting = await openServer(t, (_, response) => void response.writeHead(307, { Location: thief.url }).end())
  const client = httpFacilitator({ url: redirecting.url, apiKey: 'secret' })
  await assert.rejects(async () => client.supported(), /redirects/)
  assert.deepEqual(caught, [])
})

// Published: an id for payments is declared and ignored. Ours: none is declared; the transaction id is used.
test('S23 no payment identifier is declared, and a payment is identified by its transaction id', async (t) => {
  const { url } = await openStall(t, market, { routes: cents(market, 'GET /a') })
  const unpaid = await fetch(`${url}/a`)
  assert.deepEqual(Object.keys(headerJson(unpaid, 'payment-required')['extensions'] as object), ['payment-secret'])
  const header = await market.payment(unpaid, (payload) => {
    payload['extensions'] = { 'payment-identifier': { info: { id: 'an-id-of-sixteen-or-more' }, schema: {} } }
  })
  const before = await market.dollars()
  assert.equal((await show(`${url}/a`, header)).status, 200)
  assert.equal((await requiredOf(await show(`${url}/a`, header))).error, 'payment_already_used')
  assert.equal((await market.dollars()) - before, cent)
})
