import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeNode, ok } from '../../../../algod/dist/FakeNode.test.helper.js'
import { type Made, sponsor, sponsored } from '../../../../x402-wire/dist/payments.test.helper.js'
import { openChain } from '../setup.test.helper.js'
import { type VerifiedPayment, verifyPayment } from '../verify/verifyPayment.js'
import { Reservations } from './Reservations.js'

async function open(balance: number) {
  const node = new FakeNode()
  const chain = await openChain(node)
  let now = 1_000
  let left = balance
  /** Settlements of another process. */
  const elsewhere = new Map<string, { state: 'pending' | 'settled' | 'failed' }>()
  node.on('GET holding', () => ok({ 'asset-holding': { amount: left, 'is-frozen': false } }))
  const reservations = new Reservations(
    (id) => elsewhere.get(id),
    () => now,
  )
  const limits = { maxFeeMicroAlgosPerTransaction: 5_000n, maxValidityRounds: 1_000n }
  const options = { chains: [chain], feePayers: new Set([sponsor.address]), ...limits }
  const payment = ({ payload, requirements }: Made = sponsored()): VerifiedPayment =>
    verifyPayment(payload, requirements, options)
  const hold = (one: VerifiedPayment, change: { claimant?: string; startedMs?: number; holdMs?: number } = {}) =>
    reservations.hold(one, { claimant: '', key: 'k', startedMs: now, holdMs: 60_000, ...change }).then(
      () => 'held',
      (error: { code: string }) => error.code,
    )
  const idOf = ({ group }: VerifiedPayment): string => group.transactionId
  const pass = (ms: number): void => {
    now += ms
  }
  const spend = (amount: number): void => {
    left -= amount
  }
  return { node, reservations, payment, hold, idOf, pass, spend, elsewhere }
}

test('looks up no balance for the first payment of an account, and one for further payments', async () => {
  const { node, payment, hold } = await open(1_000)
  assert.equal(await hold(payment()), 'held')
  assert.deepEqual(node.requests, [])
  assert.equal(await hold(payment()), 'payer_balance_reserved')
  assert.deepEqual(node.requests, ['GET holding'])
})

test('reuses a balance for a second, unless a payment was settled', async () => {
  const { node, reservations, payment, hold, idOf, pass, spend } = await open(10_000)
  const first = payment()
  assert.equal(await hold(first), 'held')
  for (let time = 0; time < 3; time++) assert.equal(await hold(payment()), 'held')
  assert.equal(node.count('GET holding'), 1)
  pass(1)
  reservations.startSettling(idOf(first))
  spend(1_000)
  reservations.end(idOf(first), true)
  pass(1)
  assert.equal(await hold(payment()), 'held')
  assert.equal(node.count('GET holding'), 2)
})

test('ignores a simulation from before a settlement', async () => {
  const { reservations, payment, hold, idOf, pass, spend } = await open(1_000)
  const first = payment()
  assert.equal(await hold(first), 'held')
  const startedMs = 1_000
  pass(10)
  spend(1_000)
  reservations.end(idOf(first), true)
  pass(10)
  assert.equal(await hold(payment(), { startedMs }), 'payer_balance_reserved')
})

test('a payment waits for settling ones, and counts them once', async () => {
  const { reservations, payment, hold, idOf, spend } = await open(2_000)
  const [first, second] = [payment(), payment()]
  assert.equal(await hold(first), 'held')
  reservations.startSettling(idOf(first))
  // On the ledger, but not known to be: both the balance and the reservation lack it.
  spend(1_000)
  const waiting = hold(second)
  await new Promise((resolve) => setTimeout(resolve, 20))
  reservations.end(idOf(first), true)
  assert.equal(await waiting, 'held')
})

test('compares a payment that waited with the balance after the settlement', async () => {
  const { reservations, payment, hold, idOf, spend, pass } = await open(1_000)
  const first = payment()
  assert.equal(await hold(first), 'held')
  reservations.startSettling(idOf(first))
  const waiting = hold(payment())
  await new Promise((resolve) => setTimeout(resolve, 20))
  pass(10)
  spend(1_000)
  reservations.end(idOf(first), true)
  assert.equal(await waiting, 'payer_balance_reserved')
})

