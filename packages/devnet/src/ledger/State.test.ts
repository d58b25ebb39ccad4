import assert from 'node:assert/strict'
import { test } from 'node:test'
import { none } from './Account.js'
import { State } from './State.js'

const [a, b] = ['a', 'b']
const account = { ...none, microAlgos: 5n }
const attempt = (digest: string, lease: string | undefined, round: bigint) => ({ digest, lease, round })

test('an empty account is deleted', () => {
  const state = new State(0n)
  state.setAccount(a, account)
  assert.equal(state.account(a), account)
  state.setAccount(a, { ...account, microAlgos: 0n })
  assert.deepEqual([state.account(a), state.allAccounts().size], [none, 0])
})

test('lists holdings by account, in the order of asset ids', () => {
  const state = new State(0n)
  for (const assetId of [10n, 9n, 2n ** 63n])
    state.setHolding({ key: a, assetId, holding: { amount: 1n, frozen: false } })
  assert.deepEqual(state.heldBy(a), [9n, 10n, 2n ** 63n])
  state.setHolding({ key: a, assetId: 9n, holding: undefined })
  assert.deepEqual([state.heldBy(a), state.heldBy(b), state.holding(a, 9n)], [[10n, 2n ** 63n], [], undefined])
})

test('transactions and leases are deleted with their last round', () => {
  const state = new State(1000n)
  state.setTransaction('t', 5n)
  state.setTransactionCount(1001n)
  state.setLease('l', 5n)
  state.endRound(4n)
  assert.equal(state.findDuplicate(attempt('t', undefined, 5n)), 'transaction')
  assert.equal(state.findDuplicate(attempt('t', 'l', 5n)), 'lease')
  assert.equal(state.findDuplicate(attempt('t', 'l', 6n)), 'transaction')
  state.endRound(5n)
  assert.equal(state.findDuplicate(attempt('t', 'l', 5n)), undefined)
  assert.deepEqual([state.copy().transactions.size, state.copy().leases.size, state.transactionCount()], [0, 0, 1001n])
})

test('a renewed lease stays after its first expiry', () => {
  const state = new State(0n)
  state.setLease('l', 5n)
  state.setLease('l', 7n)
  state.endRound(5n)
  assert.equal(state.findDuplicate(attempt('t', 'l', 6n)), 'lease')
  state.endRound(7n)
  assert.equal(state.copy().leases.size, 0)
})

test('a copy does not change with the state, and restores all of it', () => {
  const state = new State(7n)
  const asset = {
    creator: a,
    total: 1n,
    decimals: 0,
    defaultFrozen: false,
    unitName: new Uint8Array(0),
    name: new Uint8Array(0),
    url: new Uint8Array(0),
    manager: a,
    reserve: a,
    freeze: a,
    clawback: a,
  }
  state.setAccount(a, account)
  state.setAsset(3n, asset)
  state.setHolding({ key: a, assetId: 3n, holding: { amount: 1n, frozen: true } })
  state.setTransaction('t', 5n)
  state.setTransactionCount(8n)
  state.setLease('l', 5n)
  const copy = state.copy()
  const before = structuredClone(copy)

  state.setAccount(b, account)
  state.setAsset(3n, undefined)
  state.setHolding({ key: a, assetId: 3n, holding: undefined })
  state.setTransaction('u', 9n)
  state.setTransactionCount(9n)
  state.endRound(5n)
  assert.deepEqual(structuredClone(copy), before)

  state.restore(copy)
  assert.deepEqual(structuredClone(state.copy()), before)
  assert.deepEqual([state.heldBy(a), state.createdBy(a), state.transactionCount()], [[3n], [3n], 8n])
  state.endRound(5n)
  assert.deepEqual([state.copy().transactions.size, state.copy().leases.size], [0, 0])
})
