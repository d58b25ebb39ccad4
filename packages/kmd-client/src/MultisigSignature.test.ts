import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Multisig } from '@latchkey/algorand'
import fc from 'fast-check'
import * as MultisigSignature from './MultisigSignature.js'

const subsig = fc.record(
  { pk: fc.uint8Array({ minLength: 32, maxLength: 32 }), s: fc.uint8Array({ minLength: 64, maxLength: 64 }) },
  { requiredKeys: ['pk'] },
)
const signature = fc.record({
  v: fc.integer({ min: 1, max: 255 }),
  thr: fc.integer({ min: 1, max: 255 }),
  subsig: fc.array(subsig, { minLength: 1, maxLength: 20 }),
})

it('what the encoder of multisig signatures writes is read', () => {
  fc.assert(
    fc.property(signature, ({ v, thr, subsig }) => {
      // A key or signature of zeros counts as absent in the encoding.
      fc.pre(subsig.every(({ pk, s }) => pk.some((byte) => byte !== 0) && (s === undefined || s.some(Boolean))))
      const decoded = MultisigSignature.decode(Multisig.encode({ v, thr, subsig }))
      assert.deepEqual(decoded, {
        version: v,
        threshold: thr,
        subsigs: subsig.map(({ pk, s }) => (s === undefined ? { publicKey: pk } : { publicKey: pk, signature: s })),
      })
    }),
  )
})

it('anything else is not, and does no harm', () => {
  const whole = Multisig.encode({ v: 1, thr: 1, subsig: [{ pk: new Uint8Array(32).fill(1) }] })
  for (let length = 0; length < whole.length; length++) {
    assert.equal(MultisigSignature.decode(whole.subarray(0, length)), undefined)
  }
  assert.equal(MultisigSignature.decode(Buffer.concat([whole, Buffer.of(0)])), undefined)
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void MultisigSignature.decode(bytes)))
})

it('a long list is read', () => {
  const subsig = Array.from({ length: 255 }, (_, index) => ({ pk: new Uint8Array(32).fill(index + 1) }))
  assert.equal(MultisigSignature.decode(Multisig.encode({ v: 1, thr: 200, subsig }))?.subsigs.length, 255)
})
