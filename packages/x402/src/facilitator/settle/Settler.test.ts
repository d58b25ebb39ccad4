import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { FakeNode, missing, ok, refused } from '../../../../algod/dist/FakeNode.test.helper.js'
import { alone, buyer, sponsored } from '../../../../x402-wire/dist/payments.test.helper.js'
import { openChain, setUp } from '../setup.test.helper.js'
import { MemorySettlements, type Settlement } from '../store/Settlements.js'

const inLedger = 'TransactionPool.Remember: transaction already in ledger: X'
const confirmed = ok({ 'pool-error': '', 'confirmed-round': 101 })

function written(id: string, change: Partial<Settlement> = {}): Settlement {
  const texts = {
    network: 'algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe',
    payer: buyer.address,
    payTo: 'S',
    asset: '1',
    amount: '2',
  }
  const rounds = { firstValid: 100n, lastValid: 200n, feeMicroAlgos: 0n }
  return {
    transactionId: id,
    state: 'pending',
    group: [Uint8Array.of(1)],
    createdMs: Date.now(),
    ...texts,
    ...rounds,
    ...change,
  }
}

async function until(holds: () => boolean): Promise<void> {
  for (let time = 0; time < 400 && !holds(); time++) await sleep(5)
  assert.ok(holds())
}

test('is recorded before it is submitted, and the result stays the same', async (t) => {
  const store = new MemorySettlements()
  const { facilitator, node } = await setUp(t, { store })
  const { payload, requirements, id } = sponsored()
  let before: string | undefined
  node.on('POST submit', () => {
    before = store.get(id)?.state
    return ok({})
  })
  const first = await facilitator.settle(payload, requirements)
  assert.deepEqual([before, store.get(id)?.state, store.get(id)?.round], ['pending', 'settled', 101n])
  assert.deepEqual([first.success, first.transaction, first.payer], [true, id, buyer.address])
  const requestsBefore = node.requests.length
  for (let time = 0; time < 3; time++) assert.deepEqual(await facilitator.settle(payload, requirements), first)
  // But the payment is not valid for another request.
  assert.equal((await facilitator.verify(payload, requirements)).invalidReason, 'duplicate_settlement')
  assert.equal(node.requests.length, requestsBefore, 'without another request')
})

test('a rejection is final if no node can have accepted the group', async (t) => {
  const { facilitator, node } = await setUp(t)
  node.on('POST submit', () => refused('TransactionPool.Remember: overspend'))
  const { payload, requirements, id } = sponsored()
  const first = await facilitator.settle(payload, requirements)
  assert.deepEqual([first.errorReason, first.transaction], ['invalid_exact_avm_settlement_failed', id])
  node.on('POST submit', () => ok({}))
  assert.deepEqual(await facilitator.settle(payload, requirements), first)
  assert.equal((await facilitator.verify(payload, requirements)).invalidReason, 'invalid_exact_avm_settlement_failed')
  assert.equal(node.count('POST submit'), 1)
})

for (const [what, result] of [
  ['a lost response', 'drop'],
  ['5xx', { status: 503, body: {} }],
] as const) {
  test(`after ${what}, "already in ledger" is looked up and is a success`, async (t) => {
    const { facilitator, node } = await setUp(t)
    const results = [result, refused(inLedger)]
    node.on('POST submit', () => results.shift()!)
    node.on('GET pending', () => (node.count('POST submit') > 1 ? confirmed : missing))
    const { payload, requirements, id } = sponsored()
    const settled = await facilitator.settle(payload, requirements)
    assert.deepEqual([settled.success, settled.transaction], [true, id])
  })
}

test('"already in ledger" is pending, with the id, until it can be looked up', async (t) => {
  const { facilitator, node } = await setUp(t, { settleTimeoutMs: 50 })
  node.on('POST submit', () => refused(inLedger))
  const { payload, requirements, id } = sponsored()
  const settled = await facilitator.settle(payload, requirements)
  assert.deepEqual([settled.success, settled.errorReason, settled.transaction], [false, 'settlement_pending', id])
  node.on('GET pending', () => confirmed)
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
})

