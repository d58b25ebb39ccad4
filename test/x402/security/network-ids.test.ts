/** A network has two ids, of which some published packages know only one: both are offered, and are equivalent. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Network } from '@latchkey/algorand'
import type { FacilitatorClient } from '@latchkey/x402/server'
import { altered, headerJson, openMarket, requiredOf } from '../support/market.test.helper.js'
import { cents, openStall, serveFacilitator, show } from '../support/stall.test.helper.js'

const market = await openMarket({ after })
const { chain } = market
const full = Network.fullCaip2(chain.genesisHash)
const both = [full, chain.caip2]
const cent = 10_000n

/** Returns a facilitator that knows only some ids and refuses payments with others, like published ones. */
function knowing(...ids: string[]): FacilitatorClient {
  const isKnown = (...networks: unknown[]): boolean => networks.every((id) => ids.includes(String(id)))
  return altered(market.local, {
    supported: () => {
      const { kinds, ...rest } = market.facilitator.supported()
      return { ...rest, kinds: kinds.filter(({ network }) => ids.includes(network)) }
    },
    verify: async (payload, requirements, ...rest) =>
      isKnown(payload.accepted.network, requirements.network)
        ? market.local.verify(payload, requirements, ...rest)
        : { isValid: false, invalidReason: 'network_mismatch' },
    settle: async (payload, requirements, ...rest) =>
      isKnown(payload.accepted.network, requirements.network)
        ? market.local.settle(payload, requirements, ...rest)
        : { success: false, errorReason: 'network_mismatch', transaction: '', network: requirements.network },
  })
}

test('A15 the facilitator lists both ids over HTTP, the older one first, each with the fee payer', async (t) => {
  const { url } = await serveFacilitator(t, market.facilitator)
  const { kinds } = (await (await fetch(`${url}/supported`)).json()) as {
    kinds: { scheme: string; network: string; extra: { feePayer: string } }[]
  }
  const feePayer = market.devnet.accounts[4]!.address
  assert.deepEqual(
    kinds.map(({ scheme, network, extra }) => [scheme, network, extra.feePayer]),
    ['exact', 'upto'].flatMap((scheme) => both.map((id) => [scheme, id, feePayer])),
  )
})

for (const listed of [both, [full], [chain.caip2]]) {
  const count = listed.length === 2 ? 'both ids' : listed[0] === full ? 'only the older id' : 'only the canonical id'
  test(`A15 with a facilitator that knows ${count}, both are offered and paid`, async (t) => {
    const facilitators = knowing(...listed)
    const { url, runs } = await openStall(t, market, { routes: cents(market, 'GET /a'), facilitators })
    const { accepts } = await requiredOf(await fetch(`${url}/a`))
    assert.deepEqual(
      accepts.map(({ network }) => network),
      both,
    )
    const [one, other] = accepts.map(({ network, ...terms }) => terms)
    assert.deepEqual(one, other, 'one price')
    for (const id of both) {
      const header = await market.payment(await fetch(`${url}/a`), ({ accepted }) => {
        accepted['network'] = id
      })
      const paid = await show(`${url}/a`, header)
      assert.equal(paid.status, 200)
      const receipt = headerJson(paid, 'payment-response')
      assert.deepEqual([receipt['success'], receipt['network']], [true, id], 'in the words of the buyer')
    }
    assert.equal(runs(), 2)
  })
}

test('A15 a payment with one id and again with the other opens one request', async (t) => {
  const { url, runs } = await openStall(t, market, { routes: cents(market, 'GET /a') })
  const before = await market.dollars()
  const header = await market.payment(await fetch(`${url}/a`))
  assert.equal((await show(`${url}/a`, header)).status, 200)
  const payload = JSON.parse(Buffer.from(header, 'base64').toString())
  assert.equal(payload.accepted.network, full)
  payload.accepted.network = chain.caip2
  const again = await show(`${url}/a`, Buffer.from(JSON.stringify(payload)).toString('base64'))
  assert.deepEqual([again.status, (await requiredOf(again)).error], [402, 'payment_already_used'])
  assert.deepEqual([runs(), (await market.dollars()) - before], [1, cent])
})

test('A15 a quote given for one id is valid for the other', async (t) => {
  let microDollars = 10_000
  const price = () => `$${microDollars / 1e6}`
  const routes = { 'GET /a': { accepts: { network: chain.caip2, price, payTo: market.seller } } }
  const { url } = await openStall(t, market, { routes })
  for (const id of both) {
    microDollars = 10_000
    const header = await market.payment(await fetch(`${url}/a`), ({ accepted }) => {
      accepted['network'] = id
    })
    microDollars = 20_000
    assert.equal((await show(`${url}/a`, header)).status, 200, id)
  }
})

test('A15 our buyer treats both ids as one offer, and records the canonical one', async (t) => {
  const { url } = await openStall(t, market, { routes: cents(market, 'GET /a') })
  const buyer = market.newBuyer()
  const required = headerJson(await fetch(`${url}/a`), 'payment-required') as never
  const { offers, reasons } = await buyer.offers(required)
  assert.deepEqual([offers.length, reasons], [1, []])
  const { payment } = await buyer.pay(required)
  assert.equal(payment.network, chain.caip2)
})
