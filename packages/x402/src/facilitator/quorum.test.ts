/** A single node that lies or lags cannot make a payment look absent from the ledger. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { FakeNode, missing, ok, refused } from '../../../algod/dist/FakeNode.test.helper.js'
import { sponsored } from '../../../x402-wire/dist/payments.test.helper.js'
import { Chain } from '../chain/Chain.js'
import { findPaymentState } from '../client/store/Payments.js'
import { lookUpPayment } from '../server/exchange/Payment.js'
import { setUp } from './setup.test.helper.js'
import { MemorySettlements } from './store/Settlements.js'

const timeout = 60_000
/** The payments here are valid from round 100 to 200. */
const past = 203n
const confirmed = ok({ 'pool-error': '', 'confirmed-round': 150 })

type Nodes = readonly [FakeNode, FakeNode]

function openChain(nodes: readonly FakeNode[], quorum: number): Promise<Chain> {
  return Chain.open({
    network: 'testnet',
    nodes: nodes.map((_, index) => `http://node${index}`),
    quorum,
    timeoutMs: 200,
    fetch: (url, init) => nodes[Number(new URL(url).hostname.slice(4))]!.fetch(url, init),
  })
}

/** Two nodes that accept every payment and do not know it afterwards. */
async function open(t: TestContext, { quorum = 2, round = past } = {}) {
  const nodes: Nodes = [new FakeNode(), new FakeNode()]
  for (const node of nodes) {
    node.round = round
    node.on('POST submit', () => ok({}))
    node.on('GET pending', () => missing)
  }
  const chain = await openChain(nodes, quorum)
  const store = new MemorySettlements()
  const { facilitator } = await setUp(t, { chains: [chain], store, settleTimeoutMs: 150 })
  const { payload, requirements, id } = sponsored()
  const settle = async () => {
    const { success, errorReason } = await facilitator.settle(payload, requirements)
    return success ? 'settled' : errorReason
  }
  const until = async (state: string | undefined) => {
    for (let now = await settle(); now !== state; now = await settle()) {
      assert.equal(now, 'settlement_pending')
      await sleep(5)
    }
  }
  return { nodes, chain, settle, until, id, store }
}

const failed = 'invalid_exact_avm_settlement_failed'

test('a payment has expired when two nodes past its last valid round confirm it', { timeout }, async (t) => {
  const { until } = await open(t)
  await until(failed)
})

test('stays pending while only one node is past the round', { timeout }, async (t) => {
  const { nodes, settle, until } = await open(t)
  nodes[1].round = 150n
  assert.equal(await settle(), 'settlement_pending')
  nodes[1].on('GET pending', () => confirmed)
  await until('settled')
})

test('stays pending while only one node responds', { timeout }, async (t) => {
  const { nodes, settle, until } = await open(t)
  for (const kind of ['GET params', 'GET status', 'GET pending']) nodes[0].on(kind, () => 'drop')
  assert.equal(await settle(), 'settlement_pending')
  nodes[0].on('GET params', () => ok({ ...parameters, 'last-round': Number(past) }))
  nodes[0].on('GET pending', () => missing)
  await until(failed)
})

const parameters = {
  'genesis-hash': 'SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI=',
  'genesis-id': 'testnet-v1.0',
  'min-fee': 1000,
  fee: 0,
}

test('a node of another network does not count', { timeout }, async (t) => {
  const { nodes, settle } = await open(t)
  const other = { ...parameters, 'genesis-hash': Buffer.alloc(32, 1).toString('base64'), 'last-round': 9_000 }
  nodes[1].on('GET params', () => ok(other))
  assert.equal(await settle(), 'settlement_pending')
})

test('without a quorum, the node that reports the absence must be past the round itself', { timeout }, async (t) => {
  const { nodes, settle, until } = await open(t, { quorum: 1 })
  // The first node reports the round, and every other request to it fails.
  nodes[0].on('GET pending', () => 'drop')
  nodes[1].round = 150n
  assert.equal(await settle(), 'settlement_pending')
  nodes[1].round = past
  await until(failed)
})

test('a refusal by one of two nodes is not final', { timeout }, async (t) => {
  const { nodes, settle, until } = await open(t, { round: 150n })
  nodes[0].on('POST submit', () => refused('TransactionPool.Remember: overspend'))
  nodes[1].on('POST submit', () => 'refuse')
  assert.equal(await settle(), 'settlement_pending')
  nodes[1].on('GET pending', () => confirmed)
  await until('settled')
})

