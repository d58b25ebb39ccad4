/**
 * The reasons why a facilitator does not accept a payment, with the codes of the public scheme. Codes without a
 * counterpart there are ours.
 */
import { type ErrorRegistry, LatchkeyError } from '@latchkey/algorand'

/** The wire codes of a facilitator: `invalidReason` of /verify and `errorReason` of /settle. Codes never change. */
export const paymentErrors = {
  invalid_exact_avm_invalid_version: {
    message: 'The payment does not use version 2 of the protocol.',
    hint: 'Pay with a client that supports version 2.',
  },
  invalid_exact_avm_scheme: {
    message: 'The scheme is not exact.',
    hint: 'Pay one of the offers in accepts.',
  },
  invalid_exact_avm_network_mismatch: {
    message: 'The payment is for another network, according to its network id or a transaction’s genesis hash.',
    hint: 'Check which node the buyer uses.',
  },
  invalid_exact_avm_payload: {
    message: 'The payload has no paymentGroup and paymentIndex.',
    hint: 'Use a client that supports the scheme.',
  },
  invalid_exact_avm_group_size_exceeded: {
    message: 'The group has more than sixteen transactions.',
    hint: 'Send the payment and the fee transaction, nothing else.',
  },
  invalid_exact_avm_payment_index: {
    message: 'paymentIndex does not point to a transaction.',
    hint: 'Set it to the position of the transaction that pays.',
  },
  invalid_exact_avm_invalid_transaction: {
    message: 'A transaction could not be decoded.',
    hint: 'Encode it as msgpack, in standard base64.',
  },
  invalid_exact_avm_unsigned_non_facilitator: {
    message: 'A transaction is not signed, and the facilitator does not sign it.',
    hint: 'Sign it.',
  },
  invalid_exact_avm_invalid_group_id: {
    message: 'The transactions do not match their group id.',
    hint: 'Assign the group id last, over exactly these transactions.',
  },
  invalid_exact_avm_facilitator_transferring: {
    message: 'The payment is from the facilitator’s own account.',
    hint: 'Pay from another account.',
  },
  invalid_exact_avm_not_asset_transfer: {
    message: 'The payment does not transfer the asset.',
    hint: 'Use axfer for an asset, pay for ALGOs (asset 0).',
  },
  invalid_exact_avm_amount_mismatch: {
    message: 'The payment’s amount differs from the required amount.',
    hint: 'Pay exactly `amount`.',
  },
  invalid_exact_avm_receiver_mismatch: {
    message: 'The payment does not go to payTo.',
    hint: 'Pay to the address that the requirement names.',
  },
  invalid_exact_avm_asset_mismatch: {
    message: 'The payment is in another asset.',
    hint: 'Pay in the asset that the requirement names.',
  },
  invalid_exact_avm_payment_not_signed: {
    message: 'The payment has no signature.',
    hint: 'Sign it.',
  },
  invalid_exact_avm_invalid_signature: {
    message: 'The signature is invalid, or is a logic signature.',
    hint: 'Sign the canonical bytes with the key that authorizes the account.',
  },
  invalid_exact_avm_invalid_fee_payer: {
    message: 'The fee transaction does more than pay fees, or there is more than one.',
    hint: 'Send one payment of 0 from the fee payer to itself.',
  },
  invalid_exact_avm_fee_too_high: {
    message: 'The fee is above the maximum that the facilitator pays for buyers.',
    hint: 'Query the node for the fee again.',
  },
  invalid_exact_avm_simulation_failed: {
    message: 'The ledger would reject the payment. The error text names the account and what it lacks.',
    hint: 'Follow the error text.',
  },
  invalid_exact_avm_settlement_failed: {
    message: 'The payment was submitted, but was rejected or expired. Nothing was charged.',
    hint: 'Make a new payment.',
  },
  invalid_payment_requirements: {
    message: 'The requirement is not valid: it lacks an asset, an amount or an address.',
    hint: 'The seller has to correct its route.',
  },
  invalid_exact_avm_payload_rekey_detected: {
    message: 'The payment would rekey the account.',
    hint: 'Do not sign such a transaction.',
  },
  invalid_exact_avm_payload_close_to_detected: {
    message: 'The payment would close the account or its holding.',
    hint: 'Do not sign such a transaction.',
  },
  invalid_exact_avm_payload_clawback_detected: {
    message: 'The payment would claw back another account’s assets.',
    hint: 'Do not sign such a transaction.',
  },
  invalid_exact_avm_payload_lease_detected: {
    message: 'The payment has a lease, and the ledger accepts only one payment per lease.',
    hint: 'Leave out `lx`; the note makes payments distinct.',
  },
  invalid_exact_avm_payload_unexpected_transaction: {
    message: 'The group has more than the payment and the fee transaction.',
    hint: 'Send only those two.',
  },
  invalid_exact_avm_payload_validity: {
    message: 'The payment is valid for too many rounds, is not valid yet, or has expired.',
    hint: 'Make a new payment.',
  },
  invalid_upto_avm_payload: {
    message: 'The payload of the scheme upto cannot be read: it lacks a program, a nonce or a signature.',
    hint: 'Use a client that supports the scheme.',
  },
  invalid_upto_avm_scheme: {
    message: 'The payment and its requirement do not both use the scheme upto, in version 2 of the protocol.',
    hint: 'Pay one of the offers in accepts.',
  },
  invalid_upto_avm_program: {
    message: 'The program is not the template of the scheme upto.',
    hint: 'Sign version 1 of the template, and no other program.',
  },
  invalid_upto_avm_lease: {
    message: 'The lease is not derived from the terms and the nonce, for example because the last valid round differs.',
    hint: 'Derive it as the scheme defines.',
  },
  invalid_upto_avm_invalid_signature: {
    message: 'The signature of the program is invalid.',
    hint: 'Sign the program with the key that authorizes the payer.',
  },
  invalid_upto_avm_network_mismatch: {
    message: 'The authorization is for another network, according to its network id or its genesis hash.',
    hint: 'Check which node the buyer uses.',
  },
  invalid_upto_avm_asset_mismatch: {
    message: 'The authorization is for another asset.',
    hint: 'Authorize the asset that the requirement names.',
  },
  invalid_upto_avm_receiver_mismatch: {
    message: 'The authorization does not go to payTo.',
    hint: 'Authorize the address that the requirement names.',
  },
  invalid_upto_avm_amount_mismatch: {
    message: 'The maximum of the authorization differs from the required maximum.',
    hint: 'Authorize exactly `amount`.',
  },
  invalid_upto_avm_facilitator_mismatch: {
    message: 'The authorization names an account that is not a fee account of this facilitator.',
    hint: 'Name the `feePayer` of the requirement.',
  },
  invalid_upto_avm_settlement_exceeds_amount: {
    message: 'The amount to settle is above the maximum that the buyer authorized, or is not an amount.',
    hint: 'Charge at most the maximum.',
  },
  invalid_upto_avm_payload_validity: {
    message: 'The authorization is valid for too many rounds, or has expired.',
    hint: 'Make a new payment.',
  },
  invalid_upto_avm_simulation_failed: {
    message: 'The ledger would reject a transfer of the maximum. The error text names the account and what it lacks.',
    hint: 'Follow the error text.',
  },
  invalid_upto_avm_settlement_failed: {
    message: 'The transfer was rejected or expired, for example because the buyer used the lease. Nothing was charged.',
    hint: 'Make a new payment.',
  },
  duplicate_settlement: {
    message: 'The payment is already on the ledger.',
    hint: 'Make a new payment: each payment pays for one request.',
  },
  payment_already_claimed: {
    message: 'The payment belongs to another resource or gate that presented it first.',
    hint: 'Make a new payment: each payment pays for one resource.',
  },
  payer_balance_reserved: {
    message: 'Insufficient balance: other verified payments of the payer are pending.',
    hint: 'Wait until they settle or expire, or fund the account: run `latchkey send`, or `latchkey fund` on a devnet.',
  },
  settlement_pending: {
    message: 'The payment was submitted and is not confirmed yet. Its id is in `transaction`.',
    hint: 'Send the same payment again, never a new one.',
  },
  facilitator_fee_account_unfunded: {
    message: 'The facilitator’s fee account cannot pay.',
    hint: 'The operator has to fund it (`latchkey send`). This is never the buyer’s fault.',
  },
  facilitator_key_unavailable: {
    message: 'The facilitator cannot sign for the fee account that the payment names. Nothing was submitted.',
    hint: 'Request the resource again and pay the new offer. The operator has to check the key daemon.',
  },
  facilitator_node_unavailable: {
    message: 'No node responds.',
    hint: 'Retry. The operator can configure several nodes.',
  },
  facilitator_policy_refused: {
    message: 'The facilitator does not serve this seller, asset or caller, or a limit was reached.',
    hint: 'Contact the operator.',
  },
  facilitator_busy: {
    message: 'The facilitator has too many settlements in progress, or is shutting down. Nothing was submitted.',
    hint: 'Retry.',
  },
  unexpected_verify_error: {
    message: 'The facilitator, its store or its key failed.',
    hint: 'Contact the operator: the facilitator’s log has the cause.',
  },
  unexpected_settle_error: {
    message: 'The facilitator, its store or its key failed. The payment may have been submitted.',
    hint: 'Send the same payment again: it is not charged twice.',
  },
} as const satisfies ErrorRegistry

/** A wire code of a facilitator, from the registry {@link paymentErrors}. */
export type PaymentErrorCode = keyof typeof paymentErrors

/**
 * The reason why a payment is not accepted. The message is sent to the buyer, so it must contain only information for
 * the buyer.
 */
export class PaymentError extends LatchkeyError<PaymentErrorCode> {
  override name = 'PaymentError'

  constructor(code: PaymentErrorCode, message: string) {
    super(code, message, { hint: paymentErrors[code].hint })
  }
}
