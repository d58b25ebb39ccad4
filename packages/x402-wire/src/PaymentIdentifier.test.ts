import assert from 'node:assert/strict'
import test from 'node:test'
import * as PaymentIdentifier from './PaymentIdentifier.js'
import type { PaymentPayload } from './parsePayment.js'

const payment = (extensions?: object) => ({ x402Version: 2, extensions }) as unknown as PaymentPayload

test('an identifier has 16 to 128 letters, digits, hyphens and underscores', () => {
  for (const id of ['a'.repeat(16), 'a'.repeat(128), 'order-2026_11-17', PaymentIdentifier.create()]) {
    assert.ok(PaymentIdentifier.isValid(id), id)
  }
  for (const id of [
    'a'.repeat(15),
    'a'.repeat(129),
    'order 2026 11 17',
    `${'a'.repeat(16)}\n`,
    'ä'.repeat(16),
    1,
    null,
  ]) {
    assert.equal(PaymentIdentifier.isValid(id), false, String(id))
  }
  assert.match(PaymentIdentifier.create(), /^pay_[0-9a-f]{32}$/)
})

test('adds an identifier beside the echoed declaration, and only where the seller declared it', () => {
  const extensions = PaymentIdentifier.declaration(true)
  const id = PaymentIdentifier.create()
  const named = PaymentIdentifier.add(payment(extensions), id)
  assert.deepEqual((named.extensions as { [key: string]: { info: object } })[PaymentIdentifier.key]!.info, {
    required: true,
    id,
  })
  assert.equal(PaymentIdentifier.read(named), id)
  assert.equal(PaymentIdentifier.read(payment(extensions)), undefined)
  const plain = payment({ other: {} })
  assert.equal(PaymentIdentifier.add(plain, id), plain)
})

test('reads no identifier from anything else', () => {
  for (const extensions of [undefined, null, {}, { 'payment-identifier': 1 }, { 'payment-identifier': { info: [] } }]) {
    assert.equal(PaymentIdentifier.read(payment(extensions as object)), undefined)
    assert.equal(PaymentIdentifier.declared(extensions), undefined)
  }
  for (const id of ['short', 1, null, {}, 'x'.repeat(1_000)]) {
    assert.equal(PaymentIdentifier.read(payment({ 'payment-identifier': { info: { id } } })), null)
  }
  assert.equal(PaymentIdentifier.declared(PaymentIdentifier.declaration(true)), 'required')
  assert.equal(PaymentIdentifier.declared(PaymentIdentifier.declaration(false)), 'optional')
})
