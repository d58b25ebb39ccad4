import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Network } from '@latchkey/algorand'
import type { PaymentPayload, PaymentRequirements } from '../wire/types.js'
import { Facilitators } from './Facilitators.js'
import { type Accept, Requirements } from './Requirements.js'
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
} from './stubs.test.helper.js'

async function requirements(secret?: string, supported?: string) {
  const ledger = newLedger()
  const kinds = [{ x402Version: 2, scheme: 'exact', network: (supported ?? network) as never, extra: { feePayer } }]
  const client = stubFacilitator(ledger, { supported: () => ({ kinds, extensions: [], signers: {} }) })
  const facilitators = new Facilitators([client])
  await facilitators.refresh()
  return new Requirements([await stubChain(ledger)], facilitators, secret)
}

const request = ask('/a')

function paying(accepted: PaymentRequirements): PaymentPayload {
  return { x402Version: 2, accepted: JSON.parse(JSON.stringify(accepted)), payload: {} } as never
}

test('builds what is asked from dollars, from amounts, and from functions', async () => {
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
  assert.deepEqual(await given.build(accept, request, ''), expected)
  const amount = { ...price, price: { asset: '0', amount: '7', extra: { unit: 'ALGO' } } }
  const built = (await given.build(amount, request, ''))!
  assert.deepEqual([built.asset, built.amount, built.extra], ['0', '7', { unit: 'ALGO', feePayer }])
  const functions = { ...price, price: async () => '$0.02', payTo: () => seller, paymentFlow: 'upfront' as const }
  const dynamic = (await given.build(functions, request, ''))!
  assert.equal(dynamic.amount, '20000')
  assert.equal(dynamic.extra['paymentFlow'], 'upfront')
  assert.match(String(dynamic.extra['quote']), /^\d+\.[\w-]{43}$/)
})

test('a dollar price is paid in the asset that extra names, with that asset`s own decimals', async () => {
  const given = await requirements()
  // The Algo has six decimals as the dollar has; what is told to the buyer is the asset, and no longer the wish.
  const built = (await given.build({ ...price, price: '1.5', extra: { asset: 0 } }, request, ''))!
  assert.deepEqual([built.asset, built.amount, built.extra], ['0', '1500000', { feePayer }])
  await assert.rejects(
    given.build({ ...price, extra: { asset: 'USDC' } }, request, ''),
    /extra.asset is not an asset id/,
  )
})

test('refuses what no facilitator or buyer could make sense of', async () => {
  const given = await requirements()
  const bad: [object, RegExp][] = [
    [{ ...price, price: '$0' }, /is zero/],
    [{ ...price, price: null }, /is not a price/],
    [{ ...price, price: { asset: 'x', amount: '1' } }, /not the id of an asset/],
    [{ ...price, price: { asset: '1', amount: '1.5' } }, /not a positive number/],
    [{ ...price, price: { asset: '1', amount: '1', extra: { quote: 'x' } } }, /set by the gate/],
    [{ ...price, payTo: () => 'nobody' }, /payTo is not an Algorand address/],
    [{ ...price, network: 'mainnet' }, /no chain/],
    [{ ...price, maxTimeoutSeconds: 1.5 }, /maxTimeoutSeconds/],
  ]
  for (const [accept, expected] of bad) {
    await assert.rejects(async () => given.build(accept as Accept, request, ''), expected)
  }
  await assert.rejects(requirements('short'), /fewer than 16 characters/)
})

test('finds what a payment was made for by everything that matters', async () => {
  const given = await requirements()
  const asked = [(await given.build({ ...price, extra: { a: { x: 1, y: 2 } } }, request, ''))!]
  const find = (change: object) => given.find(paying({ ...asked[0]!, ...change }), asked, '')
  assert.deepEqual(find({}), asked[0])
  assert.deepEqual(find({ extra: { ...asked[0]!.extra, a: { y: 2, x: 1 }, more: true } }), asked[0])
  const older = { network: `algorand:${Network.testnet.genesisHash}` }
  assert.deepEqual(find(older), asked[0])
  const others = [
    { scheme: 'upto' },
    { network: Network.mainnet.caip2 },
    { amount: '9999' },
    { asset: '0' },
    { payTo: address() },
    { maxTimeoutSeconds: 1 },
    { extra: {} },
    { extra: { ...asked[0]!.extra, a: 1 } },
    { extra: { ...asked[0]!.extra, paymentFlow: 'upfront' } },
    { extra: { ...asked[0]!.extra, feePayer: address() } },
    { extra: undefined },
  ]
  for (const other of others) assert.equal(find(other), undefined, JSON.stringify(other))
})

test('asks in the form of the network`s id that the facilitator uses', async () => {
  const older = `algorand:${Network.testnet.genesisHash}`
  const given = await requirements(undefined, older)
  const asked = [(await given.build(price, request, ''))!]
  assert.equal(asked[0]!.network, older)
  assert.ok(given.find(paying({ ...asked[0]!, network: network as never }), asked, ''))
})

test('a quote is good for what it was made for, as long as it says, and for who knows the secret', async (t) => {
  const secret = 'a secret that is long enough'
  const [given, replica, stranger] = [await requirements(secret), await requirements(secret), await requirements()]
  const quoted = (await given.build({ ...price, price: () => '$0.01' }, request, 'GET /a'))!
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
