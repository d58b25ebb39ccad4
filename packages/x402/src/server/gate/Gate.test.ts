import assert from 'node:assert/strict'
import test from 'node:test'
import { Address, LatchkeyError, Network } from '@latchkey/algorand'
import type { Chain } from '../../chain/Chain.js'
import * as express from '../adapters/express.js'
import * as fastify from '../adapters/fastify.js'
import * as hono from '../adapters/hono.js'
import * as node from '../adapters/node.js'
import {
  address,
  admitted,
  ask,
  feePayer,
  localChain,
  newLedger,
  paymentFor,
  price,
  priced,
  requiredIn,
  responseOf,
  seller,
  stubChain,
  stubFacilitator,
  stubGate,
} from '../stubs.test.helper.js'

test('responds with 402 and the price, in a header and in the body, uncacheable', async () => {
  const { gate } = await stubGate({
    routes: {
      'GET /a': {
        accepts: [price, { ...price, price: { asset: '0', amount: '5' } }],
        description: 'a thing',
        mimeType: 'text/plain',
      },
    },
  })
  const response = responseOf(await gate.decide(ask('/a?x=1')))
  assert.equal(response.status, 402)
  assert.equal(response.headers.get('Cache-Control'), 'no-store')
  const required = requiredIn(response)
  assert.deepEqual(required.resource, {
    url: 'http://shop.example/a?x=1',
    description: 'a thing',
    mimeType: 'text/plain',
  })
  assert.deepEqual(
    required.accepts
      .filter(({ network }) => network === Network.testnet.caip2)
      .map(({ asset, amount }) => [asset, amount]),
    [
      ['10458941', '10000'],
      ['0', '5'],
    ],
  )
  assert.equal(((await response.json()) as { error: string }).error, 'Payment required')
})

test('other routes are free', async () => {
  const { gate } = await stubGate()
  assert.equal((await gate.decide(ask('/b'))).type, 'free')
})

test('refuses other methods of a paid path, unless the route leaves them free', async () => {
  const { gate } = await stubGate()
  const refused = responseOf(await gate.decide(ask('/a', undefined, { method: 'POST' })))
  assert.deepEqual([refused.status, refused.headers.get('allow')], [405, 'GET, HEAD, OPTIONS'])
  const open = await stubGate({ routes: { 'GET /a': { accepts: price, otherMethods: 'free' } } })
  assert.equal((await open.gate.decide(ask('/a', undefined, { method: 'POST' }))).type, 'free')
})

test('refuses a path that matches two routes', async () => {
  const { gate } = await stubGate({
    routes: { 'GET /cheap/*': { accepts: price }, 'GET /dear': { accepts: { ...price, price: '$5' } } },
  })
  assert.equal(responseOf(await gate.decide(ask('/dear'), { path: '/cheap/../dear' })).status, 400)
})

test('refuses an expired payment that a facilitator accepts', async () => {
  const world = await stubGate()
  const { header } = paymentFor(await priced(world), world.chain, { round: 100n })
  assert.match(requiredIn(responseOf(await world.gate.decide(ask('/a', header)))).error!, /validity/)
})

test('responds with 503 while no node responds', async () => {
  const world = await stubGate()
  const { header } = paymentFor(await priced(world), world.chain)
  world.ledger.isDown = true
  const response = responseOf(await world.gate.decide(ask('/a', header)))
  assert.equal(response.status, 503)
  assert.equal(response.headers.get('Retry-After'), '5')
})

test('warns if replicas keep their claims in memory', async (t) => {
  const warnings: string[] = []
  const onWarning = (text: string): void => void warnings.push(text)
  await stubGate({ onWarning })
  assert.deepEqual(warnings, [])
  process.env['NODE_APP_INSTANCE'] = '1'
  t.after(() => delete process.env['NODE_APP_INSTANCE'])
  await stubGate({ onWarning })
  assert.match(warnings.join(), /one payment could be used once in each/)
})

test('truncates a facilitator’s texts', async () => {
  const ledger = newLedger()
  const long = 'x'.repeat(100_000)
  const talkative = stubFacilitator(ledger, {
    verify: async () => ({ isValid: false, invalidReason: long, invalidMessage: long }),
  })
  const world = await stubGate({ facilitators: talkative }, ledger)
  const { header } = paymentFor(await priced(world), world.chain)
  const response = responseOf(await world.gate.decide(ask('/a', header)))
  assert.ok(response.headers.get('PAYMENT-REQUIRED')!.length < 4_000)
})

