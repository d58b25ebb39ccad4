import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fund, personOf, sign, signGroup, TestNode } from '../../testing/TestNode.test.helper.js'
import { none } from '../Account.js'
import * as MapKey from '../MapKey.js'

const [poor, ghost] = [personOf(51), personOf(52)]

test('moves the amount, and the fee to the fee sink', async () => {
  const node = new TestNode()
  const [alice, bob] = [node.funded(0), node.funded(1)]
  const { state } = node.ledger
  await node.send(sign(node.pay(alice, bob, 5n, { fee: 1234n }), alice))
  assert.equal(state.account(alice.key).microAlgos, 1_000_000_000_000n - 1239n)
  assert.equal(state.account(bob.key).microAlgos, 1_000_000_000_005n)
  assert.equal(state.account(node.genesis.chain.feeSink).microAlgos, 101_234n)
})

test('a payment to itself costs only the fee', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  await node.send(sign(node.pay(alice, alice, 1_000_000n), alice))
  assert.equal(node.ledger.state.account(alice.key).microAlgos, 999_999_999_000n)
})

test('a payment without receiver goes to the zero address', async () => {
  const node = new TestNode()
  await node.send(sign(node.pay(node.funded(0), undefined, 100_000n), node.funded(0)))
  assert.equal(node.ledger.state.account(MapKey.zero).microAlgos, 100_000n)
})

test('a new account needs the minimum balance', async () => {
  const node = new TestNode()
  await node.send(sign(node.pay(node.funded(0), ghost, 100_000n), node.funded(0)))
  assert.deepEqual(node.ledger.state.account(ghost.key), { ...none, microAlgos: 100_000n })
})

test('an account may keep exactly the minimum balance', async () => {
  const node = new TestNode()
  fund(node, poor, 200_000n)
  await node.send(sign(node.pay(poor, node.funded(0), 99_000n), poor))
  assert.equal(node.ledger.state.account(poor.key).microAlgos, 100_000n)
})

test('closing sends the remainder after the amount and removes the account', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  fund(node, poor, 500_000n)
  const id = await node.send(sign(node.pay(poor, ghost, 150_000n, { close: alice.publicKey }), poor))
  const { state } = node.ledger
  assert.equal(state.allAccounts().has(poor.key), false)
  assert.equal(state.account(ghost.key).microAlgos, 150_000n)
  assert.equal(state.account(alice.key).microAlgos, 1_000_000_349_000n)
  const { json } = await node.get(`/v2/transactions/pending/${id}`)
  assert.equal(json['closing-amount'], 349_000)
})

test('closing may have no remainder', async () => {
  const node = new TestNode()
  fund(node, poor, 101_000n)
  const id = await node.send(sign(node.pay(poor, ghost, 100_000n, { close: ghost.publicKey }), poor))
  assert.equal(node.ledger.state.account(ghost.key).microAlgos, 100_000n)
  assert.equal('closing-amount' in (await node.get(`/v2/transactions/pending/${id}`)).json, false)
})

test('a closed account may be funded again in the same group', async () => {
  const node = new TestNode()
  const alice = node.funded(0)
  fund(node, poor, 500_000n)
  await node.send(
    ...signGroup([
      [node.pay(poor, undefined, 0n, { close: alice.publicKey }), poor],
      [node.pay(alice, poor, 123_456n), alice],
    ]),
  )
  assert.equal(node.ledger.state.account(poor.key).microAlgos, 123_456n)
})