for (const reason of [
  'txn dead: round 99 outside of 100--200',
  'fee 1000 below threshold 2000',
  'pool have reached capacity',
]) {
  test(`submits the group again to a node that responds "${reason}"`, async (t) => {
    const { facilitator, node } = await setUp(t)
    const results = [refused(reason), refused(reason)]
    node.on('POST submit', () => results.shift() ?? ok({}))
    const { payload, requirements } = sponsored()
    assert.equal((await facilitator.settle(payload, requirements)).success, true)
    assert.equal(node.count('POST submit'), 3)
  })
}

test('is pending, with the id, while no node responds', async (t) => {
  const { facilitator, node } = await setUp(t, { settleTimeoutMs: 50 })
  node.on('POST submit', () => 'drop')
  node.on('GET pending', () => 'drop')
  const { payload, requirements, id } = sponsored()
  const settled = await facilitator.settle(payload, requirements)
  assert.deepEqual([settled.errorReason, settled.transaction, settled.payer], ['settlement_pending', id, buyer.address])
  node.on('GET pending', () => confirmed)
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
})

test('sends the group to the second node if the first does not respond', async (t) => {
  const [bad, good] = [new FakeNode(), new FakeNode()]
  bad.on('POST submit', () => 'refuse')
  const { facilitator } = await setUp(t, { chains: [await openChain(bad, good)] })
  const { payload, requirements } = sponsored()
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
  assert.equal(good.submitted.length, 1)
})

test('a rejection is not final if another node may have accepted the group', async (t) => {
  const [lost, strict] = [new FakeNode(), new FakeNode()]
  lost.on('POST submit', () => 'drop')
  strict.on('POST submit', () => refused('TransactionPool.Remember: overspend'))
  strict.on('GET pending', () => (strict.count('GET pending') > 1 ? confirmed : missing))
  const { facilitator } = await setUp(t, { chains: [await openChain(lost, strict)] })
  const { payload, requirements } = sponsored()
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
})

test('a pending group is not submitted again', async (t) => {
  const { facilitator, node } = await setUp(t)
  node.confirmedRound = undefined
  const { payload, requirements } = sponsored()
  const settling = facilitator.settle(payload, requirements)
  await until(() => node.count('GET pending') > 3)
  node.confirmedRound = 104n
  assert.equal((await settling).success, true)
  assert.equal(node.count('POST submit'), 1)
})

test('sends a group that stays pending on one node to the others', async (t) => {
  const [keeps, passes] = [new FakeNode(), new FakeNode()]
  keeps.confirmedRound = undefined
  passes.on('GET pending', () => (passes.submitted.length > 0 ? confirmed : missing))
  const { facilitator } = await setUp(t, { chains: [await openChain(keeps, passes)], settleTimeoutMs: 30_000 })
  const { payload, requirements } = sponsored()
  const settling = facilitator.settle(payload, requirements)
  await until(() => keeps.count('GET pending') > 2)
  assert.equal(passes.submitted.length, 0)
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + 21_000)
  assert.equal((await settling).success, true)
  assert.equal(passes.submitted.length, 1)
})

test('lookups by id during the validity leave no block to search', async (t) => {
  const { facilitator, node } = await setUp(t, { settleTimeoutMs: 20 })
  node.on('POST submit', () => ok({}))
  node.on('GET pending', () => missing)
  const { payload, requirements } = sponsored({ fv: 100n, lv: 1_100n }, { fv: 100n, lv: 1_100n })
  const state = async () => (await facilitator.settle(payload, requirements)).errorReason
  assert.equal(await state(), 'settlement_pending')
  node.round = 600n
  const before = node.count('GET pending')
  await until(() => node.count('GET pending') > before + 4)
  node.round = 1_103n
  node.on('POST submit', () => refused('txn dead: round 1103 outside of 100--1100'))
  while ((await state()) === 'settlement_pending') await sleep(5)
  assert.deepEqual([await state(), node.count('GET block')], ['invalid_exact_avm_settlement_failed', 0])
})

