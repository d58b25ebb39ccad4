/** Several facilitators on one store behave as one. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { missing, ok, refused } from '../../../algod/dist/FakeNode.test.helper.js'
import { sponsored } from '../../../x402-wire/dist/payments.test.helper.js'
import type { FacilitatorOptions } from './FacilitatorOptions.js'
import { Reservations } from './limits/Reservations.js'
import { SharedMemory } from './replicas.test.helper.js'
import { type Setup, setUp } from './setup.test.helper.js'
import { MemorySettlements } from './store/Settlements.js'

async function open(t: TestContext, options: Partial<FacilitatorOptions> = {}, count = 3) {
  const shared = new SharedMemory()
  const replicas: Setup[] = []
  for (let number = 0; number < count; number++) {
    replicas.push(await setUp(t, { ...options, store: shared.store(`R${number}`) }))
  }
  return { shared, replicas }
}

async function until(holds: () => boolean): Promise<void> {
  for (let time = 0; time < 4_000 && !holds(); time++) await sleep(5)
  assert.ok(holds())
}

/** The reservations of all replicas that settle a payment from now on. */
function reservationsOf(t: TestContext): Set<Reservations> {
  const all = new Set<Reservations>()
  const { startSettling } = Reservations.prototype
  t.mock.method(Reservations.prototype, 'startSettling', function (this: Reservations, transactionId: string) {
    all.add(this)
    startSettling.call(this, transactionId)
  })
  return all
}

const confirmed = ok({ 'pool-error': '', 'confirmed-round': 101 })
const submissions = (replicas: readonly Setup[]) => replicas.reduce((sum, { node }) => sum + node.submitted.length, 0)

test('one payment at three replicas at once is submitted once, and all give the same answer', async (t) => {
  const { shared, replicas } = await open(t)
  const { payload, requirements } = sponsored()
  const asks = Array.from({ length: 12 }, (_, index) => replicas[index % 3]!.facilitator.settle(payload, requirements))
  const results = await Promise.all(asks)
  for (const result of results) assert.deepEqual(result, results[0])
  assert.equal(results[0]!.success, true)
  assert.equal(submissions(replicas), 1)
  assert.ok(shared.calls.some((call) => call.endsWith('watch')))
})

test('another replica takes over the lease of a dead one, and sends exactly the recorded bytes', async (t) => {
  const { shared, replicas } = await open(t, { settleTimeoutMs: 10_000 }, 2)
  const [dead, other] = replicas as [Setup, Setup]
  const { payload, requirements, id } = sponsored()
  dead.node.on('POST submit', () => 'hang')
  dead.node.on('GET pending', () => missing)
  void dead.facilitator.settle(payload, requirements)
  await until(() => shared.leases.has(id))
  // The process was killed: it renews nothing, takes over nothing, and none of its calls returns.
  shared.before = (what, owner) => {
    if (owner === 'R0' && what === 'takeOver') throw new Error('killed')
  }
  shared.leases.get(id)!.owner = 'killed'
  const settled = await other.facilitator.settle(payload, requirements)
  assert.equal(settled.success, true)
  const { group, state } = shared.settlements.get(id)!
  assert.deepEqual(other.node.submitted, [Buffer.concat(group)])
  assert.equal(state, 'settled')
})

test('takes over abandoned settlements without a caller, and a lost lease ends the work', async (t) => {
  const { shared, replicas } = await open(t, { settleTimeoutMs: 50 }, 2)
  const [first, second] = replicas as [Setup, Setup]
  const reservations = reservationsOf(t)
  first.node.on('GET pending', () => missing)
  const { payload, requirements, id } = sponsored()
  assert.equal((await first.facilitator.settle(payload, requirements)).errorReason, 'settlement_pending')
  shared.before = (what, owner) => {
    if (owner === 'R0' && what === 'takeOver') throw new Error('the connection broke')
  }
  shared.leases.set(id, { owner: 'killed', untilMs: 0 })
  second.node.on('GET pending', () => confirmed)
  await until(() => shared.settlements.get(id)!.state === 'settled')
  const lookups = first.node.count('GET pending')
  await until(() => first.facilitator.metrics.text().includes('latchkey_facilitator_pending 0'))
  assert.ok(first.node.count('GET pending') <= lookups + 2)
  assert.deepEqual(
    [...reservations].map(({ size }) => size),
    [0],
    'it reserves nothing of its payer here',
  )
})

