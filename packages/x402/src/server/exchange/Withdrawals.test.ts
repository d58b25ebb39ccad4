/** Which codes say something about the payer. */
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Chain } from '../../chain/Chain.js'
import { paymentErrors } from '../../facilitator/PaymentError.js'
import type { Sale } from '../store/Sales.js'
import type { LedgerPayment } from './Payment.js'
import { type FailureCause, failureCause, Withdrawals } from './Withdrawals.js'

/** The codes of settlements by usage, and some of other facilitators. All other codes are of the scheme exact. */
const causes: { readonly [code: string]: FailureCause } = {
  invalid_upto_avm_simulation_failed: 'ledger',
  // A node rejects it for the fee account too.
  invalid_upto_avm_settlement_failed: 'unknown',
  payer_balance_reserved: 'unknown',
  invalid_upto_avm_payload: 'seller',
  invalid_upto_avm_scheme: 'seller',
  invalid_upto_avm_program: 'seller',
  invalid_upto_avm_lease: 'seller',
  invalid_upto_avm_invalid_signature: 'seller',
  invalid_upto_avm_network_mismatch: 'seller',
  invalid_upto_avm_asset_mismatch: 'seller',
  invalid_upto_avm_receiver_mismatch: 'seller',
  invalid_upto_avm_amount_mismatch: 'seller',
  invalid_upto_avm_facilitator_mismatch: 'seller',
  invalid_upto_avm_settlement_exceeds_amount: 'seller',
  invalid_upto_avm_payload_validity: 'seller',
  invalid_payment_requirements: 'seller',
  duplicate_settlement: 'seller',
  payment_already_claimed: 'seller',
  payment_already_used: 'seller',
  settlement_pending: 'seller',
  facilitator_fee_account_unfunded: 'seller',
  facilitator_key_unavailable: 'seller',
  facilitator_node_unavailable: 'seller',
  facilitator_policy_refused: 'seller',
  facilitator_busy: 'seller',
  unexpected_verify_error: 'seller',
  unexpected_settle_error: 'seller',
  // The gate's own, for a facilitator that names no code.
  settlement_failed: 'unknown',
  insufficient_funds: 'unknown',
  '': 'unknown',
}

test('every code of a facilitator has a cause, and only a rejection by the ledger counts against the payer', () => {
  for (const [code, cause] of Object.entries(causes)) assert.equal(failureCause(code), cause, code)
  const missing = Object.keys(paymentErrors).filter((code) => !code.startsWith('invalid_exact_') && !(code in causes))
  assert.deepEqual(missing, [])
  for (const code of Object.keys(paymentErrors)) {
    if (code.startsWith('invalid_exact_')) assert.equal(failureCause(code), 'unknown', 'the ledger is asked')
  }
})

test('a low balance proves nothing if the blocks are those of a node that is behind', async () => {
  for (const [lastRound, evidence] of [[99n, 'nothing'] as const, [100n, 'withdrawn'] as const]) {
    const algod = {
      quorum: 1,
      holding: async () => ({ amount: 5n, isFrozen: false, round: 100n }),
      account: async () => ({}),
      parameters: async () => ({ lastRound }),
      leasesInBlock: async () => [],
    }
    const chain = { caip2: 'algorand:a', algod } as unknown as Chain
    const terms = { payer: 'P', payTo: 'S', assetId: 1n, lastValid: 200n }
    const payment = { authorization: { terms, signer: 'P' } } as unknown as LedgerPayment
    const sale = { firstValid: 95, lastValid: 200, transactionId: `upto-${'A'.repeat(52)}` } as Sale
    assert.equal(await new Withdrawals().evidence(chain, { payment, sale, charge: 10n }), evidence)
  }
})
