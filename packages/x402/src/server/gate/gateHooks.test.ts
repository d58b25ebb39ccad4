/** The events that a gate reports to its hooks, and the payment that a handler gets from `paymentOf`. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Network } from '@latchkey/algorand'
import { paymentOf } from '../exchange/Payment.js'
import {
  admitted,
  answer,
  ask,
  newLedger,
  paymentFor,
  price,
  priced,
  responseOf,
  seller,
  stubFacilitator,
  stubGate,
  usdc,
} from '../stubs.test.helper.js'
import type { GateOptions, PaymentEvent, PaymentRequiredEvent, RefusedEvent } from './GateOptions.js'

type Told = { name: string; event: Partial<PaymentEvent & PaymentRequiredEvent & RefusedEvent> }

async function hookedGate(options: Partial<GateOptions> = {}, ledger = newLedger()) {
  const told: Told[] = []
  const note = (name: string) => (event: object) => void told.push({ name, event })
  const world = await stubGate(
    {
      onPaymentRequired: note('required'),
      onVerified: note('verified'),
      onSettled: note('settled'),
      onRefused: note('refused'),
      ...options,
    },
    ledger,
  )
  return { ...world, told }
}

test('reports the price, the verified and the settled payment, in order', async () => {
  const world = await hookedGate()
  const { header, transactionId } = paymentFor(await priced(world), world.chain)
  const request = ask('/a', header)
  while (world.told.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  const admission = admitted(await world.gate.decide(request))
  const verified = paymentOf(request)!
  assert.deepEqual(verified, {
    transactionId,
    payer: verified.payer,
    payTo: seller,
    amount: '10000',
    amountText: '0.01 USDC',
    asset: usdc,
    assetName: 'USDC',
    decimals: 6,
    network: Network.testnet.caip2,
    networkName: 'TestNet',
    route: 'GET /a',
    state: 'verified',
    round: undefined,
  })
  assert.match(verified.payer, /^[A-Z2-7]{58}$/)
  await admission.settle(answer)
  assert.equal(paymentOf(request)?.state, 'settled')
  assert.equal(verified.state, 'verified', 'what a caller has does not change')
  await world.gate.close()
  assert.deepEqual(
    world.told.map(({ name }) => name),
    ['required', 'verified', 'settled'],
  )
  const [required, , settled] = world.told.map(({ event }) => event)
  assert.deepEqual(
    [required!.prices, required!.route, required!.path, required!.method],
    [['0.01 USDC'], 'GET /a', '/a', 'GET'],
  )
  assert.deepEqual([settled!.id, settled!.payment!.state, settled!.payment!.round], [transactionId, 'settled', 1_000])
  assert.equal(paymentOf(request)?.round, 1_000, 'the round is looked up beside the response')
  assert.doesNotThrow(() => JSON.stringify(settled))
})

test('reports a settlement once, even if the answer is sent several times', async () => {
  const world = await hookedGate()
  const { header, transactionId } = paymentFor(await priced(world), world.chain)
  const admission = admitted(await world.gate.decide(ask('/a', header)))
  await admission.settle(answer)
  await admission.undelivered()
  const again = ask('/a', header)
  assert.equal(await responseOf(await world.gate.decide(again)).text(), 'goods')
  const repeated = paymentOf(again)
  assert.deepEqual([repeated?.transactionId, repeated?.state, repeated?.round], [transactionId, 'settled', 1_000])
  await world.gate.close()
  assert.equal(world.told.filter(({ name }) => name === 'settled').length, 1)
})

test('a payment of a route that settles first is settled in the handler, with its round', async () => {
  const world = await hookedGate({ routes: { 'POST /a': { accepts: price } } })
  const required = responseOf(await world.gate.decide(ask('/a', undefined, { method: 'POST' })))
  const { header } = paymentFor(
    JSON.parse(Buffer.from(required.headers.get('PAYMENT-REQUIRED')!, 'base64').toString()),
    world.chain,
  )
  const request = ask('/a', header, { method: 'POST' })
  while (world.told.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  const admission = admitted(await world.gate.decide(request))
  assert.equal(paymentOf(request)?.state, 'settled')
  await admission.settle(answer)
  await world.gate.close()
  assert.deepEqual(
    world.told.map(({ name }) => name),
    ['required', 'settled'],
  )
})

test('reports refusals, with the payment if it could be read', async () => {
  const ledger = newLedger()
  const facilitators = stubFacilitator(ledger, {
    verify: async () => ({ isValid: false, invalidReason: 'insufficient_funds', invalidMessage: 'has 0' }),
  })
  const world = await hookedGate({ facilitators, onPaymentRequired: undefined }, ledger)
  const { header, transactionId } = paymentFor(await priced(world), world.chain)
  const request = ask('/a', header)
  assert.equal(responseOf(await world.gate.decide(request)).status, 402)
  assert.equal(paymentOf(request), undefined)
  responseOf(await world.gate.decide(ask('/a', 'nonsense')))
  await world.gate.close()
  const [short, unreadable] = world.told.map(({ event }) => event)
  assert.deepEqual(
    [short!.id, short!.code, short!.message, short!.payment?.state, short!.payment?.amountText],
    [transactionId, 'insufficient_funds', 'has 0', 'failed', '0.01 USDC'],
  )
  assert.deepEqual([unreadable!.code, unreadable!.payment], ['invalid_payload', undefined])
})

test('reports a payment that was not settled, and not one whose handler failed', async () => {
  const ledger = newLedger()
  const facilitators = stubFacilitator(ledger, {
    settle: async (_, { network }) => ({ success: false, errorReason: 'bad', transaction: '', network }),
  })
  const world = await hookedGate({ facilitators, onPaymentRequired: undefined, onVerified: undefined }, ledger)
  const required = await priced(world)
  const { header } = paymentFor(required, world.chain)
  const failed = ask('/a', header)
  await admitted(await world.gate.decide(failed)).cancel()
  assert.equal(paymentOf(failed)?.state, 'failed')
  await admitted(await world.gate.decide(ask('/a', header))).settle(answer)
  await world.gate.close()
  assert.deepEqual(
    world.told.map(({ name, event }) => [name, event.code]),
    [['refused', 'bad']],
  )
})

test('a hook that fails or never ends changes no response', async () => {
  const errors: unknown[] = []
  const world = await stubGate({
    onVerified: () => {
      throw new Error('away')
    },
    onSettled: () => new Promise(() => {}),
    onError: (error) => void errors.push(error),
  })
  const { header } = paymentFor(await priced(world), world.chain)
  const result = await admitted(await world.gate.decide(ask('/a', header))).settle(answer)
  assert.ok('headers' in result)
  await world.gate.close({ timeoutMs: 10 })
  assert.deepEqual(errors.map((error) => (error as { code: string }).code).sort(), [
    'hook_events_dropped',
    'hook_failed',
  ])
})

test('a reporter that throws or rejects changes no response', async () => {
  const broken = [
    () => {
      throw new Error('no log')
    },
    () => Promise.reject(new Error('no log')),
  ]
  for (const onError of broken) {
    const ledger = newLedger()
    const facilitators = stubFacilitator(ledger, { settle: () => Promise.reject(new Error('lost')) })
    const world = await hookedGate({ facilitators, onError }, ledger)
    const { header } = paymentFor(await priced(world), world.chain)
    const result = await admitted(await world.gate.decide(ask('/a', header))).settle(answer)
    assert.ok('response' in result)
    assert.equal(result.response.status, 503)
    await world.gate.close()
  }
})

test('a free route, an unknown object and a forged property have no payment', async () => {
  const world = await stubGate()
  const free = ask('/b', undefined, { headers: { payment: '{"payer":"X"}', 'X-Payment': 'X' } })
  await world.gate.decide(free)
  assert.equal(paymentOf(free), undefined)
  for (const other of [{}, { raw: {} }, { req: { raw: {} } }, null, undefined, 'x']) {
    assert.equal(paymentOf(other as object), undefined)
  }
})
