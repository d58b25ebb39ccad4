/** Purchases that buyers name, without a network: requests that wait, and first payments that end. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { PaymentHeaders, PaymentIdentifier, type PaymentRequired } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import { MemoryClaims } from '../store/Claims.js'
import {
  admitted,
  answer,
  ask,
  newLedger,
  paymentFor,
  price,
  priced,
  responseOf,
  stubFacilitator,
  stubGate,
} from '../stubs.test.helper.js'

const id = 'order-2026-11-17-0001'

/** A fresh payment: each round gives another transaction. */
function named(required: PaymentRequired, chain: Chain, round: bigint, name = id) {
  const { payload, transactionId } = paymentFor(required, chain, { round })
  const { extensions } = required
  const header = PaymentHeaders.encode(PaymentIdentifier.add({ ...payload, extensions: extensions! }, name))
  return { header, transactionId }
}

async function openShop(options: Parameters<typeof stubGate>[0] = {}, ledger = newLedger()) {
  const world = await stubGate({ paymentIdentifier: 'optional', ...options }, ledger)
  const required = await priced(world)
  const send = (round: bigint, name?: string) =>
    world.gate.decide(ask('/a', named(required, world.chain, round, name).header))
  return { ...world, required, send }
}

test('requests beyond a limit do not wait for an earlier one, and the others get its answer', async () => {
  const shop = await openShop()
  const first = admitted(await shop.send(1_000n))
  const later = Array.from({ length: 20 }, (_, index) => shop.send(1_001n + BigInt(index % 3)))
  const { status, headers } = responseOf(await Promise.race(later))
  assert.deepEqual([status, headers.get('Retry-After')], [503, '5'])
  await first.settle(answer)
  const statuses = (await Promise.all(later)).map((decision) => responseOf(decision).status)
  assert.equal(statuses.filter((one) => one === 200).length, 16)
  assert.equal(statuses.filter((one) => one === 503).length, 4)
  assert.equal(shop.ledger.transactions.size, 1)
})

test('a first payment that can never be settled is replaced by the next', async () => {
  const ledger = newLedger()
  const stub = stubFacilitator(ledger)
  let isPending = true
  const facilitators = stubFacilitator(ledger, {
    settle: async (payload, requirements) => {
      if (!isPending) return stub.settle(payload, requirements)
      return { success: false, errorReason: 'settlement_pending', transaction: '', network: requirements.network }
    },
  })
  const claims = new MemoryClaims()
  const before = await openShop({ facilitators, claims }, ledger)
  const pending = await admitted(await before.send(1_000n)).settle(answer)
  assert.ok('response' in pending && pending.response.status === 503)
  isPending = false
  ledger.round += 500n
  // A gate that has not asked for the round before.
  const shop = await openShop({ facilitators, claims }, ledger)
  const next = named(shop.required, shop.chain, ledger.round)
  const result = await admitted(await shop.gate.decide(ask('/a', next.header))).settle(answer)
  assert.ok('headers' in result)
  assert.deepEqual([...ledger.transactions.keys()], [next.transactionId])
})

test('a purchase whose answer is no longer held is refused with 409 and its transaction', async (t) => {
  const shop = await openShop()
  const first = named(shop.required, shop.chain, 1_000n)
  await admitted(await shop.gate.decide(ask('/a', first.header))).settle(answer)
  assert.equal(await responseOf(await shop.send(1_001n)).text(), 'goods')
  const now = Date.now()
  t.mock.method(Date, 'now', () => now + 6 * 60_000)
  const response = responseOf(await shop.send(1_001n))
  const { error, transaction } = (await response.json()) as { error: string; transaction: string }
  assert.deepEqual([response.status, error, transaction], [409, 'payment_identifier_used', first.transactionId])
  assert.equal(shop.ledger.transactions.size, 1)
})

test('a fresh payment that a facilitator refuses learns nothing of the purchase', async () => {
  const ledger = newLedger()
  let isValid = true
  const facilitators = stubFacilitator(ledger, {
    verify: async () => (isValid ? { isValid } : { isValid, invalidReason: 'invalid_signature' }),
  })
  for (const paymentFlow of ['authorization', 'upfront'] as const) {
    const accepts = { ...price, paymentFlow }
    const shop = await openShop({ facilitators, routes: { 'GET /a': { accepts } } }, ledger)
    isValid = true
    await admitted(await shop.send(1_000n, `${paymentFlow}-0123456789`)).settle(answer)
    isValid = false
    for (const name of [`${paymentFlow}-0123456789`, 'a-name-that-no-one-used']) {
      const response = responseOf(await shop.send(1_002n, name))
      assert.equal(response.status, 402)
      assert.equal(((await response.json()) as { error: string }).error, 'invalid_signature')
    }
  }
})

test('a store that keeps no purchases, and another value, are refused at start', async () => {
  const claims = Object.assign(new MemoryClaims(), { hasPurchases: false })
  await assert.rejects(stubGate({ paymentIdentifier: 'optional', claims }), { code: 'invalid_gate_option' })
  await assert.rejects(stubGate({ paymentIdentifier: true as never }), { code: 'invalid_gate_option' })
  await stubGate({ claims })
})
