import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Network } from '@latchkey/algorand'
import {
  address,
  ask,
  network,
  newLedger,
  priced,
  requiredIn,
  responseOf,
  seller,
  stubChain,
  stubFacilitator,
} from '../stubs.test.helper.js'
import { completeOptions } from './completeOptions.js'
import { Gate } from './Gate.js'
import type { GateOptions } from './GateOptions.js'

const facilitators = stubFacilitator(newLedger())
const routes = { 'GET /weather': '$0.01' }

async function openShort(options: Partial<GateOptions>) {
  const ledger = newLedger()
  const chain = await stubChain(ledger)
  const short = { facilitators: stubFacilitator(ledger), chains: chain, payTo: seller, onError: () => {} }
  return { gate: await Gate.open({ ...short, routes, ...options }), ledger, chain }
}

test('a route that is only a price is paid to the payee of the gate', async () => {
  const required = await priced(await openShort({}), '/weather')
  assert.deepEqual(
    required.accepts.map(({ payTo, amount }) => [payTo, amount]),
    required.accepts.map(() => [seller, '10000']),
  )
})

test('a route keeps its own payee, and takes the one of the gate where it names none', async () => {
  const own = address()
  const accepts = [{ price: '$0.01', payTo: own }, { price: '$0.02' }]
  const { routes: completed } = await completeOptions({
    facilitators,
    payTo: seller,
    chains: await stubChain(newLedger()),
    routes: { 'GET /weather': { accepts, description: 'now' } },
  })
  assert.deepEqual(completed['GET /weather'], {
    description: 'now',
    accepts: [
      { price: '$0.01', payTo: own },
      { price: '$0.02', payTo: seller },
    ],
  })
})

test('a price by usage needs no further options', async () => {
  const { routes: completed } = await completeOptions({
    facilitators,
    payTo: seller,
    chains: await stubChain(newLedger()),
    routes: { 'POST /ask': { upTo: '$0.50' } },
  })
  assert.deepEqual(completed['POST /ask'], { accepts: [{ price: { upTo: '$0.50' }, payTo: seller }] })
})

test('is on TestNet by default, and on MainNet if that is named', async () => {
  const of = async (options: Partial<GateOptions>) => {
    const { chains } = await completeOptions({ routes, facilitators, payTo: seller, ...options })
    return [chains].flat().map(({ caip2 }) => caip2)
  }
  assert.deepEqual(await of({}), [network])
  assert.deepEqual(await of({ network: 'mainnet' }), [Network.mainnet.caip2])
})

test('refuses members that are there and not set, as an unset environment variable leaves them', async () => {
  const base = { routes, facilitators, payTo: seller }
  const cases: [GateOptions, RegExp][] = [
    [{ ...base, network: undefined }, /network is not set/],
    [{ ...base, network: '' }, /network is not set/],
    [{ ...base, chains: undefined }, /chains is not set/],
    [{ ...base, payTo: undefined }, /GET \/weather: payTo is not set/],
    [{ ...base, payTo: '' }, /GET \/weather: payTo is not set/],
    [{ ...base, routes: { 'GET /weather': { accepts: { price: '$0.01', payTo: '' } } } }, /payTo is not set/],
    [{ routes, facilitators }, /payTo is not set/],
    [{ ...base, facilitators: '' }, /facilitators is not set/],
    [{ ...base, routes: { 'GET /weather': '' } }, /GET \/weather/],
    [{ ...base, routes: { 'GET /weather': undefined as never } }, /accepts is not set/],
    [{ ...base, routes: undefined as never }, /routes is not set/],
    [{ ...base, network: 'maintnet' }, /maintnet/],
    [{ ...base, network: 'testnet', chains: await stubChain(newLedger()) }, /network and chains are both set/],
  ]
  for (const [options, message] of cases) await assert.rejects(Gate.open(options), message)
})

test('charges what the route says', async () => {
  const { gate } = await openShort({ routes: { 'GET /a': 0.05, 'GET /b': '$0.10' } })
  for (const [path, amount] of [
    ['/a', '50000'],
    ['/b', '100000'],
  ]) {
    const required = requiredIn(responseOf(await gate.decide(ask(path!))))
    assert.equal(required.accepts[0]!.amount, amount)
  }
})