test('a dropped group is submitted again', async (t) => {
  const { facilitator, node } = await setUp(t)
  node.on('GET pending', () => (node.count('POST submit') > 1 ? confirmed : ok({ 'pool-error': 'evicted' })))
  const { payload, requirements } = sponsored()
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
  assert.equal(node.count('POST submit'), 2)
})

test('fails after its last valid round, not before', async (t) => {
  const { facilitator, node } = await setUp(t, { settleTimeoutMs: 60 })
  node.on('POST submit', () =>
    node.count('POST submit') > 1 ? refused('txn dead: round 203 outside of 100--200') : 'drop',
  )
  node.on('GET pending', () => missing)
  node.round = 202n
  const { payload, requirements, id } = sponsored()
  assert.equal((await facilitator.settle(payload, requirements)).errorReason, 'settlement_pending')
  node.round = 203n
  const end = await facilitator.settle(payload, requirements)
  assert.deepEqual([end.errorReason, end.transaction], ['invalid_exact_avm_settlement_failed', id])
  assert.match(end.errorMessage!, /expired/)
})

test('fails after its last valid round even if nodes reject submissions', async (t) => {
  const { facilitator, node } = await setUp(t)
  node.on('POST submit', () => ({ status: 500, body: {} }))
  node.on('GET pending', () => missing)
  node.round = 203n
  const { payload, requirements } = sponsored()
  assert.match((await facilitator.settle(payload, requirements)).errorMessage!, /expired/)
})

test('an old confirmation is found in its block', async (t) => {
  const store = new MemorySettlements()
  store.claim(written('OLD'), {})
  const { facilitator, node } = await setUp(t, { store })
  node.round = 5_000n
  node.on('POST submit', () => refused('txn dead'))
  node.on('GET pending', () => missing)
  node.on('GET block', () => ok({ blockTxids: node.count('GET block') === 21 ? ['OTHER', 'OLD'] : ['OTHER'] }))
  assert.equal(await facilitator.resume(), 1)
  await until(() => store.get('OLD')!.state === 'settled')
  assert.equal(store.get('OLD')!.round, 120n)
})

test('fails if no block has the payment, and stays undecided while a block is missing', async (t) => {
  for (const [blocks, state] of [
    [11, 'failed'],
    [10, 'pending'],
  ] as const) {
    const store = new MemorySettlements()
    store.claim(written('OLD', { lastValid: 110n }), {})
    const { facilitator, node } = await setUp(t, { store })
    node.round = 5_000n
    node.on('POST submit', () => refused('txn dead'))
    node.on('GET pending', () => missing)
    node.on('GET block', () => (node.count('GET block') <= blocks ? ok({ blockTxids: [] }) : missing))
    await facilitator.resume()
    await until(() => node.count('GET block') >= 11)
    await sleep(20)
    assert.equal(store.get('OLD')!.state, state)
  }
})

test('the next process submits the same bytes', async (t) => {
  const store = new MemorySettlements()
  store.claim(written('LEFT', { group: [Uint8Array.of(7), Uint8Array.of(8, 9)] }), {})
  const { facilitator, node } = await setUp(t, { store })
  assert.equal(await facilitator.resume(), 1)
  await until(() => store.get('LEFT')!.state === 'settled')
  assert.deepEqual(node.submitted, [Buffer.of(7, 8, 9)])
  assert.deepEqual(node.requests.slice(0, 2), ['GET pending', 'POST submit'], 'and looked for first')
})

test('concurrent calls, in both encodings, cause one submission', async (t) => {
  const { facilitator, node } = await setUp(t)
  const { payload, requirements } = alone()
  const [text] = payload.payload['paymentGroup'] as [string]
  const other = { ...payload, payload: { paymentGroup: [text.replaceAll('=', '')], paymentIndex: 0 } }
  const all = [payload, other, payload, other].map((one) => facilitator.settle(one, requirements))
  for (const result of await Promise.all(all)) assert.equal(result.success, true)
  assert.deepEqual([node.count('POST simulate'), node.count('POST submit')], [1, 1])
})

