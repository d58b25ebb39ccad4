import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Fees from './Fees.js'

const txn = (noteBytes: number, fee?: bigint) => ({
  type: 'pay',
  snd: new Uint8Array(32),
  note: new Uint8Array(noteBytes),
  fee,
})

test('a note is free up to 1024 bytes; each further byte costs a ten-thousandth of the minimum fee', () => {
  const usages = [0, 1024, 1025, 2024, 4096].map((length) => Fees.usage(txn(length)))
  assert.deepEqual(usages, [1_000_000n, 1_000_000n, 1_000_100n, 1_100_000n, 1_307_200n])
})

test('fees are rounded up once for the group', () => {
  assert.deepEqual([1_000_000n, 1_000_100n, 1_307_200n].map(Fees.required), [1000n, 1001n, 1308n])
  assert.equal(Fees.required(Fees.groupUsage([txn(1025), txn(1025)])), 2001n)
})

test('fees are pooled', () => {
  assert.equal(Fees.shortfall([txn(0, 3000n), txn(0), txn(0)]), undefined)
  const reason = 'txgroup with 2.999mA fees is less than 3.001mA (usage=3.000100 * base=1mA)'
  assert.equal(Fees.shortfall([txn(1025, 2999n), txn(0), txn(0)]), reason)
})
