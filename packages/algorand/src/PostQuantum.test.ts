import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as Hash from './Hash.js'
import * as Bytes from './internal/Bytes.js'
import * as PostQuantum from './PostQuantum.js'

test('points of the curve include encodings that are not canonical, as for nodes', () => {
  const one = Uint8Array.of(1, ...new Uint8Array(31))
  const signed = Uint8Array.of(1, ...new Uint8Array(30), 0x80)
  // The modulus plus one.
  const unreduced = Uint8Array.of(0xee, ...new Uint8Array(30).fill(0xff), 0x7f)
  for (const point of [one, signed, unreduced]) assert.equal(PostQuantum.isCurvePoint(point), true)
  assert.equal(PostQuantum.isCurvePoint(Uint8Array.of(2, ...new Uint8Array(31))), false)
  assert.equal(PostQuantum.isCurvePoint(new Uint8Array(31)), false)
})

test('missing members of a signature count as zero in the address', () => {
  const prefix = Bytes.fromUtf8('PQA')
  assert.deepEqual(PostQuantum.address({}), Hash.sha512_256(Bytes.concat([prefix, Uint8Array.of(0, 0, 0)])))
})

test('a signature that is incomplete, too long or of another scheme is invalid', () => {
  const f1 = Bytes.fromUtf8('f1')
  const pk = new Uint8Array(PostQuantum.publicKeyBytes)
  pk[0] = 0x0a
  const message = new Uint8Array(1)
  assert.equal(PostQuantum.verify({ sch: f1, pk }, message), false)
  assert.equal(PostQuantum.verify({ sch: f1, sig: Uint8Array.of(0xba, 0) }, message), false)
  assert.equal(PostQuantum.verify({ pk, sig: Uint8Array.of(0xba, 0) }, message), false)
  assert.equal(PostQuantum.check(message, Uint8Array.of(0xba), pk), 'mismatch')
  assert.equal(PostQuantum.check(message, new Uint8Array(1424).fill(0xba), pk), 'mismatch')
  assert.equal(PostQuantum.check(message, Uint8Array.of(0xba, 0), pk), 'malformed')
  for (const [header, failure] of [
    [0x09, 'mismatch'],
    [0x00, 'malformed'],
    [0x0b, 'malformed'],
    [0x1a, 'malformed'],
  ] as const) {
    pk[0] = header
    assert.equal(PostQuantum.check(message, Uint8Array.of(0xba, 0), pk), failure)
  }
})
