/** Why a payment is not accepted, by the codes of the public scheme; those with no counterpart there are ours. */
export const codes = {
  version: 'invalid_exact_avm_invalid_version',
  scheme: 'invalid_exact_avm_scheme',
  network: 'invalid_exact_avm_network_mismatch',
  payload: 'invalid_exact_avm_payload',
  groupSize: 'invalid_exact_avm_group_size_exceeded',
  paymentIndex: 'invalid_exact_avm_payment_index',
  transaction: 'invalid_exact_avm_invalid_transaction',
  unsigned: 'invalid_exact_avm_unsigned_non_facilitator',
  groupId: 'invalid_exact_avm_invalid_group_id',
  facilitatorPays: 'invalid_exact_avm_facilitator_transferring',
  notTransfer: 'invalid_exact_avm_not_asset_transfer',
  amount: 'invalid_exact_avm_amount_mismatch',
  receiver: 'invalid_exact_avm_receiver_mismatch',
  asset: 'invalid_exact_avm_asset_mismatch',
  notSigned: 'invalid_exact_avm_payment_not_signed',
  signature: 'invalid_exact_avm_invalid_signature',
  feePayer: 'invalid_exact_avm_invalid_fee_payer',
  fee: 'invalid_exact_avm_fee_too_high',
  simulation: 'invalid_exact_avm_simulation_failed',
  settlement: 'invalid_exact_avm_settlement_failed',
  requirements: 'invalid_payment_requirements',
  rekey: 'invalid_exact_avm_payload_rekey_detected',
  close: 'invalid_exact_avm_payload_close_to_detected',
  clawback: 'invalid_exact_avm_payload_clawback_detected',
  unexpected: 'invalid_exact_avm_payload_unexpected_transaction',
  validity: 'invalid_exact_avm_payload_validity',
  /** It is in the ledger, and not by this facilitator: whoever shows it may have read it there. */
  duplicate: 'duplicate_settlement',
  pending: 'settlement_pending',
  /** Ours to mend: the account that pays the fees cannot. */
  feeAccount: 'facilitator_fee_account_unfunded',
  node: 'facilitator_node_unavailable',
  policy: 'facilitator_policy_refused',
  /** It has as much to attend to as it can, or is about to stop; nothing was sent. */
  busy: 'facilitator_busy',
  /** A fault of this program, of its store or of its key. */
  unexpectedVerify: 'unexpected_verify_error',
  unexpectedSettle: 'unexpected_settle_error',
} as const

export type Code = (typeof codes)[keyof typeof codes]

/** Thrown by the checks; never holds anything that is not for the buyer to read. */
export class PaymentError extends Error {
  override name = 'Refusal'
  readonly code: Code

  constructor(code: Code, message: string) {
    super(message)
    this.code = code
  }
}
