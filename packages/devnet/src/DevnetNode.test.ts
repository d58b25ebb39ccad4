import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Faults, maxFaults } from './DevnetNode.js'
import { errorMessageOf, personOf, sign, signGroup, TestNode } from './testing/TestNode.test.helper.js'

const newcomer = personOf(81)

const txids = async (node: TestNode, round: number) => (await node.get(`/v2/blocks/${round}/txids`)).json.blockTxids
const pendingCount = async (node: TestNode) =>
  (await node.get('/v2/transactions/pending?max=1')).json['total-transactions']

test('instant blocks', async (t) => {
  await t.test('each submission makes a block with its group, a rejected one makes none', async () => {
    const node = new TestNode()
    const person = node.funded(0)
    for (const round of [1, 2, 3]) {
      const id = await node.send(sign(node.pay(person, person, 1n), person))
      assert.deepEqual(await txids(node, round), [id])
    }
    await node.submit(Buffer.from('garbage'))
    assert.equal(node.ledger.last.round, 3n)
    assert.equal(await pendingCount(node), 0)
  })
})

test('manual blocks', async (t) => {
  await t.test('a mined block includes all pending groups, which build on each other', async () => {
    const node = new TestNode({ blocks: 'manual' })
    const person = node.funded(0)
    const first = await node.send(sign(node.pay(person, newcomer, 1_000_000n), person))
    // The newcomer spends the funds it receives in the previous, still pending group.
    const second = await node.send(sign(node.pay(newcomer, person, 500_000n), newcomer))
    assert.equal(await pendingCount(node), 2)
    assert.equal((await node.get(`/v2/accounts/${newcomer.address}`)).json.amount, 0)
    assert.match(
      errorMessageOf(await node.submit(sign(node.pay(newcomer, person, 900_000n), newcomer))),
      /^TransactionPool\.Remember: transaction [A-Z2-7]{52}: overspend/,
    )
    assert.equal(await pendingCount(node), 2)
    await node.post('/devnet/mine', { rounds: 2 })
    assert.deepEqual(await txids(node, 1), [first, second])
    assert.deepEqual(await txids(node, 2), [])
    assert.equal(await pendingCount(node), 0)
    assert.equal((await node.get(`/v2/accounts/${newcomer.address}`)).json.amount, 499_000)
  })

  await t.test('rejects a duplicate of a pending transaction', async () => {
    const node = new TestNode({ blocks: 'manual' })
    const person = node.funded(0)
    const signed = sign(node.pay(person, person, 1n), person)
    await node.send(signed)
    assert.match(errorMessageOf(await node.submit(signed)), /transaction already in ledger/)
    assert.equal(await pendingCount(node), 1)
  })

  await t.test('rejects groups beyond 5 MiB until a block is mined, and keeps the accepted ones', async () => {
    const node = new TestNode({ blocks: 'manual' })
    const person = node.funded(0)
    let count = 0
    const group = () =>
      signGroup(
        Array.from({ length: 16 }, () => {
          const note = Buffer.alloc(4096, `${count++} `)
          return [node.pay(person, person, 1n, { note: new Uint8Array(note), fee: 1400n }), person] as const
        }),
      )
    let bytes = 0
    let rejected = group()
    while (bytes + Buffer.concat(rejected).length <= 5 * 1024 * 1024) {
      await node.send(...rejected)
      bytes += Buffer.concat(rejected).length
      rejected = group()
    }
    const taken = await pendingCount(node)
    const response = await node.submit(...rejected)
    assert.equal(
      errorMessageOf(response),
      'TransactionPool.checkPendingQueueSize: transaction pool have reached capacity',
    )
    assert.equal(response.json.data.hint, 'the open block is full; mine it')
    assert.equal(await pendingCount(node), taken)
    await node.post('/devnet/mine')
    assert.equal((await txids(node, 1)).length, taken)
    await node.send(...rejected)
    assert.equal(await pendingCount(node), 16)
  })
})