test('two facilitators on one store submit the same bytes and return the same result', async (t) => {
  const store = new MemorySettlements()
  const one = await setUp(t, { store })
  const two = await setUp(t, { store })
  two.node.on('GET pending', () => confirmed)
  const { payload, requirements } = sponsored()
  const results = await Promise.all([one, two].map(({ facilitator }) => facilitator.settle(payload, requirements)))
  assert.deepEqual(results[0], results[1])
  assert.equal(results[0]!.success, true)
})

test('returns the settlement of another process from the store', async (t) => {
  const store = new MemorySettlements()
  const { facilitator, node } = await setUp(t, { store })
  node.confirmedRound = undefined
  const { payload, requirements, id } = sponsored()
  const settling = facilitator.settle(payload, requirements)
  await until(() => node.submitted.length === 1)
  store.finish(id, { state: 'settled', round: 150n })
  assert.equal((await settling).success, true)
})

test('nothing is submitted if the store fails', async (t) => {
  const store = new MemorySettlements()
  const { facilitator, node, errors } = await setUp(t, {
    store: Object.assign(Object.create(store) as MemorySettlements, {
      get: () => undefined,
      claim: () => Promise.reject(new Error('the disk is full')),
      close: () => {},
      forgetBefore: () => {},
    }),
  })
  const { payload, requirements, id } = sponsored()
  const settled = await facilitator.settle(payload, requirements)
  assert.deepEqual([settled.errorReason, settled.transaction], ['unexpected_settle_error', id])
  assert.doesNotMatch(settled.errorMessage!, /disk/)
  assert.deepEqual([node.submitted.length, errors.length], [0, 1])
})

test('is pending while the store cannot record the result', async (t) => {
  class Failing extends MemorySettlements {
    isBroken = true
    override finish(...args: Parameters<MemorySettlements['finish']>): ReturnType<MemorySettlements['finish']> {
      if (this.isBroken) throw new Error('the disk is full')
      return super.finish(...args)
    }
  }
  const store = new Failing()
  const { facilitator, node } = await setUp(t, { store, settleTimeoutMs: 50 })
  const { payload, requirements } = sponsored()
  assert.equal((await facilitator.settle(payload, requirements)).errorReason, 'settlement_pending')
  store.isBroken = false
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
  assert.equal(node.count('POST submit'), 1)
})

test('is settled even if the process ends before the store has recorded it, and is found on the ledger again', async (t) => {
  class Late extends MemorySettlements {
    soon: string[] = []
    settleSoon(transactionId: string): void {
      this.soon.push(transactionId)
    }
  }
  const store = new Late()
  const { facilitator, node } = await setUp(t, { store })
  const { payload, requirements, id } = sponsored()
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
  assert.deepEqual([store.soon, store.get(id)!.state], [[id], 'pending'])
  // As after a restart: the settlement is recorded as pending.
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
  assert.deepEqual([store.soon, node.count('POST submit')], [[id, id], 1])
})

test('stop ends waiting calls, keeps pending settlements and submits nothing more', async (t) => {
  const store = new MemorySettlements()
  let closed = 0
  store.close = () => void closed++
  const { facilitator, node } = await setUp(t, { store, settleTimeoutMs: 60_000 })
  node.confirmedRound = undefined
  const { payload, requirements, id } = sponsored()
  const settling = facilitator.settle(payload, requirements)
  await until(() => node.submitted.length === 1)
  await Promise.all([facilitator.stop(), facilitator.stop()])
  assert.equal(closed, 1)
  assert.deepEqual([(await settling).errorReason, store.get(id)!.state], ['settlement_pending', 'pending'])
  const late = sponsored()
  assert.equal((await facilitator.settle(late.payload, late.requirements)).errorReason, 'facilitator_busy')
  assert.equal(node.submitted.length, 1)
})

test('deletes old settlements at the start', async (t) => {
  const store = new MemorySettlements()
  store.claim(written('OLD', { createdMs: Date.now() - 10_000 }), {})
  store.finish('OLD', { state: 'settled', round: 1n })
  store.claim(written('NEW'), {})
  store.finish('NEW', { state: 'settled', round: 1n })
  const { facilitator } = await setUp(t, { store, keepMs: 5_000 })
  await facilitator.resume()
  assert.deepEqual([store.get('OLD'), store.get('NEW')?.state], [undefined, 'settled'])
})