test('a refusal by both nodes is final', { timeout }, async (t) => {
  const { nodes, settle } = await open(t, { round: 150n })
  for (const node of nodes) node.on('POST submit', () => refused('TransactionPool.Remember: overspend'))
  assert.equal(await settle(), failed)
})

test('a lease that one of two nodes reports as taken is not final', { timeout }, async (t) => {
  const { nodes, settle, until } = await open(t, { round: 150n })
  nodes[0].on('POST submit', () => refused('transaction X using an overlapping lease (sender, lease):(A, B)'))
  assert.equal(await settle(), 'settlement_pending')
  assert.ok(nodes[1].count('POST submit') > 0)
  nodes[1].on('GET pending', () => confirmed)
  await until('settled')
})

test('a payment that one node refuses to pass on is sent to the others', { timeout }, async (t) => {
  for (const reason of [
    'transaction already in ledger: X',
    'txn dead: round 300 outside of 100--200',
    'reached capacity',
  ]) {
    for (const quorum of [1, 2]) {
      const { nodes, settle, until } = await open(t, { round: 150n, quorum })
      nodes[0].on('POST submit', () => refused(`TransactionPool.Remember: ${reason}`))
      nodes[1].on('POST submit', () => {
        nodes[1].on('GET pending', () => confirmed)
        return ok({})
      })
      assert.match((await settle()) ?? '', /settled|settlement_pending/)
      await until('settled')
    }
  }
})

test('a node that has the payment in its ledger outweighs the refusal of another', { timeout }, async (t) => {
  const { nodes, settle } = await open(t, { round: 150n })
  nodes[0].on('POST submit', () => refused('TransactionPool.Remember: overspend'))
  nodes[1].on('POST submit', () => refused('TransactionPool.Remember: transaction already in ledger: X'))
  assert.equal(await settle(), 'settlement_pending')
})

test('requires two nodes for blocks that are too old for a lookup', { timeout }, async (t) => {
  const { nodes, settle, until, id } = await open(t, { round: 5_000n })
  const blocks = (index: 0 | 1, has: (round: number) => string[] | undefined) => {
    nodes[index].on('GET block', () => {
      const ids = has(nodes[index].count('GET block'))
      return ids === undefined ? missing : ok({ blockTxids: ids })
    })
  }
  blocks(0, () => [])
  blocks(1, (count) => (count === 7 ? [id] : []))
  assert.equal(await settle(), 'settled', 'also if one of them hides it')
  await until('settled')
})

test('stays pending while only one node has a block', { timeout }, async (t) => {
  const { nodes, settle } = await open(t, { round: 5_000n })
  nodes[1].on('GET block', () => missing)
  assert.equal(await settle(), 'settlement_pending')
})

test('a buyer recovers no limit because of one node’s report', async () => {
  const nodes = [new FakeNode(), new FakeNode()]
  for (const node of nodes) node.round = past
  const payment = { transactionId: 'A'.repeat(52), firstValid: 100, lastValid: 200 } as never
  const state = async (quorum: number) => findPaymentState(payment, (await openChain(nodes, quorum)).algod)
  assert.equal(await state(2), 'expired')
  nodes[1]!.round = 150n
  assert.deepEqual([await state(2), await state(1)], ['open', 'expired'])
  nodes[1]!.on('GET pending', () => 'drop')
  assert.equal(await state(2), 'open')
  nodes[1]!.on('GET pending', () => confirmed)
  assert.equal(await state(2), 'settled')
})

test('a gate refuses no payment as expired because of one node’s report', async () => {
  const nodes = [new FakeNode(), new FakeNode()]
  for (const node of nodes) node.round = past
  const lookUp = async () =>
    (await lookUpPayment(await openChain(nodes, 2), { transactionId: 'A'.repeat(52), lastValid: 200n })).state
  assert.equal(await lookUp(), 'expired')
  nodes[1]!.round = 150n
  await assert.rejects(lookUp(), { code: 'no_quorum' })
  nodes[1]!.on('GET pending', () => confirmed)
  assert.equal(await lookUp(), 'settled')
})
