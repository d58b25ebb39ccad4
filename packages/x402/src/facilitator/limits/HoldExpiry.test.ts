import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { FakeNode, ok } from '../../../../algod/dist/FakeNode.test.helper.js'
import { sponsored } from '../../../../x402-wire/dist/payments.test.helper.js'
import { openChain, setUp } from '../setup.test.helper.js'
import type { PaymentHold } from '../store/Settlement.js'
import { MemorySettlements } from '../store/Settlements.js'
import { HoldExpiry } from './HoldExpiry.js'
import { Reservations } from './Reservations.js'

async function open(t: TestContext, ...nodes: FakeNode[]) {
  const [chain, store] = [await openChain(...nodes), new MemorySettlements()]
  const reservations = new Reservations((id) => store.get(id))
  const errors: unknown[] = []
  const expiry = new HoldExpiry({ store, reservations, onError: (error) => errors.push(error) })
  t.after(() => expiry.stop())
  expiry.watch(chain)
  const holdFor = (claimant: string) => store.holds.hold({ ...hold, network: chain.caip2, claimant }, {})
  return { store, reservations, expiry, errors, holdFor }
}

const hold: PaymentHold = {
  transactionId: 'T',
  network: '',
  payer: 'P',
  payTo: 'S',
  claimant: 'gate',
  lastValid: 5_000n,
  isPaidAfterwards: true,
  costs: [],
  feeMicroAlgos: 0n,
  feePayer: undefined,
  holdMs: 1,
}

test('the round of the ledger ends a hold, and a node that does not respond does not', async (t) => {
  const node = new FakeNode()
  let round = 5_999
  node.on('GET status', () => ok({ 'last-round': round }))
  const { expiry, errors, holdFor } = await open(t, node)
  assert.equal((await holdFor('gate')).type, 'held')
  for (const next of [5_999, 6_000]) {
    round = next
    await expiry.run()
    assert.equal((await holdFor('stranger')).type, 'claimed', `${next}`)
  }
  node.on('GET status', () => 'drop')
  await expiry.run()
  assert.equal((await holdFor('stranger')).type, 'claimed')
  node.on('GET status', () => ok({ 'last-round': 6_001 }))
  await expiry.run()
  assert.equal((await holdFor('stranger')).type, 'held')
  assert.deepEqual(errors, [])
})

test('a facilitator releases the balance when the ledger is past the last valid round, and watches its networks', async (t) => {
  const { facilitator, node, chain } = await setUp(t)
  const runs: Promise<void>[] = []
  const { run } = HoldExpiry.prototype
  let tick = (): void => {}
  t.mock.method(globalThis, 'setInterval', (work: () => void, ms: number) => {
    if (ms === 60_000) tick = work
    return { unref: () => {} }
  })
  t.mock.method(HoldExpiry.prototype, 'run', function (this: HoldExpiry) {
    const running = run.call(this)
    runs.push(running)
    return running
  })
  node.on('GET holding', () => ok({ 'asset-holding': { amount: 1_000, 'is-frozen': false } }))
  const [first, second] = [sponsored(), sponsored()]
  assert.equal((await facilitator.verify(first.payload, first.requirements)).isValid, true)
  const refused = await facilitator.verify(second.payload, second.requirements)
  assert.equal(refused.invalidReason, 'payer_balance_reserved')
  const { lastRound } = await chain.parameters()
  node.on('GET status', () => ok({ 'last-round': Number(lastRound) + 1_001 }))
  tick()
  await Promise.all(runs)
  assert.equal(runs.length, 1)
  assert.equal((await facilitator.verify(second.payload, second.requirements)).isValid, true)
})
