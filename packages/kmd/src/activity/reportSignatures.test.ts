import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Transaction } from '@latchkey/algorand'
import { reportingLog, type SignatureRecord } from './SignatureLog.js'

const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte)
const payment = (amt: bigint): Uint8Array =>
  Transaction.encode({ type: 'pay', snd: key(1), rcv: key(2), amt, fee: 1000n, fv: 1n, lv: 2n, gh: key(3) })
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('signatures are reported in order, but not while one is being made', async () => {
  const reported: SignatureRecord[] = []
  const log = reportingLog((record) => reported.push(record))
  for (let index = 1; index <= 10; index++) log.add('w', payment(BigInt(index)), false)
  assert.equal(reported.length, 0)
  while (reported.length < 10) await turn()
  assert.deepEqual(
    reported.map(({ facts }) => facts.amount),
    Array.from({ length: 10 }, (_, index) => BigInt(index + 1)),
  )
  log.add('w', payment(11n), false)
  while (reported.length < 11) await turn()
  assert.equal(reported.at(-1)!.facts.amount, 11n)
})

test('during a flood, the latest signatures are reported', async () => {
  const numbers: number[] = []
  const log = reportingLog(({ number }) => numbers.push(number))
  for (let index = 0; index < 500; index++) log.add('w', payment(1n), false)
  while (numbers.at(-1) !== 500) await turn()
  assert.equal(numbers.length, 64)
})
