import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FakeNode, missing, ok, openTestChain } from './chain.test.helper.js'
import type { Interrupt } from './Interrupt.js'
import { deliver } from './Outcome.js'

const sent = { id: 'A'.repeat(52), firstValid: 90n, lastValid: 110n, group: [Uint8Array.of(1)] }
const never = {
  isInterrupted: false,
  promise: new Promise<undefined>(() => {}),
  stop: () => {},
} as unknown as Interrupt
const quick = { waitMs: 0, interrupt: never, isRepeated: false }
const refused = (message: string) => ({ status: 400, body: { message } })

test('an accepted transaction is waited for', async () => {
  const node = new FakeNode()
  const chain = await openTestChain(node)
  assert.deepEqual(await deliver(chain, sent, quick), { state: 'confirmed', round: 101n })
  node.confirmedRound = undefined
  assert.equal((await deliver(chain, sent, quick)).state, 'pending')
  setTimeout(() => {
    node.confirmedRound = 105n
  }, 300)
  assert.deepEqual(await deliver(chain, sent, { ...quick, waitMs: 60_000 }), { state: 'confirmed', round: 105n })
})

test('a transaction is rejected only if no node can have accepted it', async () => {
  const node = new FakeNode()
  const chain = await openTestChain(node)
  node.on('POST submit', () => refused('overspend'))
  assert.deepEqual(await deliver(chain, sent, quick), {
    state: 'rejected',
    why: 'The account does not have enough ALGO.',
    reason: 'overspend',
  })
  node.on('POST submit', () => 'refuse')
  assert.equal((await deliver(chain, sent, quick)).state, 'rejected')
  // The transaction may have been accepted before the connection broke.
  node.on('POST submit', () => 'drop')
  node.on('GET pending', () => missing)
  assert.equal((await deliver(chain, sent, quick)).state, 'pending')
  // An earlier attempt may have been accepted, regardless of the node's current answer.
  node.on('POST submit', () => refused('overspend'))
  assert.equal((await deliver(chain, sent, { ...quick, isRepeated: true })).state, 'pending')
})

test('a transaction that is already on the ledger is looked up, not guessed', async () => {
  const node = new FakeNode()
  const chain = await openTestChain(node)
  node.on('POST submit', () => refused('TransactionPool.Remember: transaction already in ledger: X'))
  node.on('GET pending', () => ok({ 'pool-error': '', 'confirmed-round': 95 }))
  assert.deepEqual(await deliver(chain, sent, quick), { state: 'confirmed', round: 95n })
})

test('a transaction is expired only if no node can confirm it anymore', async () => {
  const node = new FakeNode()
  const chain = await openTestChain(node)
  node.on('GET pending', () => missing)
  node.round = 111n
  assert.equal((await deliver(chain, sent, quick)).state, 'pending')
  node.round = 113n
  assert.deepEqual(await deliver(chain, sent, quick), { state: 'expired' })
})

test('if a node drops it or is lost, the transaction is pending with the reason', async () => {
  const node = new FakeNode()
  const chain = await openTestChain(node)
  node.on('GET pending', () => ok({ 'pool-error': 'overspend' }))
  assert.deepEqual(await deliver(chain, sent, quick), {
    state: 'pending',
    why: 'The account does not have enough ALGO.',
  })
  node.on('GET pending', () => 'refuse')
  assert.match(JSON.stringify(await deliver(chain, sent, quick)), /"pending","why":"no connection|"pending"/)
})

test('Ctrl-C ends the waiting, also for a node that does not answer', async () => {
  const node = new FakeNode()
  const chain = await openTestChain(node)
  node.on('POST submit', () => 'hang')
  const interrupt = { ...never, isInterrupted: true, promise: Promise.resolve(undefined) } as unknown as Interrupt
  assert.deepEqual(await deliver(chain, sent, { waitMs: 60_000, interrupt, isRepeated: false }), {
    state: 'pending',
    why: 'interrupted',
  })
})
