import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Group, Submission } from '@latchkey/algorand'
import {
  GroupError,
  type GroupErrorCode,
  isComplete,
  maxMemberBytes,
  read,
  readPayment,
  toPayload,
} from './PaymentGroup.js'
import { alone, buyer, feePayment, sign, sponsored, type Tx, transfer } from './payments.test.helper.js'

function codeOf(payload: unknown): GroupErrorCode | undefined {
  try {
    const { payment, transactionId } = read(payload)
    assert.deepEqual(readPayment(payload), { txn: payment.txn, sender: payment.sender, transactionId })
    return undefined
  } catch (error) {
    assert.ok(error instanceof GroupError)
    assert.throws(() => readPayment(payload), { code: error.code, message: error.message })
    return error.code
  }
}

const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

test('reads the signers and the id of a payment', () => {
  const { payload, id } = sponsored()
  const { members, payment, paymentIndex, transactionId } = read(payload.payload)
  assert.deepEqual([paymentIndex, transactionId, payment.sender], [1, id, buyer.address])
  assert.deepEqual(readPayment(payload.payload), { txn: payment.txn, sender: buyer.address, transactionId: id })
  assert.deepEqual(
    members.map(({ isSigned }) => isSigned),
    [false, true],
  )
  assert.deepEqual(toPayload([sign(payment.txn)], 0).paymentGroup, [textOf(payment.bytes)])
})

test('has a code for each kind of invalid payload', () => {
  const [text] = alone().payload.payload['paymentGroup'] as [string]
  for (const payload of [
    undefined,
    null,
    5,
    [],
    {},
    { paymentGroup: 'x', paymentIndex: 0 },
    { paymentGroup: [null], paymentIndex: 0 },
  ]) {
    assert.equal(codeOf(payload), 'invalid_payment_payload')
  }
  for (const paymentIndex of [undefined, '0', 0.5, Number.NaN, null]) {
    assert.equal(codeOf({ paymentGroup: [text], paymentIndex }), 'invalid_payment_payload')
  }
  assert.equal(codeOf({ paymentGroup: Array(17).fill(text), paymentIndex: 0 }), 'payment_group_too_large')
  for (const paymentIndex of [-1, 1, 2 ** 40])
    assert.equal(codeOf({ paymentGroup: [text], paymentIndex }), 'invalid_payment_index')
  for (const bad of ['', '=', 'a-_b', 'A', `${text}\n`, ` ${text}`, 'AAAA', `${text}AAAA`]) {
    assert.equal(codeOf({ paymentGroup: [bad], paymentIndex: 0 }), 'invalid_payment_transaction', bad)
  }
})

test('checks all lengths before decoding', () => {
  const long = 'A'.repeat(maxMemberBytes * 2)
  assert.throws(() => read({ paymentGroup: ['*', long], paymentIndex: 0 }), /transaction 1 is too long/)
})

test('treats a signature of zeros as unsigned', () => {
  const txn = transfer()
  const payload = { paymentGroup: [textOf(Submission.encode({ txn, sig: new Uint8Array(64) }))], paymentIndex: 0 }
  assert.equal(read(payload).payment.isSigned, false)
})

test('a group is complete with exactly its transactions, in order', () => {
  const [fee, payment] = Group.assign([feePayment(), transfer()]) as [Tx, Tx]
  const [first, second] = [textOf(Submission.transactionBytes(fee)), textOf(sign(payment))]
  const isWhole = (paymentGroup: string[]): boolean => isComplete(read({ paymentGroup, paymentIndex: 0 }))
  assert.equal(isWhole([first, second]), true)
  assert.deepEqual([[second, first], [second], [first, second, second]].map(isWhole), [false, false, false])
  const single = transfer()
  assert.equal(isWhole([textOf(sign(single))]), true)
  assert.equal(isWhole([textOf(sign(Group.assign([single])[0]!))]), true)
})