test('a replica that stalled beyond its lease does not end a settlement that another one has sent', async (t) => {
  const { shared, replicas } = await open(t, { settleTimeoutMs: 10_000 }, 2)
  const [first, second] = replicas as [Setup, Setup]
  const { payload, requirements, id } = sponsored()
  second.node.confirmedRound = undefined
  shared.before = async (what, owner) => {
    if (owner === 'R0' && what === 'takeOver') throw new Error('stopped')
    if (owner === 'R0' && what === 'claimed') await until(() => second.node.submitted.length === 1)
  }
  first.node.on('POST submit', () => refused('TransactionPool.Remember: overspend'))
  first.node.on('GET pending', () => missing)
  const settling = first.facilitator.settle(payload, requirements)
  await until(() => first.node.count('POST submit') > 0)
  second.node.confirmedRound = 104n
  assert.equal((await settling).success, true)
  assert.equal(shared.settlements.get(id)!.state, 'settled')
})

test('a replica that loses its lease while recording a failure answers like the new lease holder', async (t) => {
  const { shared, replicas } = await open(t, { settleTimeoutMs: 10_000 }, 2)
  const [first, second] = replicas as [Setup, Setup]
  const { payload, requirements, id } = sponsored()
  let taken: Promise<void> | undefined
  shared.before = async (what, owner) => {
    if (owner === 'R0' && what === 'takeOver') throw new Error('stopped')
    if (owner !== 'R0' || what !== 'finish') return
    // Stalls between its decision and its statement, for longer than its lease.
    taken ??= until(() => second.node.submitted.length === 1)
    await taken
  }
  first.node.on('POST submit', () => refused('TransactionPool.Remember: overspend'))
  second.node.confirmedRound = undefined
  // The replica renews nothing, so the lease ends.
  const settling = first.facilitator.settle(payload, requirements)
  await until(() => taken !== undefined)
  shared.leases.set(id, { owner: 'stopped', untilMs: 0 })
  await taken
  second.node.confirmedRound = 104n
  const [one, other] = [await settling, await second.facilitator.settle(payload, requirements)]
  assert.deepEqual([one.success, other.success, shared.settlements.get(id)!.state], [true, true, 'settled'])
})

test('a rejection is final even if recording was slow, as long as the lease has not ended', async (t) => {
  const { shared, replicas } = await open(t, {}, 2)
  const [first, second] = replicas as [Setup, Setup]
  // Longer than the store needs, and than this machine may stall.
  shared.leaseMs = 10_000
  shared.before = async (what) => {
    if (what === 'claimed') await sleep(100)
  }
  first.node.on('POST submit', () => refused('TransactionPool.Remember: overspend'))
  const { payload, requirements } = sponsored()
  const { errorReason } = await first.facilitator.settle(payload, requirements)
  assert.deepEqual([errorReason, second.node.submitted.length], ['invalid_exact_avm_settlement_failed', 0])
  assert.ok(shared.calls.includes('R0 renew'), 'it asked')
})

test('renews a lease while its replica works, and no other one submits', async (t) => {
  const { shared, replicas } = await open(t, { settleTimeoutMs: 10_000 }, 2)
  // Longer than this machine may stall. Renewed as often as a lease of 150 ms.
  shared.leaseMs = 3_000
  const [first, second] = replicas as [Setup, Setup]
  first.node.confirmedRound = undefined
  const { payload, requirements, id } = sponsored()
  const settling = [first.facilitator.settle(payload, requirements)]
  await until(() => shared.leases.has(id))
  settling.push(second.facilitator.settle(payload, requirements))
  const { untilMs } = shared.leases.get(id)!
  await until(() => shared.leases.get(id)!.untilMs > untilMs + shared.leaseMs / 10)
  assert.equal(shared.leases.get(id)!.owner, 'R0')
  first.node.confirmedRound = 104n
  for (const { success } of await Promise.all(settling)) assert.equal(success, true)
  assert.deepEqual([first.node.submitted.length, second.node.submitted.length], [1, 0])
})

test('a replica that stops releases its leases, and another continues immediately', async (t) => {
  const { shared, replicas } = await open(t, { settleTimeoutMs: 10_000 }, 2)
  shared.leaseMs = 60_000
  const [first, second] = replicas as [Setup, Setup]
  first.node.confirmedRound = undefined
  const { payload, requirements, id } = sponsored()
  const settling = first.facilitator.settle(payload, requirements)
  await until(() => first.node.submitted.length === 1)
  await first.facilitator.stop()
  assert.equal((await settling).errorReason, 'settlement_pending')
  assert.equal(shared.leases.has(id), false)
  second.node.on('GET pending', () => confirmed)
  assert.equal((await second.facilitator.settle(payload, requirements)).success, true)
})

