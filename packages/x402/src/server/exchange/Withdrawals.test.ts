/** Which codes say something about the payer. */
import assert from 'node:assert/strict'
import test from 'node:test'
import { Bytes } from '@latchkey/algorand'
import { UptoPayment } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import { paymentErrors } from '../../facilitator/PaymentError.js'
import type { Sale } from '../store/Sales.js'
import { type FailedCharge, type FailureCause, failureCause, Withdrawals } from './Withdrawals.js'

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

test('a payer that was charged in a block that a second node does not have yet is not at fault', async () => {
  const transactionId = UptoPayment.idOf(new Uint8Array(32).fill(5))
  const [payer, payTo] = ['payer', 'seller']
  const sale = { transactionId, payer, payTo, asset: '7', amount: '500', firstValid: 10, lastValid: 100 } as Sale
  const transfer = {
    sender: payer,
    lease: Bytes.toBase64(UptoPayment.leaseOfId(transactionId)),
    lastValid: 100n,
    isAssetTransfer: true,
    receiver: payTo,
    assetId: 7n,
    amount: 300n,
  }
  for (const [nodes, isCharged] of [
    [1, true],
    [2, true],
    [2, false],
  ] as const) {
    let lastRound = 11n
    const algod = {
      quorum: 1,
      nodes: () => Array(nodes),
      holding: async (address: string) => ({ amount: address === payer ? 200n : 0n, isFrozen: false }),
      account: async () => ({}),
      // A node reports one block more each time.
      parameters: async () => ({ lastRound: lastRound++ }),
      leasesInBlock: async (round: bigint) => (isCharged && round === 12n ? [transfer] : []),
    }
    const terms = { payer, payTo, assetId: 7n, lastValid: 100n }
    const charge = { payment: { authorization: { terms, signer: payer } }, sale, charge: 300n }
    const chain = { caip2: 'test', algod } as unknown as Chain
    const evidence = await new Withdrawals(10).evidence(chain, charge as unknown as FailedCharge)
    // One node reports its balances and its blocks in order.
    assert.equal(evidence, isCharged && nodes === 2 ? 'charged' : 'withdrawn')
  }
})