test('of concurrent payments the first ones are held, in any order of responses', async () => {
  const { node, payment, hold } = await open(3_000)
  const answer = ok({ 'asset-holding': { amount: 3_000, 'is-frozen': false } })
  let count = 0
  node.on('GET holding', async () => {
    await new Promise((resolve) => setTimeout(resolve, 30 - 5 * Math.min(5, count++)))
    return answer
  })
  const results = await Promise.all(Array.from({ length: 6 }, () => hold(payment())))
  assert.deepEqual(results, ['held', 'held', 'held', ...Array<string>(3).fill('payer_balance_reserved')])
})

test('a payment that is too large does not block a later, smaller one', async () => {
  const { payment, hold } = await open(2_000)
  const large = () => {
    const made = sponsored({ aamt: 1_900n })
    return payment({ ...made, requirements: { ...made.requirements, amount: '1900' } })
  }
  const results = await Promise.all([hold(payment()), hold(large()), hold(payment())])
  assert.deepEqual(results, ['held', 'payer_balance_reserved', 'held'])
})

test('a reservation expires, except while it settles', async () => {
  const { reservations, payment, hold, idOf, pass } = await open(1_000)
  const [first, second] = [payment(), payment()]
  assert.equal(await hold(first, { holdMs: 60_000 }), 'held')
  pass(59_999)
  assert.equal(await hold(second), 'payer_balance_reserved')
  pass(1)
  assert.equal(await hold(second, { holdMs: 1e12 }), 'held')
  reservations.startSettling(idOf(second))
  pass(90 * 60_000)
  assert.equal(reservations.isVerified(idOf(second), 'k', ''), false)
  reservations.stopSettling(idOf(second))
  assert.equal(await hold(payment()), 'held', 'not longer than a payment can be valid')
})

test('holds the same payment once, for its first claimant', async () => {
  const { node, reservations, payment, hold, idOf } = await open(1_000)
  const one = payment()
  const both = await Promise.all([hold(one, { claimant: 'a' }), hold(one, { claimant: 'a' })])
  assert.deepEqual([both, reservations.size, node.requests.length], [['held', 'held'], 1, 0])
  assert.equal(await hold(one, { claimant: 'b' }), 'payment_already_claimed')
  assert.throws(() => reservations.isVerified(idOf(one), 'k', 'b'), { code: 'payment_already_claimed' })
  assert.equal(reservations.isVerified(idOf(one), 'k', 'a'), true)
  assert.equal(reservations.isVerified(idOf(one), 'another signature', 'a'), false)
})

test('calls for one payment wait for others of its account together, not in sequence', {
  timeout: 20_000,
}, async () => {
  const { reservations, payment, hold, pass } = await open(1_000)
  const { payer, chain, assetId } = payment()
  const rounds = {
    firstValid: 1n,
    lastValid: 2n,
    feeMicroAlgos: 0n,
    createdMs: 1,
    group: [],
    state: 'pending',
  } as const
  const texts = { network: chain.caip2, payer, payTo: 'S', asset: `${assetId}` }
  reservations.restore({ transactionId: 'STAYS', ...rounds, ...texts, amount: '1000' })
  reservations.restore({ transactionId: 'ENDS', ...rounds, ...texts, amount: '0' })
  const one = payment()
  const all = Array.from({ length: 20 }, () => hold(one))
  await new Promise((resolve) => setTimeout(resolve, 20))
  pass(5_000)
  reservations.end('ENDS', false)
  const [first, ...others] = await Promise.all(all)
  assert.equal(first, 'payer_balance_reserved')
  assert.deepEqual(new Set(others), new Set(['facilitator_busy']))
})

test('holds nothing if the node does not respond', async () => {
  const { node, reservations, payment, hold } = await open(9_000)
  assert.equal(await hold(payment()), 'held')
  node.on('GET holding', () => 'drop')
  assert.equal(await hold(payment()), 'unreachable')
  assert.equal(reservations.size, 1)
  node.on('GET holding', () => ok({ 'asset-holding': { amount: 9_000, 'is-frozen': false } }))
  assert.equal(await hold(payment()), 'held', 'the failed lookup is not used again')
})