test('stops waiting for another replica when this one stops', async (t) => {
  const { replicas } = await open(t, { settleTimeoutMs: 60_000 }, 2)
  const [first, second] = replicas as [Setup, Setup]
  first.node.confirmedRound = undefined
  const { payload, requirements } = sponsored()
  void first.facilitator.settle(payload, requirements)
  await until(() => first.node.submitted.length === 1)
  const waiting = second.facilitator.settle(payload, requirements)
  await sleep(20)
  await second.facilitator.stop()
  assert.equal((await waiting).errorReason, 'settlement_pending')
})

test('looks up a commit whose response was lost, so that the settlement is neither refused nor lost', async (t) => {
  const { shared, replicas } = await open(t, {}, 1)
  const [{ facilitator, node, errors }] = replicas as [Setup]
  shared.before = (what) => {
    if (what === 'claimed') throw new Error('the connection broke')
  }
  const { payload, requirements } = sponsored()
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
  assert.deepEqual([node.submitted.length, errors.length], [1, 1])
})

test('finds a settlement recorded while the store did not respond when its lease ends', async (t) => {
  const { shared, replicas } = await open(t, {}, 1)
  const [{ facilitator, node }] = replicas as [Setup]
  let isBroken = true
  shared.before = (what) => {
    if (isBroken && what !== 'claim' && what !== 'hold' && shared.calls.some((call) => call.endsWith('claim'))) {
      throw new Error('the connection broke')
    }
  }
  const { payload, requirements, id } = sponsored()
  const first = await facilitator.settle(payload, requirements)
  assert.deepEqual([first.errorReason, first.transaction], ['unexpected_settle_error', id])
  assert.equal(node.submitted.length, 0)
  isBroken = false
  await until(() => shared.settlements.get(id)!.state === 'settled')
  assert.equal(node.submitted.length, 1)
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
})

test('limits hold over replicas, and a payment verified by one is settled by another when there is room', async (t) => {
  const policy = { feeMicroAlgosPerDay: 8_000n, requestsPerMinute: 100, payerRequestsPerMinute: 100 }
  const { replicas } = await open(t, { policy, maxPendingPerPayer: 2 })
  const many = Array.from({ length: 9 }, () => sponsored())
  const verified = await Promise.all(
    many.map(({ payload, requirements }, index) => replicas[index % 3]!.facilitator.verify(payload, requirements)),
  )
  assert.equal(verified.filter(({ isValid }) => isValid).length, 4)
  assert.equal(verified.filter(({ invalidReason }) => invalidReason === 'facilitator_policy_refused').length, 5)
  const results = await Promise.all(
    many.map(({ payload, requirements }, index) =>
      replicas[(index + 1) % 3]!.facilitator.settle(payload, requirements),
    ),
  )
  const outcomes = results.map(({ success, errorReason }) => (success ? 'settled' : errorReason))
  assert.deepEqual(
    outcomes,
    verified.map(({ isValid }) => (isValid ? 'settled' : 'facilitator_policy_refused')),
  )
  assert.equal(submissions(replicas), 4)
})

test('a payment belongs to the claimant that presented it first, at any replica', async (t) => {
  const { replicas } = await open(t, {}, 2)
  const [first, second] = replicas as [Setup, Setup]
  const { payload, requirements } = sponsored()
  assert.equal((await first.facilitator.verify(payload, requirements, { claimant: 'A' })).isValid, true)
  const other = await second.facilitator.verify(payload, requirements, { claimant: 'B' })
  assert.equal(other.invalidReason, 'payment_already_claimed')
  const taken = await second.facilitator.settle(payload, requirements, { claimant: 'B' })
  assert.equal(taken.errorReason, 'payment_already_claimed')
  assert.equal((await second.facilitator.settle(payload, requirements, { claimant: 'A' })).success, true)
})

test('replicas together verify no more than a balance covers, and release the rest', async (t) => {
  const { shared, replicas } = await open(t)
  for (const { node } of replicas) {
    node.on('GET holding', () => ok({ 'asset-holding': { amount: 2_500, 'is-frozen': false } }))
  }
  const many = Array.from({ length: 6 }, () => sponsored())
  const results = await Promise.all(
    many.map(({ payload, requirements }, index) => replicas[index % 3]!.facilitator.verify(payload, requirements)),
  )
  assert.equal(results.filter(({ isValid }) => isValid).length, 2)
  assert.equal(results.filter(({ invalidReason }) => invalidReason === 'payer_balance_reserved').length, 4)
  assert.equal(shared.holds.size, 2)
})

