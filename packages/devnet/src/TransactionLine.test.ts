import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Transaction } from '@latchkey/algorand'
import { LedgerError } from './ledger/LedgerError.js'
import * as TransactionLine from './TransactionLine.js'
import { personOf, sign, TestNode } from './testing/TestNode.test.helper.js'

const node = new TestNode()
const [ann, bob, cat] = [personOf(1), personOf(2), personOf(3)]
const [a, b, c] = [ann, bob, cat].map(({ address }) => `${address.slice(0, 8)}…`)
const dollar = 10_458_941n
const fee = '(fee 0.001 ALGO)'

function describeOne(type: string, fields: Partial<Transaction.Transaction>): string {
  return TransactionLine.describe(node.txn(type, ann, fields), node.ledger.state)
}

test('describes every type', async (t) => {
  const { publicKey: to } = bob
  const { publicKey: elsewhere } = cat
  const cases: [string, string, Partial<Transaction.Transaction>][] = [
    [`${a} pays 2 ALGO to ${b} ${fee}`, 'pay', { rcv: to, amt: 2_000_000n }],
    [`${a} pays 0.5 ALGO to ${b} and closes to ${c} ${fee}`, 'pay', { rcv: to, amt: 500_000n, close: elsewhere }],
    [`${a} pays 0 ALGO to the zero address ${fee}`, 'pay', {}],
    [
      `${a} pays 0 ALGO to ${a}, rekeyed to ${b} (fee 0 ALGO)`,
      'pay',
      { rcv: ann.publicKey, rekey: to, fee: undefined },
    ],
    [`${a} pays 18,446,744,073,709.551615 ALGO to ${b} ${fee}`, 'pay', { rcv: to, amt: 2n ** 64n - 1n }],
    [`${a} opts in to asset 10458941 ${fee}`, 'axfer', { xaid: dollar, arcv: ann.publicKey }],
    [`${a} sends 12.34 of asset 10458941 to ${b} ${fee}`, 'axfer', { xaid: dollar, arcv: to, aamt: 12_340_000n }],
    [
      `${a} sends 0 of asset 10458941 to ${b} and closes out to ${c} ${fee}`,
      'axfer',
      { xaid: dollar, arcv: to, aclose: elsewhere },
    ],
    [`${a} sends 5 of asset 99 to ${b} ${fee}`, 'axfer', { xaid: 99n, arcv: to, aamt: 5n }],
    [`${a} sends 0 of asset 0 to the zero address ${fee}`, 'axfer', {}],
    [
      `${a} claws back 1 of asset 10458941 from ${b} to ${c} ${fee}`,
      'axfer',
      { xaid: dollar, asnd: to, arcv: elsewhere, aamt: 1_000_000n },
    ],
    [`${a} creates an asset ${fee}`, 'acfg', { apar: { t: 1n } }],
    [`${a} reconfigures asset 7 ${fee}`, 'acfg', { caid: 7n, apar: { m: to } }],
    [`${a} destroys asset 7 ${fee}`, 'acfg', { caid: 7n }],
    [`${a} freezes asset 7 of ${b} ${fee}`, 'afrz', { faid: 7n, fadd: to, afrz: true }],
    [`${a} unfreezes asset 7 of ${b} ${fee}`, 'afrz', { faid: 7n, fadd: to }],
    [`${a} registers keys to go online ${fee}`, 'keyreg', { votekey: new Uint8Array(32).fill(1) }],
    [`${a} goes offline ${fee}`, 'keyreg', {}],
    [`${a} sends a transaction of type "appl" ${fee}`, 'appl', {}],
    [`${a} sends a transaction of type "\\n\\u001b[2J" ${fee}`, '\n\u001b[2J', {}],
  ]
  for (const [line, type, fields] of cases) {
    await t.test(line, () => assert.equal(describeOne(type, fields), line))
  }
})

test('a rejection is one printable line with the reason', () => {
  const txn = node.txn('pay', ann, { rcv: bob.publicKey, amt: 1n })
  const line = (error: unknown) => TransactionLine.rejected(txn, error, node.ledger.state)
  const prefix = `rejected  ${a} pays 0.000001 ALGO to ${b} ${fee}`
  const rejection = new LedgerError('rule_violation', 'txn dead', { index: 0, hint: 'sign it again' })
  assert.equal(line(rejection), `${prefix}: txn dead`)
  assert.equal(line(new Error('out of paper')), `${prefix}: out of paper`)
  const quoting = new LedgerError('rule_violation', 'tx.GenesisID <\n\u001b[2J\u2028é\u202e> does not match')
  assert.equal(line(quoting), `${prefix}: tx.GenesisID <\\u{a}\\u{1b}[2J\\u{2028}é\\u{202e}> does not match`)
})

test('a confirmed transaction starts with round and id, and ends with the created asset', async () => {
  const lines: string[] = []
  const own = new TestNode({ onLine: (line) => lines.push(line) })
  const person = own.funded(0)
  const txn = own.txn('acfg', person, { apar: { t: 1n } })
  await own.send(sign(txn, person))
  const id = Transaction.id(Transaction.encode(txn))
  assert.deepEqual(lines, [`round 1  ${id}  ${person.address.slice(0, 8)}… creates an asset ${fee}, asset 1001`])
})