test('fees of open payments count together against the fee account', async () => {
  const { node, reservations, payment, hold, idOf, pass } = await open(1_000_000)
  node.on('GET account', () => ok({ amount: 106_000, 'min-balance': 100_000 }))
  const all = Array.from({ length: 5 }, () => payment())
  const results = await Promise.all(all.map((one) => hold(one)))
  const unfunded = 'facilitator_fee_account_unfunded'
  assert.deepEqual(results, ['held', 'held', 'held', unfunded, unfunded])
  reservations.end(idOf(all[0]!), false)
  assert.equal(await hold(payment()), 'held', 'a failure gives it back')
  reservations.end(idOf(all[1]!), true)
  assert.equal(await hold(payment()), unfunded, 'what was spent is missing, also before the next lookup')
  assert.equal(node.count('GET account'), 1)
  pass(3_000)
  node.on('GET account', () => ok({ amount: 200_000, 'min-balance': 100_000 }))
  assert.equal(await hold(payment()), 'held')
})

test('counts settlements of an earlier process', async () => {
  const { reservations, payment, hold, idOf } = await open(1_000)
  const { payer, chain, assetId, amount } = payment()
  const rounds = { firstValid: 1n, lastValid: 2n, feeMicroAlgos: 2_000n, createdMs: 1 }
  const texts = { network: chain.caip2, payer, payTo: 'S', asset: `${assetId}`, amount: `${amount}` }
  reservations.restore({ transactionId: 'OLD', state: 'pending', group: [], ...rounds, ...texts })
  const next = payment()
  const waiting = hold(next)
  reservations.end('OLD', false)
  assert.equal(await waiting, 'held')
  assert.equal(reservations.isVerified(idOf(next), 'k', ''), true)
})

test('finds settlements that another process ended before it refuses a payment, and only then', async () => {
  const { payment, hold, idOf, elsewhere, spend, reservations } = await open(2_000)
  const [first, second] = [payment(), payment()]
  assert.equal(await hold(first), 'held')
  elsewhere.set(idOf(first), { state: 'pending' })
  assert.equal(await hold(second), 'held')
  assert.equal(await hold(payment()), 'payer_balance_reserved', 'pending counts')
  spend(1_000)
  elsewhere.set(idOf(first), { state: 'settled' })
  assert.equal(await hold(payment()), 'payer_balance_reserved', 'the second one still counts')
  assert.equal(reservations.size, 1)
  elsewhere.set(idOf(second), { state: 'failed' })
  const all = await Promise.all([hold(payment()), hold(payment())])
  assert.deepEqual(all.sort(), ['held', 'payer_balance_reserved'])
})

test('releases a payment once if it ends during the balance lookup', async () => {
  const { node, reservations, payment, hold, idOf } = await open(3_000)
  node.on('GET account', () => ok({ amount: 103_000, 'min-balance': 100_000 }))
  assert.equal(await hold(payment()), 'held')
  const second = payment()
  const waiting = hold(second)
  reservations.end(idOf(second), true)
  await waiting
  assert.equal(reservations.isHeld(idOf(second), ''), false)
  assert.equal(await hold(payment()), 'facilitator_fee_account_unfunded', 'the first one is still open')
})

test('every payer has a share of the fee account that others cannot reserve', async () => {
  const { node, reservations, payment, hold, idOf } = await open(1_000_000)
  node.on('GET account', () => ok({ amount: 112_000, 'min-balance': 100_000 }))
  const all = Array.from({ length: 8 }, () => payment())
  const results = await Promise.all(all.map((one) => hold(one)))
  assert.equal(results.filter((result) => result === 'held').length, 6)
  const ofOther = (payer: string): VerifiedPayment => ({ ...payment(), payer })
  for (let time = 0; time < 3; time++) assert.equal(await hold(ofOther('B')), 'held', 'half of it')
  assert.equal(await hold(ofOther('B')), 'facilitator_fee_account_unfunded')
  for (const one of all.slice(0, 5)) reservations.startSettling(idOf(one))
  assert.equal(await hold(ofOther('C')), 'facilitator_fee_account_unfunded', 'what settles is not shared')
  for (const one of all.slice(0, 5)) reservations.setRejected(idOf(one), true)
  assert.equal(await hold(ofOther('D')), 'held', 'what nodes reject is not spent')
  for (const one of all.slice(0, 5)) reservations.setRejected(idOf(one), false)
  assert.equal(await hold(ofOther('C')), 'facilitator_fee_account_unfunded')
  for (const one of all.slice(0, 5)) reservations.end(idOf(one), false)
  assert.equal(await hold(ofOther('C')), 'held')
})
