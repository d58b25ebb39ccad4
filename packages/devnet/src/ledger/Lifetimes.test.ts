import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAsset, fund, personOf, sign, signGroup, TestNode } from '../testing/TestNode.test.helper.js'
import * as MapKey from './MapKey.js'

const [alice, bob] = [personOf(1), personOf(2)]
const tracking = (blocks = 10_000): TestNode =>
  new TestNode({ tracksLifetimes: true, history: { blocks, bytes: 2 ** 30 } })

test('a ledger records lifetimes only on request', () => {
  const node = new TestNode()
  assert.equal(node.ledger.lifetimes, undefined)
  assert.equal(node.ledger.snapshot().lifetimes, undefined)
})

test('everything that the genesis allocates was created in round 0', () => {
  const { ledger, genesis } = tracking()
  const lifetimes = ledger.lifetimes!
  for (const { address } of genesis.allocations) {
    assert.deepEqual(lifetimes.accounts.get(MapKey.fromAddress(address))?.created, 0n, address)
  }
  for (const assetId of genesis.assets.keys()) assert.equal(lifetimes.assets.get(assetId)?.created, 0n)
})

test('the signature type is that of the last transaction, and unknown after a rekeying', async () => {
  const node = tracking()
  fund(node, alice, 10_000_000n)
  const signature = (): string | undefined => node.ledger.lifetimes!.accounts.get(alice.key)?.signature
  assert.equal(signature(), undefined)
  await node.send(sign(node.pay(alice, bob, 200_000n), alice))
  assert.equal(signature(), 'sig')
  await node.send(sign(node.pay(alice, bob, 1n, { rekey: bob.publicKey }), alice))
  assert.equal(signature(), undefined)
})

test('an asset and an account that come and go within one block are recorded', async () => {
  const node = tracking()
  fund(node, alice, 10_000_000n)
  const created = node.ledger.state.transactionCount() + 1n
  await node.send(
    ...signGroup([
      [node.txn('acfg', alice, { apar: { t: 1n, m: alice.publicKey } }), alice],
      [node.txn('acfg', alice, { caid: created }), alice],
      [node.pay(alice, bob, 200_000n), alice],
      [node.pay(bob, alice, 0n, { close: alice.publicKey }), bob],
    ]),
  )
  const lifetimes = node.ledger.lifetimes!
  assert.deepEqual(lifetimes.assets.get(created), { creator: alice.key, created: 1n, closed: 1n })
  assert.deepEqual([...lifetimes.destroyedBy(alice.key)], [created])
  assert.deepEqual(lifetimes.accounts.get(bob.key), { created: 1n, closed: 1n, signature: 'sig' })
  assert.deepEqual(lifetimes.holding(alice.key, created)?.closed, 1n)
})

test('a closed record is removed with the block of its closing', async () => {
  const node = tracking(5)
  fund(node, alice, 10_000_000n)
  fund(node, bob, 1_000_000n)
  const assetId = await createAsset(node, alice, { t: 1n, m: alice.publicKey })
  await node.send(sign(node.txn('acfg', alice, { caid: assetId }), alice))
  await node.send(sign(node.pay(bob, alice, 0n, { close: alice.publicKey }), bob))
  const lifetimes = node.ledger.lifetimes!
  assert.ok(lifetimes.assets.has(assetId) && lifetimes.accounts.has(bob.key))
  node.node.mine(5)
  assert.equal(lifetimes.assets.has(assetId), false)
  assert.equal(lifetimes.accounts.has(bob.key), false)
  assert.equal(lifetimes.holding(alice.key, assetId), undefined)
  assert.equal(lifetimes.holders(assetId), undefined)
  assert.deepEqual([...lifetimes.closedHoldings(alice.key), ...lifetimes.destroyedBy(alice.key)], [])
  assert.ok(lifetimes.accounts.has(alice.key))
})

test('a reopened record is not removed', async () => {
  const node = tracking(5)
  fund(node, alice, 10_000_000n)
  fund(node, bob, 1_000_000n)
  await node.send(sign(node.pay(bob, alice, 0n, { close: alice.publicKey }), bob))
  await node.send(sign(node.pay(alice, bob, 200_000n), alice))
  node.node.mine(10)
  assert.deepEqual(node.ledger.lifetimes!.accounts.get(bob.key), { created: 0n, closed: 1n, signature: 'sig' })
})

test('a snapshot restores lifetimes; one without them leaves the rounds of creation unknown', async () => {
  const node = tracking()
  fund(node, alice, 10_000_000n)
  await createAsset(node, alice, { t: 1n })
  const snapshot = node.ledger.snapshot()
  fund(node, bob, 1_000_000n)
  await createAsset(node, bob, { t: 1n })
  node.ledger.restore(snapshot)
  const lifetimes = node.ledger.lifetimes!
  assert.deepEqual(lifetimes.copy(), snapshot.lifetimes)
  assert.equal(lifetimes.accounts.has(bob.key), false)
  assert.equal(lifetimes.accountOrder.size, lifetimes.accounts.size)
  node.ledger.restore({ ...snapshot, lifetimes: undefined })
  assert.deepEqual(lifetimes.accounts.get(alice.key), { created: undefined })
  assert.deepEqual(new Set(lifetimes.copy().holdings.keys()), new Set(snapshot.lifetimes!.holdings.keys()))
})