test('opens with a warning without a facilitator or node, but not with an invalid price', async () => {
  const ledger = newLedger()
  const silent = stubFacilitator(ledger, {
    supported: async () => {
      throw new Error('silent')
    },
  })
  const warnings: string[] = []
  const onWarning = (text: string): void => void warnings.push(text)
  const { gate } = await stubGate({ facilitators: silent, onWarning }, ledger)
  assert.match(warnings[0]!, /no facilitator currently serves .* responds with 503/)
  assert.equal(responseOf(await gate.decide(ask('/a'))).status, 503)
  const down = { ...newLedger(), isDown: true }
  await stubGate({ onWarning }, down)
  assert.match(warnings[1]!, /cannot check whether payments can be received/)
  const bad = { 'GET /a': { accepts: { ...price, price: '$0.00000001' } } }
  await assert.rejects(stubGate({ facilitators: silent, routes: bad }, ledger), /GET \/a: .*too many decimals/)
  const stranger = { 'GET /a': { accepts: { ...price, payTo: address() } } }
  await assert.rejects(stubGate({ routes: stranger }), /not opted in/)
})

test('accepts only a valid origin', async () => {
  const { gate } = await stubGate({ origin: 'https://shop.example/' })
  const required = requiredIn(responseOf(await gate.decide(new Request('http://10.0.0.1:3000/a'))))
  assert.equal(required.resource.url, 'https://shop.example/a')
  for (const origin of ['shop.example', 'https://shop.example/path', 'ftp://shop.example', 'https://x/?a']) {
    await assert.rejects(stubGate({ origin }), /origin cannot be/, origin)
  }
  assert.ok(seller)
})

test('reports unset options with a code and a hint when it opens', async () => {
  const accepting = (change: object) => ({ routes: { 'GET /a': { accepts: { ...price, ...change } } } })
  const bad: [object, string, RegExp][] = [
    [accepting({ payTo: undefined }), 'invalid_gate_option', /GET \/a: payTo is not set/],
    [accepting({ payTo: '' }), 'invalid_gate_option', /GET \/a: payTo is not set/],
    [accepting({ payTo: 5 }), 'invalid_gate_option', /GET \/a: payTo is not an Algorand address/],
    [accepting({ payTo: Address.encode(new Uint8Array(32)) }), 'invalid_gate_option', /payTo is the zero address/],
    [accepting({ price: undefined }), 'invalid_gate_option', /GET \/a: undefined is not a price/],
    [accepting({ network: '' }), 'invalid_gate_option', /GET \/a: network is empty/],
    [{ routes: { 'GET /a': undefined } }, 'invalid_gate_option', /GET \/a: accepts is not set/],
    [{ routes: { 'GET /a': { accepts: [price, undefined] } } }, 'invalid_gate_option', /GET \/a: accepts is not set/],
    [{ routes: undefined }, 'invalid_route', /routes is not set/],
    [{ facilitators: undefined }, 'invalid_option', /facilitators is not set/],
    [{ facilitators: [undefined] }, 'invalid_option', /facilitators is not set/],
    [{ facilitators: [] }, 'invalid_option', /facilitators is empty/],
    [{ facilitators: {} }, 'invalid_option', /facilitators/],
    [{ chains: undefined }, 'invalid_option', /chains is not set/],
    [{ chains: [] }, 'invalid_option', /chains is empty/],
    [{ chains: Promise.resolve() }, 'invalid_option', /chains/],
  ]
  for (const [options, code, message] of bad) {
    await assert.rejects(stubGate(options as object), (error: LatchkeyError) => {
      assert.ok(error instanceof LatchkeyError, String(error))
      assert.deepEqual([error.code, (error.hint ?? '') !== ''], [code, true])
      assert.match(error.message, message)
      return true
    })
  }
})

