import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Address from './Address.js'
import * as Bytes from './Bytes.js'
import type { UptoTerms } from './UptoProgram.js'
import * as UptoProgram from './UptoProgram.js'

const addressOf = (byte: number): string => Address.encode(new Uint8Array(32).fill(byte))

const terms: UptoTerms = {
  payer: addressOf(1),
  payTo: addressOf(2),
  assetId: 31566704n,
  maxAmount: 500_000n,
  lease: new Uint8Array(32).fill(3),
  lastValid: 1_234n,
  genesisHash: new Uint8Array(32).fill(4),
  facilitator: addressOf(5),
}

test('a program has the terms that it was built from', () => {
  const program = UptoProgram.build(terms)
  assert.equal(program.length, UptoProgram.programLength)
  assert.deepEqual(UptoProgram.parse(program), terms)
  const extreme = { ...terms, assetId: 2n ** 64n - 1n, maxAmount: 0n, lastValid: 2n ** 63n }
  assert.deepEqual(UptoProgram.parse(UptoProgram.build(extreme)), extreme)
})

test('a program with any other instruction is not recognized', () => {
  const program = UptoProgram.build(terms)
  let [changed, recognized] = [0, 0]
  for (let at = 0; at < program.length; at++) {
    const other = program.slice()
    other[at] = other[at]! ^ 1
    const parsed = UptoProgram.parse(other)
    if (parsed === undefined) changed++
    else {
      recognized++
      // A changed constant is a changed term, never the same terms.
      assert.notDeepEqual(parsed, terms)
      assert.deepEqual(UptoProgram.build(parsed), other)
    }
  }
  assert.equal(recognized, 5 * 32 + 3 * 8)
  assert.equal(changed, program.length - recognized)
  assert.equal(UptoProgram.parse(program.subarray(1)), undefined)
  assert.equal(UptoProgram.parse(Bytes.concat([program, Uint8Array.of(0x44)])), undefined)
  assert.equal(UptoProgram.parse(new Uint8Array()), undefined)
})

test('a program cannot be built from values that do not fit', () => {
  for (const change of [{ maxAmount: -1n }, { assetId: 2n ** 64n }, { lease: new Uint8Array(31) }]) {
    assert.throws(() => UptoProgram.build({ ...terms, ...change }), RangeError)
  }
  assert.throws(() => UptoProgram.build({ ...terms, payTo: 'x' }), Address.AddressError)
})

test('the template has the published hash', () => {
  assert.equal(UptoProgram.templateHash(), 'a59df35540f370a109b655089adafc90f2dfa93f8026f3283e0724673e162f3d')
})

test('the lease depends on every term and on the nonce', () => {
  const nonce = new Uint8Array(UptoProgram.nonceLength).fill(9)
  const lease = UptoProgram.leaseOf(terms, nonce)
  assert.equal(lease.length, 32)
  const changes: Partial<UptoTerms>[] = [
    { payer: addressOf(6) },
    { payTo: addressOf(6) },
    { assetId: 1n },
    { maxAmount: 1n },
    { lastValid: 1_235n },
    { genesisHash: new Uint8Array(32) },
    { facilitator: addressOf(6) },
  ]
  for (const change of changes) {
    assert.notDeepEqual(UptoProgram.leaseOf({ ...terms, ...change }, nonce), lease, Object.keys(change)[0])
  }
  assert.notDeepEqual(UptoProgram.leaseOf(terms, new Uint8Array(UptoProgram.nonceLength)), lease)
  assert.throws(() => UptoProgram.leaseOf(terms, new Uint8Array(15)), RangeError)
})
