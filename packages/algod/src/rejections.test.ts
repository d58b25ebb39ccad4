import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LatchkeyError } from '@latchkey/algorand'
import { AlgodError, errors } from './index.js'
import { rejectionCode } from './rejections.js'

test("algod rejections get a code by the node's text", () => {
  for (const [reason, code] of [
    ['TransactionPool.Remember: transaction already in ledger: ABC', 'already_in_ledger'],
    ['transaction ABC using an overlapping lease (sender, lease):(A, B)', 'lease_taken'],
    ['TransactionPool.Remember: txn dead: round 12 outside of 1--10', 'outside_validity'],
    ['TransactionPool.checkPendingQueueSize: transaction pool have reached capacity', 'pool_full'],
    ['fee 1000 below threshold 2000', 'pool_full'],
    ['tx.GenesisID a does not match expected b', 'wrong_network'],
    ['overspend', 'other'],
  ] as const) {
    assert.equal(rejectionCode(reason), code)
  }
})

test('every error code has a message and a hint', () => {
  for (const [code, { message, hint }] of Object.entries(errors)) {
    assert.match(code, /^[a-z][a-z0-9_]*$/)
    assert.ok(message.length > 0 && hint.length > 0, code)
  }
})

test('an error carries its code, the hint of the registry and whether the request may have arrived', () => {
  const error = new AlgodError('timeout', 'too slow')
  assert.ok(error instanceof LatchkeyError)
  assert.deepEqual(
    [error.name, error.code, error.hint, error.mayHaveArrived],
    ['AlgodError', 'timeout', errors.timeout.hint, true],
  )
})
