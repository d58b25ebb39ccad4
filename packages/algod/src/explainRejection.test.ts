import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainRejection } from './index.js'

const a = 'A'.repeat(58)

test('algod rejections become sentences, with units for amounts', () => {
  for (const [reason, sentence] of [
    [
      `TransactionPool.Remember: transaction X: account ${a} balance 49000 below min 100000 (0 assets)`,
      `The account ${a} would be left with 0.049 ALGO, below its minimum balance of 0.1 ALGO.`,
    ],
    [`overspend (account ${a}, data {...}, tried to spend 2A)`, `The account ${a} does not have enough ALGO.`],
    ['underflow on subtracting 5 from sender amount 4', 'The account does not have that much of the asset.'],
    [
      `receiver error: must optin, asset 7 missing from ${a}`,
      `The receiver ${a} has not opted in to the asset 7. It must opt in before it can receive the asset.`,
    ],
    [`asset 7 missing from ${a}`, `The account ${a} has not opted in to the asset 7.`],
    [`asset 7 frozen in ${a}`, `The asset 7 is frozen in the account ${a}: it can neither send nor receive the asset.`],
    ['asset frozen in recipient', 'The asset is frozen in the account of the receiver.'],
    ['asset 7 does not exist or has been deleted', 'The asset 7 does not exist on this network.'],
    [
      'asset 7 not zero (5) after closing',
      'The account still holds some of the asset 7. Send the rest to another account, then opt out.',
    ],
    [
      `should have been authorized by ${a} but was actually authorized by ${a}`,
      `The account was rekeyed: the key of ${a} must sign for it.`,
    ],
    ['txgroup with 0.0A fees is less than 1mA (usage=1.000000 * base=1mA)', 'The fee is too low for the network.'],
    ['txn dead: round 12 outside of 1--10', 'The transaction has expired, or is not valid yet. Prepare it again.'],
  ] as const) {
    assert.equal(explainRejection(reason), sentence)
  }
})

test('an unknown reason is quoted, bounded and without control characters', () => {
  assert.equal(
    explainRejection('some\u001b[31m\u202ene\u3164ws'),
    'The node rejected the transaction: “some\ufffd[31m\ufffdne\ufffdws”.',
  )
  assert.ok(explainRejection('x'.repeat(10_000)).length < 400)
})
