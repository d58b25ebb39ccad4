import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Fees from './Fees.js'

const signed = (noteBytes: number, fee?: bigint, logicBytes?: number) => ({
  txn: { type: 'pay', snd: new Uint8Array(32), note: new Uint8Array(noteBytes), fee },
  lsig: logicBytes === undefined ? undefined : { l: new Uint8Array(logicBytes) },
})

test('a note is free up to 1024 bytes; each further byte costs a ten-thousandth of the minimum fee', () => {
  const usages = [0, 1024, 1025, 2024, 4096].map((length) => Fees.usage(signed(length).txn))
  assert.deepEqual(usages, [1_000_000n, 1_000_000n, 1_000_100n, 1_100_000n, 1_307_200n])
})

test('fees are rounded up once for the group', () => {
  assert.deepEqual([1_000_000n, 1_000_100n, 1_307_200n].map(Fees.required), [1000n, 1001n, 1308n])
  assert.equal(Fees.required(Fees.groupUsage([signed(1025), signed(1025)])), 2001n)
})

test('fees are pooled', () => {
  assert.equal(Fees.shortfall([signed(0, 3000n), signed(0), signed(0)]), undefined)
  const reason = 'txgroup with 2.999mA fees is less than 3.001mA (usage=3.000100 * base=1mA)'
  assert.equal(Fees.shortfall([signed(1025, 2999n), signed(0), signed(0)]), reason)
})

test('the programs of logic signatures are free up to 1000 bytes for each member of the group', () => {
  assert.equal(Fees.groupUsage([signed(0, 0n, 1000)]), 1_000_000n)
  assert.equal(Fees.groupUsage([signed(0, 0n, 1003)]), 1_000_300n)
  assert.equal(Fees.groupUsage([signed(0, 0n, 1003), signed(0)]), 2_000_000n)
  assert.equal(Fees.groupUsage([signed(0, 0n, 1003), signed(0, 0n, 1000)]), 2_000_300n)
})

test('arguments of an application call cost above 2048 bytes, its programs above 8192', () => {
  const call = { type: 'appl', snd: new Uint8Array(32) }
  assert.equal(Fees.usage({ ...call, apaa: [new Uint8Array(2000), new Uint8Array(48)] }), 1_000_000n)
  assert.equal(Fees.usage({ ...call, apaa: [new Uint8Array(2000), new Uint8Array(49)] }), 1_000_100n)
  assert.equal(Fees.usage({ ...call, apap: new Uint8Array(8000), apsu: new Uint8Array(193) }), 1_000_100n)
})

const cases: readonly (readonly [bigint, string])[] = [
  [0n, '0.0A'],
  [1n, '1uA'],
  [999n, '999uA'],
  [1_000n, '1mA'],
  [1_001n, '1.001mA'],
  [199_500n, '199.500mA'],
  [999_999n, '999.999mA'],
  [1_000_000n, '1A'],
  [1_800_000n, '1.800000A'],
  [2_800_001n, '2.800001A'],
  [2n ** 64n - 1n, '18446744073709.551615A'],
]

for (const [microAlgos, text] of cases) {
  test(`${microAlgos} microAlgos are written ${text}`, () => assert.equal(Fees.formatMicroAlgos(microAlgos), text))
}