test('blocks at an interval', async (t) => {
  await t.test('are made with or without pending transactions until the node stops', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const node = new TestNode({ blocks: { everyMs: 2_800 } })
    const person = node.funded(0)
    const id = await node.send(sign(node.pay(person, newcomer, 1_000_000n), person))
    t.mock.timers.tick(2_799)
    assert.deepEqual([node.ledger.last.round, await pendingCount(node)], [0n, 1])
    t.mock.timers.tick(1)
    assert.deepEqual(await txids(node, 1), [id])
    t.mock.timers.tick(2_800 * 3)
    assert.equal(node.ledger.last.round, 4n)
    node.node.stop()
    t.mock.timers.tick(28_000)
    assert.equal(node.ledger.last.round, 4n)
  })

  await t.test('end wait-for-block requests', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const node = new TestNode({ blocks: { everyMs: 1_000 } })
    const waiting = node.get('/v2/status/wait-for-block-after/1')
    t.mock.timers.tick(2_000)
    assert.equal((await waiting).json['last-round'], 2)
    node.node.stop()
  })
})

test('lines', async (t) => {
  await t.test('report every confirmed transaction with its round and every rejection with its reason', async () => {
    const lines: string[] = []
    const node = new TestNode({ blocks: 'manual', onLine: (line) => lines.push(line) })
    const [a, b] = [node.funded(0), node.funded(1)]
    const group = signGroup([
      [node.pay(a, b, 1_500_000n), a],
      [node.pay(b, a, 1n), b],
    ])
    await node.send(...group)
    assert.deepEqual(lines, [])
    await node.post('/devnet/mine')
    const [first, second] = await txids(node, 1)
    const [from, to] = [a, b].map(({ address }) => `${address.slice(0, 8)}…`)
    assert.deepEqual(lines.splice(0), [
      `round 1  ${first}  ${from} pays 1.5 ALGO to ${to} (fee 0.001 ALGO)`,
      `round 1  ${second}  ${to} pays 0.000001 ALGO to ${from} (fee 0.001 ALGO)`,
    ])
    await node.submit(sign(node.pay(a, b, 1n, { fee: 1n }), a))
    assert.deepEqual(lines.splice(0), [
      `rejected  ${from} pays 0.000001 ALGO to ${to} (fee 0.000001 ALGO): txgroup with 1uA fees is less than 1mA (usage=1.000000 * base=1mA)`,
    ])
    await node.post('/devnet/mine')
    assert.deepEqual(lines, [])
  })
})

test('a fault is used count times, the oldest of its type first', () => {
  const faults = new Faults()
  assert.equal(faults.take('drop'), undefined)
  faults.add({ type: 'delay', ms: 1, count: 2 })
  faults.add({ type: 'drop', count: 1 })
  faults.add({ type: 'delay', ms: 2, count: 1 })
  assert.deepEqual(
    [1, 2, 3, 4].map(() => faults.take('delay')?.ms),
    [1, 1, 2, undefined],
  )
  assert.deepEqual(faults.list(), [{ type: 'drop', count: 1 }])
  assert.equal(faults.take('lose'), undefined)
  assert.equal(faults.take('hold'), undefined)
  faults.add({ type: 'hold', ms: 0, count: 1 })
  assert.deepEqual(faults.take('hold'), { type: 'hold', ms: 0, count: 1 })
})

test('a returned list does not change when faults are used', () => {
  const faults = new Faults()
  const given = { type: 'drop', count: 2 } as const
  faults.add(given)
  const [listed] = faults.list()
  faults.take('drop')
  assert.deepEqual(
    [listed, given],
    [
      { type: 'drop', count: 2 },
      { type: 'drop', count: 2 },
    ],
  )
})

test('limits the number of pending faults', () => {
  const faults = new Faults()
  for (let count = 0; count < maxFaults; count++) faults.add({ type: 'lose', count: 1 })
  assert.throws(() => faults.add({ type: 'lose', count: 1 }), {
    name: 'DevnetError',
    code: 'too_many_faults',
    message: '100 faults are already pending',
  })
  faults.clear()
  assert.deepEqual(faults.list(), [])
})
