import assert from 'node:assert/strict'
import { test } from 'node:test'
import algosdk from 'algosdk'
import fc from 'fast-check'
import * as Bytes from './Bytes.js'
import * as Ed25519 from './Ed25519.js'
import { mutated, typedTransaction } from './fuzz.test.helper.js'
import * as Multisig from './Multisig.js'
import * as SignedTransaction from './SignedTransaction.js'
import * as Transaction from './Transaction.js'
import * as TransactionFile from './TransactionFile.js'
import '../../../test/seed.mjs'

const { publicKey: alice, secretKey } = Ed25519.keyPairFromSeed(new Uint8Array(32).fill(1))
const payment = { type: 'pay', snd: alice, amt: 5n, rcv: alice, fee: 1000n, lv: 9n }
const bytes = Transaction.encode(payment)
const sig = Ed25519.sign(Transaction.bytesToSign(bytes), secretKey)
const signed = SignedTransaction.encode({ sig, txn: payment })

test('reads one transaction: unsigned, signed, and wrapped without a signature', () => {
  for (const [given, isSigned, isWrapped] of [
    [bytes, false, false],
    [signed, true, true],
    [SignedTransaction.encode({ txn: payment }), false, true],
  ] as const) {
    const [member, ...others] = TransactionFile.decode(given)
    assert.deepEqual(others, [])
    assert.deepEqual(member!.bytes, bytes)
    assert.deepEqual(member!.transaction, payment)
    assert.equal(member!.isSigned, isSigned)
    assert.equal(member!.signed !== undefined, isWrapped)
  }
})

test('reads several in a row, mixed', () => {
  const members = TransactionFile.decode(Bytes.concat([bytes, signed, bytes]))
  assert.deepEqual(
    members.map(({ isSigned }) => isSigned),
    [false, true, false],
  )
})

test('reads every encoding and returns the canonical one', () => {
  const spelled = Buffer.from(algosdk.msgpackRawEncode({ type: 'pay', snd: alice, amt: 0, note: new Uint8Array() }))
  const [member] = TransactionFile.decode(Buffer.concat([spelled, bytes]))
  assert.deepEqual(member!.bytes, Transaction.encode({ type: 'pay', snd: alice }))
})

test('a multisig counts as signed once one member has signed', () => {
  const empty = Multisig.empty({ version: 1, threshold: 1, publicKeys: [alice] })
  const [unsigned] = TransactionFile.decode(SignedTransaction.encode({ msig: empty, txn: payment }))
  assert.equal(unsigned!.isSigned, false)
  const msig = Multisig.addSignature(empty, alice, sig)
  assert.equal(TransactionFile.decode(SignedTransaction.encode({ msig, txn: payment }))[0]!.isSigned, true)
})

test('rejects empty input, garbage, and anything after the last transaction', () => {
  const garbage = ['', '00', '80', 'c0', '90', '81', 'ff', '81a374786e80'].map((hex) => Buffer.from(hex, 'hex'))
  for (const wrong of [...garbage, ...garbage.slice(1).map((tail) => Bytes.concat([bytes, tail]))]) {
    assert.throws(() => TransactionFile.decode(wrong), TransactionFile.DecodeError, Buffer.from(wrong).toString('hex'))
  }
  assert.throws(() => TransactionFile.decode(signed.subarray(0, -1)), TransactionFile.DecodeError)
})

test('accepts sixteen transactions and rejects seventeen', () => {
  assert.equal(TransactionFile.decode(Bytes.concat(new Array(16).fill(bytes))).length, 16)
  assert.throws(() => TransactionFile.decode(Bytes.concat(new Array(17).fill(bytes))), /more than 16/)
})

test('any transactions round-trip, and damaged ones are read or rejected', () => {
  const several = fc.array(typedTransaction, { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(several, (transactions) => {
      const all = transactions.map(Transaction.encode)
      assert.deepEqual(
        TransactionFile.decode(Bytes.concat(all)).map((member) => member.bytes),
        all,
      )
    }),
    { numRuns: 100 },
  )
  fc.assert(
    fc.property(
      mutated(several.map((transactions) => Bytes.concat(transactions.map(Transaction.encode)))),
      (damaged) => {
        try {
          for (const member of TransactionFile.decode(damaged)) Transaction.decode(member.bytes)
        } catch (error) {
          assert.ok(error instanceof TransactionFile.DecodeError, String(error))
        }
      },
    ),
    { numRuns: 500 },
  )
})
