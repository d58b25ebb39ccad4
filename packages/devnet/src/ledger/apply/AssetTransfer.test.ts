import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Transaction } from '@latchkey/algorand'
import { createAsset, fund, type Person, personOf, sign, TestNode } from '../../testing/TestNode.test.helper.js'
import { LedgerError } from '../LedgerError.js'
import { StateOverlay } from '../StateOverlay.js'
import * as Assets from './Assets.js'

type Fields = Partial<Transaction.Transaction>

/** Alice created 1000 units of an asset, of which bob holds 100 and carol 0. */
async function scene(apar: NonNullable<Fields['apar']> = {}) {
  const node = new TestNode()
  const alice = node.funded(0)
  const { publicKey } = alice
  const asset = await createAsset(node, alice, { t: 1000n, m: publicKey, f: publicKey, c: publicKey, ...apar })
  const bob = fund(node, personOf(61), 1_000_000n, [{ assetId: asset, amount: 100n }])
  const carol = fund(node, personOf(62), 1_000_000n, [{ assetId: asset, amount: 0n }])
  const send = (from: Person, fields: Fields): Promise<string> =>
    node.send(sign(node.txn('axfer', from, { xaid: asset, ...fields }), from))
  const freeze = (who: Person): Promise<string> =>
    node.send(sign(node.txn('afrz', alice, { faid: asset, fadd: who.publicKey, afrz: true }), alice))
  const amounts = (): (bigint | undefined)[] =>
    [alice, bob, carol].map(({ key }) => node.ledger.state.holding(key, asset)?.amount)
  return { node, alice, bob, carol, asset, send, freeze, amounts }
}

test('opting in creates an empty holding and raises the minimum balance once', async () => {
  const { node, asset, send } = await scene()
  const dave = fund(node, personOf(63), 1_000_000n)
  await send(dave, { arcv: dave.publicKey })
  await send(dave, { arcv: dave.publicKey })
  assert.deepEqual(node.ledger.state.holding(dave.key, asset), { amount: 0n, frozen: false })
  assert.equal(node.ledger.state.account(dave.key).assetsHeld, 1)
  const { json } = await node.get(`/v2/accounts/${dave.address}`)
  assert.deepEqual([json['min-balance'], json['total-assets-opted-in']], [200_000, 1])
})

test('opting in to a default-frozen asset creates a frozen holding', async () => {
  const { node, asset, send } = await scene({ df: true })
  const dave = fund(node, personOf(63), 1_000_000n)
  await send(dave, { arcv: dave.publicKey })
  assert.deepEqual(node.ledger.state.holding(dave.key, asset), { amount: 0n, frozen: true })
})

test('moves an amount, also to itself', async () => {
  const { bob, carol, send, amounts } = await scene()
  await send(bob, { arcv: carol.publicKey, aamt: 30n })
  await send(bob, { arcv: bob.publicKey, aamt: 70n })
  assert.deepEqual(amounts(), [900n, 70n, 30n])
})

test('a transfer of 0 passes between any accounts', async () => {
  const { node, bob, send, amounts, freeze } = await scene()
  const dave = fund(node, personOf(63), 1_000_000n)
  await freeze(bob)
  await send(bob, { arcv: dave.publicKey })
  await send(dave, { arcv: bob.publicKey })
  await send(dave, { xaid: 999_999n, arcv: bob.publicKey })
  await send(dave, { xaid: undefined })
  assert.deepEqual(amounts(), [900n, 100n, 0n])
  assert.equal(node.ledger.state.account(dave.key).assetsHeld, 0)
})

test('clawback moves an amount, frozen or not', async () => {
  const { alice, bob, carol, send, amounts, freeze } = await scene()
  await send(alice, { asnd: bob.publicKey, arcv: carol.publicKey, aamt: 10n })
  await freeze(bob)
  await freeze(carol)
  await send(alice, { asnd: bob.publicKey, arcv: carol.publicKey, aamt: 10n })
  assert.deepEqual(amounts(), [900n, 80n, 20n])
})

test('a clawback of 0 does not opt in', async () => {
  const { node, alice, asset, send } = await scene()
  const dave = fund(node, personOf(63), 1_000_000n)
  await send(alice, { asnd: dave.publicKey, arcv: dave.publicKey })
  assert.equal(node.ledger.state.holding(dave.key, asset), undefined)
})

test('closing out moves the remainder after the amount and removes the holding', async () => {
  const { node, bob, alice, carol, send, amounts } = await scene()
  const id = await send(bob, { arcv: alice.publicKey, aamt: 1n, aclose: carol.publicKey })
  assert.deepEqual(amounts(), [901n, undefined, 99n])
  assert.equal(node.ledger.state.account(bob.key).assetsHeld, 0)
  assert.equal((await node.get(`/v2/transactions/pending/${id}`)).json['asset-closing-amount'], 99)
})

test('an empty holding can be closed out to any account', async () => {
  const { node, carol, asset, send } = await scene()
  await send(carol, { aclose: personOf(64).publicKey })
  assert.equal(node.ledger.state.holding(carol.key, asset), undefined)
})

test('a frozen holding can be closed out to the creator', async () => {
  const { alice, bob, send, amounts, freeze } = await scene()
  await freeze(bob)
  await send(bob, { aclose: alice.publicKey })
  assert.deepEqual(amounts(), [1000n, undefined, 0n])
})

test('a holding of a destroyed asset can be closed out', async () => {
  const { node, alice, bob, carol, asset, send, amounts } = await scene()
  await send(bob, { arcv: alice.publicKey, aamt: 100n })
  await node.send(sign(node.txn('acfg', alice, { caid: asset }), alice))
  assert.deepEqual(amounts(), [undefined, 0n, 0n])
  await send(bob, { aclose: carol.publicKey })
  assert.deepEqual(amounts(), [undefined, undefined, 0n])
  assert.equal(node.ledger.state.account(bob.key).assetsHeld, 0)
})

test('rejects a holding above 64 bits', () => {
  const { ledger } = new TestNode()
  const overlay = new StateOverlay(ledger.state)
  overlay.putHolding('a', 7n, { amount: 2n ** 64n - 2n, frozen: false })
  Assets.putIn(overlay, 'a', 7n, 1n, false)
  const overflow = new LedgerError('rule_violation', `overflow on adding 1 to receiver amount ${2n ** 64n - 1n}`)
  assert.throws(() => Assets.putIn(overlay, 'a', 7n, 1n, false), overflow)
})
