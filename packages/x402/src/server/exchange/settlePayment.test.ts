import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type SettlePaymentOptions, settlePayment } from './settlePayment.js'

/** The gate's result for the answer of a trusted facilitator. */
async function stateFor(errorReason: string): Promise<string> {
  const response = { success: false, errorReason, transaction: 'T', network: 'algorand:x' }
  const facilitators = { settle: async () => ({ response, isTrusted: true }) }
  const rest = {
    requirement: { network: 'algorand:x' },
    payment: { transactionId: 'T', payer: 'P' },
    onError: () => {},
  }
  return (await settlePayment({ facilitators, ...rest } as unknown as SettlePaymentOptions)).state
}

test('a payment has not failed if a trusted facilitator does not know its outcome', async () => {
  assert.equal(await stateFor('settlement_pending'), 'pending')
  assert.equal(await stateFor('unexpected_settle_error'), 'pending')
  assert.equal(await stateFor('invalid_exact_avm_settlement_failed'), 'failed')
})
