import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AlgodError, type SubmitResult, type TransactionState } from '@latchkey/algod'
import { Address, Multisig, SignedTransaction, Transaction } from '@latchkey/algorand'
import { createApp, unusedNode } from '../testing/TestApp.test.helper.js'
import type { NodeClient } from './NodeClient.js'

const alice = new Uint8Array(32).fill(1)
const txn = { type: 'pay', snd: alice, rcv: alice, amt: 5n, fee: 1000n }
const id = Transaction.id(txn)
const signed = SignedTransaction.encode({ txn, sig: new Uint8Array(64).fill(7) })
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

function nodeWith(result: SubmitResult, state: TransactionState = { type: 'unknown' }) {
  const sent: Uint8Array[] = []
  const node: NodeClient = {
    ...unusedNode,
    submit: async (group) => {
      sent.push(...group)
      return result
    },
    transaction: async () => state,
  }
  return { node, sent }
}

test('SubmitTransaction sends exactly the given bytes, and returns the id', async (t) => {
  const { node, sent } = nodeWith({ type: 'accepted' })
  const { json } = await createApp(t, { node }).post('/latchkey/v1/transaction/submit', { transaction: base64(signed) })
  assert.deepEqual([json.transaction_id, json.state, sent.map(Buffer.from)], [id, 'sent', [Buffer.from(signed)]])
})

test('SubmitTransaction distinguishes refused, not sent, possibly sent and previously confirmed transactions', async (t) => {
  const refused = { type: 'refused', isAmbiguous: false } as const
  const confirmed = { type: 'confirmed', round: 9n } as const
  const inLedger = { ...refused, reason: 'transaction already in ledger: X', code: 'already_in_ledger' } as const
  for (const [result, state, expected] of [
    [{ ...refused, reason: 'overspend', code: 'other' }, undefined, { state: 'refused', round: 0 }],
    [{ type: 'unanswered', reason: 'down', isAmbiguous: false }, undefined, { state: 'not_sent', round: 0 }],
    [{ type: 'unanswered', reason: 'late', isAmbiguous: true }, undefined, { state: 'unknown', round: 0 }],
    [inLedger, confirmed, { state: 'confirmed', round: 9 }],
    [inLedger, undefined, { state: 'unknown', round: 0 }],
    [{ ...refused, reason: 'x', code: 'other', isAmbiguous: true }, undefined, { state: 'unknown', round: 0 }],
    [{ ...refused, reason: 'x', code: 'other', isAmbiguous: true }, confirmed, { state: 'confirmed', round: 9 }],
  ] as const) {
    const app = createApp(t, { wire: 'documented', node: nodeWith(result, state).node })
    const { json } = await app.post('/latchkey/v1/transaction/submit', { transaction: base64(signed) })
    assert.deepEqual({ state: json.state, round: json.round }, expected)
    assert.equal(json.explanation === '', expected.state === 'confirmed')
  }
})

test('an incompletely signed transaction is not sent', async (t) => {
  const publicKeys = [alice, new Uint8Array(32).fill(2)]
  const msig = Multisig.empty({ version: 1, threshold: 2, publicKeys })
  const one = {
    ...msig,
    subsig: msig.subsig.map((part, index) => (index === 0 ? { ...part, s: new Uint8Array(64).fill(1) } : part)),
  }
  const app = createApp(t, { node: unusedNode })
  const wrapped = SignedTransaction.encode({ txn })
  for (const bytes of [Transaction.encode(txn), wrapped, SignedTransaction.encode({ txn, msig: one })]) {
    const { status, headers } = await app.post('/latchkey/v1/transaction/submit', { transaction: base64(bytes) })
    assert.deepEqual([status, headers.get('latchkey-error')], [400, 'not_signed'])
  }
  const group = base64(Buffer.concat([signed, wrapped]))
  assert.equal((await app.post('/latchkey/v1/transaction/submit', { transaction: group })).status, 400)
  assert.equal(
    (await createApp(t).post('/latchkey/v1/transaction/submit', { transaction: base64(signed) })).status,
    503,
  )
})

test('GetTransactionOutcome reports expired only while the node would still know the transaction', async (t) => {
  const dropped = { type: 'dropped', reason: 'overspend' } as const
  for (const [state, rounds, expected] of [
    [{ type: 'confirmed', round: 105n }, [2_000n], 'confirmed'],
    [{ type: 'pending' }, [105n], 'pending'],
    [{ type: 'unknown' }, [200n], 'unknown'],
    [{ type: 'unknown' }, [201n, 201n], 'expired'],
    [dropped, [201n, 201n], 'expired'],
    [dropped, [150n], 'dropped'],
    // If confirmed in round 101, it would be forgotten by now.
    [{ type: 'unknown' }, [1_500n, 1_500n], 'unknown'],
    // The node advanced while it was queried.
    [{ type: 'unknown' }, [201n, 1_500n], 'unknown'],
  ] as const) {
    const left = [...rounds]
    const node: NodeClient = { ...unusedNode, transaction: async () => state, lastRound: async () => left.shift()! }
    const app = createApp(t, { wire: 'documented', node })
    const body = { transaction_id: id, first_valid: 100, last_valid: 200 }
    const { json } = await app.post('/latchkey/v1/transaction/outcome', body)
    assert.deepEqual([json.state, json.last_round], [expected, Number(rounds[0])])
    assert.equal(json.round, expected === 'confirmed' ? 105 : 0)
  }
  const app = createApp(t, { node: unusedNode })
  const bad = await app.post('/latchkey/v1/transaction/outcome', { transaction_id: Address.encode(alice) })
  assert.equal(bad.headers.get('latchkey-error'), 'bad_transaction_id')
  const lastRound = () => Promise.reject(new AlgodError('unreachable', 'down'))
  const down = createApp(t, { node: { ...unusedNode, lastRound } })
  assert.equal((await down.post('/latchkey/v1/transaction/outcome', { transaction_id: id })).status, 503)
})
