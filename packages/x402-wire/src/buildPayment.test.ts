import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Address, Group, Transaction } from '@latchkey/algorand'
import { buildPayment, checkFee, FeeError, type PaymentOrder } from './buildPayment.js'
import { buyer, genesisHash, seller, sponsor, usdc } from './payments.test.helper.js'

function order(change: Partial<PaymentOrder> = {}, parameters: Partial<PaymentOrder['parameters']> = {}): PaymentOrder {
  const plain = { genesisHash, genesisId: 'testnet-v1.0', lastRound: 100n, minFee: 1000n, feePerByte: 0n }
  const people = { payer: buyer.address, payTo: seller.address, feePayer: sponsor.address }
  const money = {
    assetId: usdc,
    amount: 1000n,
    maxTimeoutSeconds: 60,
    isPublicNetwork: true,
  }
  return { parameters: { ...plain, ...parameters }, ...people, ...money, ...change }
}

test('puts the fee payer’s transaction first', () => {
  const { transactions, paymentIndex, feeMicroAlgos, transactionId } = buildPayment(order())
  const [fee, payment] = transactions as [Transaction.Transaction, Transaction.Transaction]
  assert.deepEqual(
    [fee.type, Address.encode(fee.snd), Address.encode(fee.rcv!)],
    ['pay', sponsor.address, sponsor.address],
  )
  assert.deepEqual([fee.amt, fee.fee, payment.fee], [undefined, 2000n, undefined])
  assert.deepEqual(
    [payment.type, payment.aamt, payment.xaid, Address.encode(payment.arcv!)],
    ['axfer', 1000n, usdc, seller.address],
  )
  assert.deepEqual([paymentIndex, feeMicroAlgos, transactionId], [1, 0n, Transaction.id(payment)])
  assert.ok(Group.isComplete(transactions))
})

test('without a fee payer the buyer pays the fee, including for ALGO payments', () => {
  const { transactions, paymentIndex, feeMicroAlgos } = buildPayment(order({ feePayer: undefined, assetId: 0n }))
  const [payment] = transactions as [Transaction.Transaction]
  assert.deepEqual([transactions.length, paymentIndex, feeMicroAlgos], [1, 0, 1000n])
  assert.deepEqual([payment.type, payment.amt, payment.grp], ['pay', 1000n, undefined])
})

test('derives the validity from maxTimeoutSeconds', () => {
  const rounds = (maxTimeoutSeconds: number): bigint => buildPayment(order({ maxTimeoutSeconds })).lastValid - 100n
  assert.deepEqual([60, 300, 100_000].map(rounds), [27n, 123n, 1000n])
})

test('uses the longest validity on a local network', () => {
  assert.equal(buildPayment(order({ isPublicNetwork: false })).lastValid, 1100n)
})

test('pays fees per byte up to the limit', () => {
  const { transactions } = buildPayment(order({}, { feePerByte: 10n }))
  assert.ok(transactions[0]!.fee! > 4_000n && transactions[0]!.fee! < 8_000n)
  assert.throws(() => checkFee(buildPayment(order({}, { feePerByte: 5_000n })), 10_000n), FeeError)
  assert.throws(() => checkFee(buildPayment(order()), 1_999n), FeeError)
  checkFee(buildPayment(order()), 2_000n)
})

test('two payments of the same amount differ', () => {
  const ids = Array.from({ length: 50 }, () => buildPayment(order()).transactionId)
  assert.equal(new Set(ids).size, 50)
})

test('works in round 0', () => {
  const [fee] = buildPayment(order({}, { lastRound: 0n })).transactions
  assert.equal(fee!.fv, undefined)
})
