import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Network } from '@latchkey/algorand'
import type { PaymentPayload, PaymentRequirements } from '@latchkey/x402-wire'
import { Facilitators } from '../exchange/Facilitators.js'
import {
  address,
  ask,
  feePayer,
  network,
  newLedger,
  price,
  seller,
  stubChain,
  stubFacilitator,
  usdc,
} from '../stubs.test.helper.js'
import { type Accept, Requirements } from './Requirements.js'

async function requirements(secret?: string, supported?: string) {
  const ledger = newLedger()
  const kinds = [{ x402Version: 2, scheme: 'exact', network: (supported ?? network) as never, extra: { feePayer } }]
  const client = stubFacilitator(ledger, { supported: () => ({ kinds, extensions: [], signers: {} }) })
  const facilitators = new Facilitators([client])
  await facilitators.refresh()
  return new Requirements({ chains: [await stubChain(ledger)], facilitators, quoteSecret: secret })
}

const priced = { request: ask('/a'), isSafe: true, quoteBinding: '' }

function paying(accepted: PaymentRequirements): PaymentPayload {
  return { x402Version: 2, accepted: JSON.parse(JSON.stringify(accepted)), payload: {} } as never
}

test('builds requirements from dollars, base units and functions', async () => {
  const given = await requirements()
  const extra = { feePayer, name: 'x' }
  const accept: Accept = { ...price, extra: { name: 'x' }, maxTimeoutSeconds: 60 }
  const expected = {
    scheme: 'exact',
    network,
    amount: '10000',
    asset: usdc,
    payTo: seller,
    maxTimeoutSeconds: 60,
    extra,
  }
  assert.deepEqual(await given.build(accept, priced), expected)
  const amount = { ...price, price: { asset: '0', amount: '7', extra: { unit: 'ALGO' } } }
  const built = (await given.build(amount, priced))!
  assert.deepEqual([built.asset, built.amount, built.extra], ['0', '7', { unit: 'ALGO', feePayer }])
  const functions = { ...price, price: async () => '$0.02', payTo: () => seller, paymentFlow: 'upfront' as const }
  const dynamic = (await given.build(functions, priced))!
  assert.equal(dynamic.amount, '20000')
  assert.equal(dynamic.extra['paymentFlow'], 'upfront')
  assert.match(String(dynamic.extra['quote']), /^\d+\.[\w-]{43}$/)
})

test('a price in dollars is paid in extra.asset, with its decimals', async () => {
  const given = await requirements()
  // ALGO has six decimals, like the dollar. `extra.asset` itself is not sent to the buyer.
  const built = (await given.build({ ...price, price: '1.5', extra: { asset: 0 } }, priced))!
  assert.deepEqual([built.asset, built.amount, built.extra], ['0', '1500000', { feePayer }])
  await assert.rejects(given.build({ ...price, extra: { asset: 'USDC' } }, priced), /extra.asset is not an asset id/)
})

test('refuses invalid routes', async () => {
  const given = await requirements()
  const bad: [object, RegExp][] = [
    [{ ...price, price: '$0' }, /is zero/],
    [{ ...price, price: null }, /is not a price/],
    [{ ...price, price: { asset: 'x', amount: '1' } }, /not an asset id/],
    [{ ...price, price: { asset: '1', amount: '1.5' } }, /not a positive number/],
    [{ ...price, price: { asset: '1', amount: '99999999999999999999' } }, /not a positive number/],
    [{ ...price, price: '$99999999999999999999' }, /more than any account can hold/],
    [{ ...price, price: { asset: '1', amount: '1', extra: { quote: 'x' } } }, /reserved: the gate sets it/],
    [{ ...price, payTo: () => 'invalid' }, /payTo is not an Algorand address/],
    [{ ...price, payTo: () => Address.encode(new Uint8Array(32)) }, /payTo is the zero address/],
    [{ ...price, network: 'mainnet' }, /no chain/],
    [{ ...price, maxTimeoutSeconds: 1.5 }, /maxTimeoutSeconds/],
  ]
  for (const [accept, expected] of bad) {
    await assert.rejects(async () => given.build(accept as Accept, priced), expected)
  }
  assert.throws(
    () => given.check({ ...price, price: { upTo: '$1', whenUnste: 'maximum' } } as Accept),
    /unknown member "whenUnste"/,
  )
  await assert.rejects(requirements('short'), /fewer than 16 characters/)
})

