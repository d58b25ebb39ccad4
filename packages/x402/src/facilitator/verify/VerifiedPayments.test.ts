import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PaymentPayload, PaymentRequirements } from '@latchkey/x402-wire'
import { requirementsFor, sponsored } from '../../../../x402-wire/dist/payments.test.helper.js'
import { setUp } from '../setup.test.helper.js'
import { VerifiedPayments, verificationKey } from './VerifiedPayments.js'
import type { VerifiedPayment } from './verifyPayment.js'

const payment = {} as VerifiedPayment

test('finds a payment only by exactly the checked values', () => {
  const verified = new VerifiedPayments()
  const { payload, requirements } = sponsored()
  verified.add(verificationKey(payload, requirements), payment)
  const copy = <T>(value: T): T => JSON.parse(JSON.stringify(value))
  assert.equal(verified.get(verificationKey(copy(payload), copy(requirements))), payment)
  const { paymentGroup, paymentIndex } = payload.payload as { paymentGroup: string[]; paymentIndex: number }
  const [fee, transfer] = paymentGroup as [string, string]
  const flipped = `${transfer.slice(0, 40)}${transfer[40] === 'A' ? 'B' : 'A'}${transfer.slice(41)}`
  const payloads = [
    { paymentGroup: [fee, flipped], paymentIndex },
    { paymentGroup: [transfer, fee], paymentIndex },
    { paymentGroup: [fee, transfer], paymentIndex: 0 },
    { paymentGroup: [fee + transfer], paymentIndex },
    { paymentGroup: [fee, transfer, ''], paymentIndex },
    { paymentGroup: [fee, 5], paymentIndex },
    { paymentGroup: 'x', paymentIndex },
    {},
  ].map((changed) => ({ ...payload, payload: changed }) as unknown as PaymentPayload)
  const accepted = { ...payload.accepted, network: 'algorand:other' as const }
  payloads.push({ ...payload, accepted }, { ...payload, x402Version: 1 }, undefined as never, null as never)
  for (const other of payloads) assert.equal(verified.get(verificationKey(other, requirements)), undefined)
  for (const change of [
    { amount: '1001' },
    { payTo: 'X' },
    { asset: '1' },
    { network: 'algorand:x' },
    { scheme: 'x' },
  ]) {
    const other = requirementsFor(change as Partial<PaymentRequirements>)
    assert.equal(verified.get(verificationKey(payload, other)), undefined)
  }
  for (const other of [undefined, null, {}]) {
    assert.equal(verified.get(verificationKey(payload, other as never)), undefined)
  }
})

test('checks a payment with another signature again, even after the first was verified', async (t) => {
  const { facilitator, node } = await setUp(t)
  const { payload, requirements } = sponsored()
  assert.equal((await facilitator.verify(payload, requirements)).isValid, true)
  const { paymentGroup } = payload.payload as { paymentGroup: string[] }
  const bytes = Buffer.from(paymentGroup[1]!, 'base64')
  const at = bytes.indexOf(Buffer.from('sig')) + 10
  bytes[at] = bytes[at]! ^ 1
  const forged = {
    ...payload,
    payload: { ...payload.payload, paymentGroup: [paymentGroup[0], bytes.toString('base64')] },
  }
  const refused = await facilitator.settle(forged as PaymentPayload, requirements)
  assert.equal(refused.errorReason, 'invalid_exact_avm_invalid_signature')
  const cheaper = await facilitator.settle(payload, { ...requirements, amount: '999' })
  assert.equal(cheaper.errorReason, 'invalid_exact_avm_amount_mismatch')
  assert.equal(node.submitted.length, 0)
  assert.equal((await facilitator.settle(payload, requirements)).success, true)
})