test('a payment that fails the simulation holds nothing, and one that another replica settles is found', async (t) => {
  const { shared, replicas } = await open(t, {}, 2)
  const [first, second] = replicas as [Setup, Setup]
  second.node.on('POST simulate', () => ok({ 'txn-groups': [{ 'failure-message': 'overspend' }] }))
  const junk = sponsored()
  const refusal = await second.facilitator.verify(junk.payload, junk.requirements)
  assert.equal(refusal.invalidReason, 'invalid_exact_avm_simulation_failed')
  assert.equal(shared.holds.size, 0)
  first.node.confirmedRound = undefined
  const { payload, requirements } = sponsored()
  const settling = first.facilitator.settle(payload, requirements)
  await until(() => first.node.submitted.length === 1)
  assert.equal((await second.facilitator.verify(payload, requirements)).isValid, true, 'it is being settled')
  first.node.confirmedRound = 104n
  assert.equal((await settling).success, true)
  assert.equal((await second.facilitator.verify(payload, requirements)).invalidReason, 'duplicate_settlement')
})

test('verifying queries the store once, and settling a payment verified here queries it once more before submission', async (t) => {
  const { shared, replicas } = await open(t, {}, 1)
  const [{ facilitator, node }] = replicas as [Setup]
  const { payload, requirements } = sponsored()
  assert.equal((await facilitator.verify(payload, requirements)).isValid, true)
  assert.deepEqual(shared.calls, ['R0 hold'])
  node.on('POST submit', () => {
    assert.deepEqual(shared.calls, ['R0 hold', 'R0 claim', 'R0 claimed'])
    return ok({})
  })
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
})

test('a payment verified by one process and settled by another keeps its result after the hold has expired', async (t) => {
  const store = new MemorySettlements()
  const [first, second] = [await setUp(t, { store }), await setUp(t, { store })]
  const { payload, requirements } = sponsored()
  assert.equal((await first.facilitator.verify(payload, requirements)).isValid, true)
  const settled = await second.facilitator.settle(payload, requirements)
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + 31_000)
  first.node.on('POST simulate', () =>
    ok({ 'txn-groups': [{ 'failure-message': 'transaction already in ledger: X' }] }),
  )
  assert.deepEqual(await first.facilitator.settle(payload, requirements), settled)
  assert.equal(settled.success, true)
})

test('counts requests of a caller over all replicas', async (t) => {
  const shared = new SharedMemory()
  const counts = new Map<string, number>()
  const countCaller = async (name: string): Promise<number> => {
    counts.set(name, (counts.get(name) ?? 0) + 1)
    return counts.get(name)!
  }
  const policy = { callerRequestsPerMinute: 3 }
  const replicas = [
    await setUp(t, { policy, store: { ...shared.store('A'), countCaller } }),
    await setUp(t, { policy, store: { ...shared.store('B'), countCaller } }),
  ]
  const caller = { address: '1.2.3.4' }
  const results: (string | undefined)[] = []
  for (let time = 0; time < 6; time++) {
    const { payload, requirements } = sponsored()
    results.push((await replicas[time % 2]!.facilitator.verify(payload, requirements, caller)).invalidReason)
  }
  const refusals = results.filter((reason) => reason === 'facilitator_policy_refused')
  assert.equal(refusals.length, 3)
  assert.deepEqual(results.slice(0, 3), [undefined, undefined, undefined])
  assert.deepEqual([counts.size, [...counts.keys()].some((name) => name.includes('1.2.3.4'))], [1, false], 'a hash')
})

test('a rejection by the nodes of one replica is final only if no node can have the payment', async (t) => {
  const { shared, replicas } = await open(t, { settleTimeoutMs: 10_000 }, 2)
  const [first, second] = replicas as [Setup, Setup]
  first.node.on('POST submit', () => 'drop')
  first.node.on('GET pending', () => missing)
  const { payload, requirements, id } = sponsored()
  void first.facilitator.settle(payload, requirements)
  await until(() => first.node.count('POST submit') > 0)
  shared.before = (what, owner) => {
    if (owner === 'R0' && what === 'takeOver') throw new Error('killed')
  }
  shared.leases.set(id, { owner: 'killed', untilMs: 0 })
  // The settlement was taken over, so the other replica cannot know its outcome.
  second.node.on('POST submit', () => refused('TransactionPool.Remember: overspend'))
  second.node.on('GET pending', () => (second.node.count('POST submit') > 1 ? confirmed : missing))
  assert.equal((await second.facilitator.settle(payload, requirements)).success, true)
})
