import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IndexerNode } from '../testing/IndexerNode.test.helper.js'
import { alice, bob, carol, indexedHistory } from '../testing/indexedHistory.test.helper.js'
import { createAsset, fund, sign } from '../testing/TestNode.test.helper.js'
import * as IndexerHandler from './IndexerHandler.js'

/** Answers with a new index of the same ledger. */
function rebuilt(node: IndexerNode): IndexerNode['read'] {
  const fresh = Object.create(node) as { indexer: IndexerNode['indexer'] } & IndexerNode
  Object.defineProperty(fresh, 'indexer', { value: IndexerHandler.create({ ledger: node.ledger }) })
  return (target) => fresh.read(target)
}

async function checkAgainstRebuilt(node: IndexerNode): Promise<void> {
  const fresh = rebuilt(node)
  const targets = [
    '/v2/transactions',
    ...[alice, bob, carol].map(({ address }) => `/v2/accounts/${address}/transactions`),
    ...(await node.read('/v2/assets?include-all=true')).assets.map(
      ({ index }: { index: number }) => `/v2/assets/${index}/transactions`,
    ),
  ]
  for (const target of targets) assert.deepEqual(await node.read(target), await fresh(target), target)
}

test('after a revert, the index has the remaining transactions and later ones', async () => {
  const { node, ids } = await indexedHistory()
  const snapshot = node.node.snapshot()
  const round = node.ledger.last.round
  const lost = await node.send(sign(node.pay(alice, bob, 77n), alice))
  await createAsset(node, alice, { t: 5n })
  node.node.revert(snapshot)
  assert.equal((await node.ask(`/v2/transactions/${lost}`)).status, 404)
  assert.equal((await node.read('/health')).round, Number(round))
  assert.deepEqual(await node.ids('/v2/transactions'), [...ids.values()])
  await checkAgainstRebuilt(node)
  const kept = await node.send(sign(node.pay(alice, bob, 78n), alice))
  assert.deepEqual((await node.ids('/v2/transactions')).at(-1), kept)
  await checkAgainstRebuilt(node)
  node.node.reset()
  assert.deepEqual(await node.ids('/v2/transactions'), [])
  assert.deepEqual((await node.read(`/v2/accounts/${alice.address}/transactions`)).transactions, [])
})

test('dropped blocks take their transactions with them, and come back with a snapshot', async () => {
  const { node, ids } = await indexedHistory({ history: { blocks: 20, bytes: 2 ** 30 } })
  const snapshot = node.node.snapshot()
  const all = [...ids.values()]
  for (let count = 0; count < 10; count++) all.push(await node.send(sign(node.pay(alice, bob, 1n), alice)))
  const oldest = node.ledger.oldestRound
  assert.ok(oldest > 1n)
  assert.equal((await node.read('/health')).data['oldest-round'], Number(oldest))
  const found = await node.ids('/v2/transactions')
  assert.ok(found.length < all.length)
  assert.deepEqual(found, all.slice(-found.length))
  await checkAgainstRebuilt(node)
  assert.equal((await node.ask(`/v2/transactions/${all[0]}`)).status, 404)
  const missing = await node.ask('/v2/blocks/1')
  assert.equal(missing.json.data.hint, `blocks before round ${oldest} are not kept`)
  node.node.revert(snapshot)
  assert.deepEqual(await node.ids('/v2/transactions'), [...ids.values()])
  await checkAgainstRebuilt(node)
})

test('equals a new index after many random changes', async () => {
  const node = new IndexerNode({ history: { blocks: 12, bytes: 2 ** 30 } })
  let seed = 42
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % below
  }
  for (const one of [alice, bob, carol]) {
    node.ledger.fund({ type: 'fund', to: one.key, microAlgos: 1_000_000_000n, assets: [] })
  }
  const people = [alice, bob, carol]
  const snapshots: number[] = []
  for (let step = 0; step < 300; step++) {
    const from = people[random(3)]!
    const choice = random(12)
    if (choice < 8) await node.send(sign(node.pay(from, people[random(3)]!, BigInt(random(9))), from))
    else if (choice < 9) await createAsset(node, from, { t: 10n, m: from.publicKey })
    else if (choice < 10) node.node.mine(1 + random(3))
    else if (choice < 11) snapshots.push(node.node.snapshot())
    else if (snapshots.length > 0) {
      const chosen = random(snapshots.length)
      node.node.revert(snapshots[chosen]!)
      snapshots.length = chosen + 1
    }
    if (step % 25 === 0) await checkAgainstRebuilt(node)
  }
  await checkAgainstRebuilt(node)
  assert.deepEqual(node.errors, [])
})

test('a search that runs during a revert answers with the ledger after it', async () => {
  const node = new IndexerNode({ blocks: 'manual' })
  fund(node, alice, 1_000_000_000n)
  const first = await node.send(sign(node.pay(alice, alice, 1n), alice))
  node.node.mine(1)
  const snapshot = node.node.snapshot()
  for (let count = 0; count < 1_000; count++) await node.send(sign(node.pay(alice, alice, 1n), alice))
  node.node.mine(1)
  const searching = node.read('/v2/transactions?limit=10000')
  node.node.revert(snapshot)
  const { transactions, 'current-round': round } = await searching
  assert.equal(round, 1)
  assert.deepEqual(
    transactions.map(({ id }: { id: string }) => id),
    [first],
  )
})

test('a search without results in many transactions lets other requests through', async () => {
  const node = new IndexerNode({ blocks: 'manual' })
  fund(node, alice, 10_000_000_000n)
  for (let count = 0; count < 1_000; count++) await node.send(sign(node.pay(alice, alice, 1n), alice))
  node.node.mine(1)
  const prefix = encodeURIComponent(Buffer.from('nothing').toString('base64'))
  const order: string[] = []
  const searches = Array.from({ length: 20 }, async () => {
    const { transactions } = await node.read(`/v2/accounts/${alice.address}/transactions?limit=10000`)
    assert.equal(transactions.length, 1_000)
    assert.deepEqual(await node.ids(`/v2/transactions?note-prefix=${prefix}`), [])
    order.push('search')
  })
  await new Promise((resolve) => setImmediate(resolve))
  await node.read('/health').then(() => order.push('health'))
  await Promise.all(searches)
  assert.ok(order.indexOf('health') < 4, order.join(', '))
})
