import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { personOf, refusalOf, sign, signGroup, TestNode } from './testing/TestNode.test.helper.js'

const newcomer = personOf(81)

const txids = async (node: TestNode, round: number) => (await node.get(`/v2/blocks/${round}/txids`)).json.blockTxids
const pendingCount = async (node: TestNode) =>
  (await node.get('/v2/transactions/pending?max=1')).json['total-transactions']

describe('blocks at once', () => {
  test('hold one group each, and come with nothing else', async () => {
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

describe('blocks when asked for', () => {
  test('hold all that waited, one group on top of the other', async () => {
    const node = new TestNode({ blocks: 'manual' })
    const person = node.funded(0)
    const first = await node.send(sign(node.pay(person, newcomer, 1_000_000n), person))
    // What the newcomer spends came with the group before it, which is in no block yet.
    const second = await node.send(sign(node.pay(newcomer, person, 500_000n), newcomer))
    assert.equal(await pendingCount(node), 2)
    assert.equal((await node.get(`/v2/accounts/${newcomer.address}`)).json.amount, 0)
    assert.match(
      refusalOf(await node.submit(sign(node.pay(newcomer, person, 900_000n), newcomer))),
      /^TransactionPool\.Remember: transaction [A-Z2-7]{52}: overspend/,
    )
    assert.equal(await pendingCount(node), 2)
    await node.post('/devnet/mine', { rounds: 2 })
    assert.deepEqual(await txids(node, 1), [first, second])
    assert.deepEqual(await txids(node, 2), [])
    assert.equal(await pendingCount(node), 0)
    assert.equal((await node.get(`/v2/accounts/${newcomer.address}`)).json.amount, 499_000)
  })

  test('refuse the same transaction while it waits', async () => {
    const node = new TestNode({ blocks: 'manual' })
    const person = node.funded(0)
    const signed = sign(node.pay(person, person, 1n), person)
    await node.send(signed)
    assert.match(refusalOf(await node.submit(signed)), /transaction already in ledger/)
    assert.equal(await pendingCount(node), 1)
  })

  test('are full at 5 MiB: no more is taken, nothing of what was is lost, and after a block there is room', async () => {
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
    let refused = group()
    while (bytes + Buffer.concat(refused).length <= 5 * 1024 * 1024) {
      await node.send(...refused)
      bytes += Buffer.concat(refused).length
      refused = group()
    }
    const taken = await pendingCount(node)
    const answer = await node.submit(...refused)
    assert.equal(refusalOf(answer), 'TransactionPool.checkPendingQueueSize: transaction pool have reached capacity')
    assert.equal(answer.json.data.hint, 'the open block is full; mine it')
    assert.equal(await pendingCount(node), taken)
    await node.post('/devnet/mine')
    assert.equal((await txids(node, 1)).length, taken)
    await node.send(...refused)
    assert.equal(await pendingCount(node), 16)
  })
})

describe('blocks every so often', () => {
  test('come whether anything waits or not, until the node stops', async (t) => {
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

  test('end the waiting of clients', async (t) => {
    t.mock.timers.enable({ apis: ['setInterval'] })
    const node = new TestNode({ blocks: { everyMs: 1_000 } })
    const waiting = node.get('/v2/status/wait-for-block-after/1')
    t.mock.timers.tick(2_000)
    assert.equal((await waiting).json['last-round'], 2)
    node.node.stop()
  })
})

describe('lines', () => {
  test('tell every transaction of a block with its round, and every refusal with its reason', async () => {
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