test('uses the network of the only chain, unless one is named', async () => {
  const { network: _, ...accepts } = price
  const world = await stubGate({ routes: { 'GET /a': { accepts } } })
  const required = await priced(world)
  assert.deepEqual(
    required.accepts.map((one) => one.network),
    world.chain.ids,
  )
  const ledger = newLedger()
  const chains = [await stubChain(ledger), await localChain(1)]
  await assert.rejects(stubGate({ routes: { 'GET /a': { accepts } }, chains }, ledger), {
    code: 'invalid_gate_option',
    message: 'GET /a: network is not set, and there are 2 chains',
    hint: /chain\.caip2/,
  })
})

test('`local` is the local chain, and an error if there is none or more than one', async () => {
  const local = { accepts: { network: 'local', price: { asset: '0', amount: '5' }, payTo: seller } }
  const chain = await localChain(1)
  const supported = () => ({
    kinds: [{ x402Version: 2, scheme: 'exact', network: chain.caip2 as never, extra: { feePayer } }],
    extensions: [],
    signers: {},
  })
  const ledger = newLedger()
  const facilitators = stubFacilitator(ledger, { supported })
  const open = (chains: Chain[]) => stubGate({ routes: { 'GET /a': local }, chains, facilitators }, ledger)
  const { gate } = await open([await stubChain(ledger), chain])
  const required = requiredIn(responseOf(await gate.decide(ask('/a'))))
  assert.deepEqual(
    required.accepts.map((one) => one.network),
    chain.ids,
  )
  await assert.rejects(open([chain, await localChain(2)]), { message: 'GET /a: there are 2 local chains' })
  await assert.rejects(open([await stubChain(ledger)]), {
    message: 'GET /a: no chain was passed for the local network',
    hint: /Chain\.open\(\{ network: "local" \}\)/,
  })
  const misspelt = { 'GET /a': { accepts: { ...price, network: 'localnet' } } }
  await assert.rejects(stubGate({ routes: misspelt }), { hint: /network: "local"/ })
})

test('the hint tells how the receiver opts in, and the message does not', async () => {
  const payTo = address()
  const routes = { 'GET /a': { accepts: { ...price, payTo } } }
  await assert.rejects(stubGate({ routes }), {
    code: 'receiver_not_opted_in',
    message: `GET /a: ${payTo} cannot be paid in USDC: it is not opted in to asset 10458941`,
    hint: `Opt in, which reserves 0.1 ALGO: latchkey opt-in 10458941 --account ${payTo} --network testnet.`,
  })
})

test('adapters refuse anything other than a gate', async () => {
  const { gate } = await stubGate()
  for (const bad of [undefined, Promise.resolve(gate)] as never[]) {
    for (const adapt of [() => express.paymentGate(bad), () => hono.paymentGate(bad)]) {
      assert.throws(adapt, { code: 'invalid_option' })
    }
    assert.throws(() => node.paymentGate(bad, () => {}), { code: 'invalid_option' })
    assert.throws(() => fastify.paymentGate({} as never, bad), { code: 'invalid_option' })
  }
})

test('a quote of one host is not valid for another, because each may have its own payee', async () => {
  const other = address()
  const payTo = ({ url }: Request): string => (new URL(url).host === 'other.example' ? other : seller)
  const world = await stubGate({ routes: { 'GET /a': { accepts: { ...price, payTo } } } })
  const at = (host: string, header?: string) => world.gate.decide(new Request(`http://${host}/a`, ask('/a', header)))
  const required = requiredIn(responseOf(await at('other.example')))
  assert.equal(required.accepts[0]!.payTo, other)
  const { header } = paymentFor(required, world.chain)
  assert.equal(responseOf(await at('shop.example', header)).status, 402)
  admitted(await at('other.example', header))
})

test('warns at the start about prices whose header does not pass a proxy with a buffer of 4 kB', async () => {
  const warningsFor = async (count: number, accept: object = price): Promise<string[]> => {
    const warnings: string[] = []
    const accepts = Array.from({ length: count }, () => accept) as never
    await stubGate({ routes: { 'GET /a': { accepts } }, onWarning: (text) => warnings.push(text) })
    return warnings
  }
  for (const count of [1, 2]) assert.deepEqual(await warningsFor(count), [])
  const [warning, ...more] = await warningsFor(6)
  assert.match(warning ?? '', /^GET \/a: the header PAYMENT-REQUIRED has \d+ bytes/)
  assert.deepEqual(more, [])
  assert.deepEqual(await warningsFor(6, { ...price, price: () => '$0.01' }), [], 'known with a request only')
})
