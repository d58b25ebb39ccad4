import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAsset, fund, type Person, personOf, sign, TestNode } from '../../testing/TestNode.test.helper.js'

test('freezes and unfreezes one holding without changing its amount', async () => {
  const node = new TestNode()
  const [alice, bob] = [node.funded(0), personOf(81)]
  const asset = await createAsset(node, alice, { t: 1000n, f: alice.publicKey })
  fund(node, bob, 1_000_000n, [{ assetId: asset, amount: 7n }])
  const freeze = (who: Person, afrz: true | undefined): Promise<string> =>
    node.send(sign(node.txn('afrz', alice, { faid: asset, fadd: who.publicKey, afrz }), alice))
  const { state } = node.ledger

  await freeze(bob, true)
  assert.deepEqual(state.holding(bob.key, asset), { amount: 7n, frozen: true })
  assert.deepEqual(state.holding(alice.key, asset), { amount: 993n, frozen: false })
  await freeze(alice, true)
  assert.deepEqual(state.holding(alice.key, asset), { amount: 993n, frozen: true })
  await freeze(bob, undefined)
  assert.deepEqual(state.holding(bob.key, asset), { amount: 7n, frozen: false })
})
