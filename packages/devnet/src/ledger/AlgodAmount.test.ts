import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as AlgodAmount from './AlgodAmount.js'

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
  test(`${microAlgos} microAlgos are written ${text}`, () => assert.equal(AlgodAmount.format(microAlgos), text))
}
