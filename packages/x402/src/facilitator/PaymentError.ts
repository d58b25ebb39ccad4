/**
 * The reasons why a facilitator does not accept a payment, with the codes of the public scheme. Codes without a
 * counterpart there are ours.
 */
import { type ErrorRegistry, LatchkeyError } from '@latchkey/algorand'

/** The wire codes of a facilitator: `invalidReason` of /verify and `errorReason` of /settle. Codes never change. */
export const paymentErrors = {
  invalid_exact_avm_invalid_version: {
    message: 'The payment is not of version 2 of the protocol.',
    hint: 'Pay with a client of version 2.',
  },
  invalid_exact_avm_scheme: {
    message: 'The scheme is not exact.',
    hint: 'Pay one of the offers in accepts.',
  },
  invalid_exact_avm_network_mismatch: {
    message: 'The payment is for another network, by its label or by the genesis hash of a transaction.',
    hint: 'Check which node the buyer uses.',
  },
  invalid_exact_avm_payload: {
    message: 'The payload has no paymentGroup and paymentIndex.',
    hint: 'Use a client that knows the scheme.',
  },
  invalid_exact_avm_group_size_exceeded: {
    message: 'The group has more than sixteen transactions.',
    hint: 'Send the payment and the fee transaction, nothing else.',
  },
  invalid_exact_avm_payment_index: {
    message: 'paymentIndex points to no transaction.',
    hint: 'Set it to the position of the transaction that pays.',
  },
  invalid_exact_avm_invalid_transaction: {
    message: 'A transaction cannot be read.',
    hint: 'Encode it as msgpack, in standard base64.',
  },
  invalid_exact_avm_unsigned_non_facilitator: {
    message: 'A transaction is not signed, and is not the facilitator’s to sign.',
    hint: 'Sign it.',
  },
  invalid_exact_avm_invalid_group_id: {
    message: 'The transactions are not the group that they name.',
    hint: 'Assign the group id last, over exactly these transactions.',
  },
  invalid_exact_avm_facilitator_transferring: {
    message: 'The facilitator itself would pay.',
    hint: 'Pay from another account.',
  },
  invalid_exact_avm_not_asset_transfer: {
    message: 'The payment does not transfer the asset.',
    hint: 'Use axfer for an asset, pay for ALGOs (asset 0).',
  },
  invalid_exact_avm_amount_mismatch: {
    message: 'The payment is not of the amount that the requirement asks for.',
    hint: 'Pay exactly amount.',
  },
  invalid_exact_avm_receiver_mismatch: {
    message: 'The payment does not go to payTo.',
    hint: 'Pay to the address in the requirement.',
  },
  invalid_exact_avm_asset_mismatch: {
    message: 'The payment is in another asset.',
    hint: 'Pay in the asset in the requirement.',
  },
  invalid_exact_avm_payment_not_signed: {
    message: 'The payment has no signature.',
    hint: 'Sign it.',
  },
  invalid_exact_avm_invalid_signature: {
    message: 'The signature is invalid, or is that of a program.',
    hint: 'Sign the canonical bytes with the key that the account is authorized by.',
  },
  invalid_exact_avm_invalid_fee_payer: {
    message: 'The fee transaction does more than pay fees, or there are several.',
    hint: 'Send one payment of 0 from the fee payer to itself.',
  },
  invalid_exact_avm_fee_too_high: {
    message: 'The fee is above what the facilitator pays for buyers.',
    hint: 'Query the node for the fee again.',
  },
  invalid_exact_avm_simulation_failed: {
    message: 'The ledger would reject the payment; the text says which account lacks what, or is not opted in.',
    hint: 'Do what the text says.',
  },
  invalid_exact_avm_settlement_failed: {
    message: 'The payment was submitted, and was rejected or expired. Nothing was charged.',
    hint: 'Make a new payment.',
  },
  invalid_payment_requirements: {
    message: 'The requirement makes no sense: no asset, no amount or no address.',
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
    message: 'The payment would claw back the assets of another account.',
    hint: 'Do not sign such a transaction.',
  },
  invalid_exact_avm_payload_lease_detected: {
    message: 'The payment has a lease: of all payments with one lease, the ledger takes one.',
    hint: 'Leave lx out; the note makes payments distinct.',
  },
  invalid_exact_avm_payload_unexpected_transaction: {
    message: 'The group has more than the payment and the fee transaction.',
    hint: 'Send those two alone.',
  },
  invalid_exact_avm_payload_validity: {
    message: 'The payment is valid for too long, not yet, or not any more.',
    hint: 'Make a new payment.',
  },
  duplicate_settlement: {
    message: 'The payment is on the ledger already.',
    hint: 'Every payment opens one request; make a new one.',
  },
  payment_already_claimed: {
    message: 'The payment belongs to another resource or gate, which presented it first.',
    hint: 'Every payment opens one resource; make a new one.',
  },
  payer_balance_reserved: {
    message:
      'The payer has enough for this payment alone, and not for those beside it that are verified and not settled.',
    hint: 'Wait until they are settled or their time has passed; or add to the account: `latchkey send`, on a devnet `latchkey fund`.',
  },
  settlement_pending: {
    message: 'The payment was submitted and is not confirmed yet; its id is in transaction.',
    hint: 'Send the same payment again, never a new one.',
  },
  facilitator_fee_account_unfunded: {
    message: 'The fee account of the facilitator cannot pay.',
    hint: 'The operator sends it ALGOs (`latchkey send`); it is never the buyer’s fault.',
  },
  facilitator_key_unavailable: {
    message: 'The key of the fee account that the payment names cannot sign. Nothing was submitted.',
    hint: 'Pay by the offer of a new response. The operator looks after the key daemon.',
  },
  facilitator_node_unavailable: {
    message: 'No node responds.',
    hint: 'Retry. The operator names several nodes.',
  },
  facilitator_policy_refused: {
    message: 'The facilitator does not serve this seller, asset or caller, or a limit is reached.',
    hint: 'Contact the operator.',
  },
  facilitator_busy: {
    message: 'The facilitator has as many settlements in progress as it can, or is stopping. Nothing was submitted.',
    hint: 'Retry.',
  },
  unexpected_verify_error: {
    message: 'The program, its store or its key failed.',
    hint: 'The log of the operator says which.',
  },
  unexpected_settle_error: {
    message: 'The program, its store or its key failed; whether the payment was submitted shows when it is sent again.',
    hint: 'Send the same payment again.',
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