test('matches a payment by all terms', async () => {
  const given = await requirements()
  const current = [(await given.build({ ...price, extra: { a: { x: 1, y: 2 } } }, priced))!]
  const find = (change: object) => given.find(paying({ ...current[0]!, ...change }), current, '')
  assert.deepEqual(find({}), current[0])
  assert.deepEqual(find({ extra: { ...current[0]!.extra, a: { y: 2, x: 1 }, more: true } }), current[0])
  const older = { network: `algorand:${Network.testnet.genesisHash}` }
  assert.deepEqual(find(older), { ...current[0], ...older }, 'with the id of the buyer')
  const others = [
    { scheme: 'upto' },
    { network: Network.mainnet.caip2 },
    { amount: '9999' },
    { asset: '0' },
    { payTo: address() },
    { maxTimeoutSeconds: 1 },
    { extra: {} },
    { extra: { ...current[0]!.extra, a: 1 } },
    { extra: { ...current[0]!.extra, paymentFlow: 'upfront' } },
    { extra: { ...current[0]!.extra, feePayer: address() } },
    { extra: undefined },
  ]
  for (const other of others) assert.equal(find(other), undefined, JSON.stringify(other))
})

test('A15 offers both ids of the network, the older one first, for either id that the facilitator lists', async () => {
  const older = `algorand:${Network.testnet.genesisHash}`
  for (const listed of [older, network]) {
    const given = await requirements(undefined, listed)
    for (const dynamic of [price, { ...price, price: () => '$0.01' }]) {
      const current = [(await given.build(dynamic, priced))!]
      const offered = given.offered(current)
      assert.deepEqual(
        offered,
        [older, network].map((id) => ({ ...current[0], network: id })),
      )
      for (const one of offered) assert.equal(given.find(paying(one), current, '')?.network, one.network)
    }
  }
})

test('A15 a quote is valid for both ids of its network', async () => {
  const given = await requirements()
  const quoted = (await given.build({ ...price, price: () => '$0.01' }, { ...priced, quoteBinding: 'GET /a' }))!
  for (const one of given.offered([quoted])) {
    assert.equal(given.find(paying(one), [], 'GET /a')?.network, one.network)
  }
  const other = { ...quoted, network: Network.mainnet.caip2 as never }
  assert.equal(given.find(paying(other), [], 'GET /a'), undefined)
})

test('a quote is valid for its request, until it expires, with the same secret', async (t) => {
  const secret = 'a secret that is long enough'
  const [given, replica, stranger] = [await requirements(secret), await requirements(secret), await requirements()]
  const quoted = (await given.build({ ...price, price: () => '$0.01' }, { ...priced, quoteBinding: 'GET /a' }))!
  const payment = paying(quoted)
  assert.ok(given.find(payment, [], 'GET /a'))
  assert.ok(replica.find(payment, [], 'GET /a'))
  assert.equal(stranger.find(payment, [], 'GET /a'), undefined)
  assert.equal(given.find(payment, [], 'GET /b'), undefined)
  for (const change of [{ amount: '1' }, { payTo: address() }, { asset: '0' }, { extra: { ...quoted.extra, x: 1 } }]) {
    assert.equal(given.find(paying({ ...quoted, ...change }), [], 'GET /a'), undefined, JSON.stringify(change))
  }
  const later = Date.now() + 301_000
  t.mock.method(Date, 'now', () => later)
  assert.equal(given.find(payment, [], 'GET /a'), undefined)
})
