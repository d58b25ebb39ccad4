/** The checks of a payment of the scheme `upto` that need no node. docs/schemes/upto.md lists them. */
import { Address, type Submission } from '@latchkey/algorand'
import { type PaymentGroup, type PaymentPayload, type PaymentRequirements, UptoPayment } from '@latchkey/x402-wire'
import { PaymentError, type PaymentErrorCode } from '../PaymentError.js'
import { findChain, type VerifiedPayment, type VerifyOptions } from './verifyPayment.js'

/** The lowest fee of a transaction on all public networks. */
const protocolMinFee = 1_000n

const wireCodes: { readonly [code in UptoPayment.UptoErrorCode]: PaymentErrorCode } = {
  invalid_upto_payload: 'invalid_upto_avm_payload',
  invalid_upto_program: 'invalid_upto_avm_program',
  invalid_upto_lease: 'invalid_upto_avm_lease',
  invalid_upto_signature: 'invalid_upto_avm_invalid_signature',
  upto_amount_exceeds_maximum: 'invalid_upto_avm_settlement_exceeds_amount',
}

const mismatches: { readonly [term in UptoPayment.Mismatch]: readonly [PaymentErrorCode, string] } = {
  network: ['invalid_upto_avm_network_mismatch', 'the authorization is for another network'],
  asset: ['invalid_upto_avm_asset_mismatch', 'the authorization is for another asset'],
  payTo: ['invalid_upto_avm_receiver_mismatch', 'the authorization is for another receiver'],
  facilitator: ['invalid_upto_avm_facilitator_mismatch', 'the authorization is for another facilitator'],
  amount: ['invalid_upto_avm_amount_mismatch', 'the authorization is for another maximum'],
}

/**
 * Checks an authorization against its requirement, whose amount is the maximum.
 *
 * @param known the same authorization, read and checked before
 * @throws PaymentError
 */
export function verifyUpto(
  payload: PaymentPayload,
  requirements: PaymentRequirements,
  options: VerifyOptions,
  known?: VerifiedPayment | undefined,
): VerifiedPayment {
  const payment = known ?? verified(payload, requirements, options)
  if (payment.amount.toString() !== requirements.amount) throw mismatchError('amount')
  return payment
}

/**
 * Checks an authorization for its settlement. The amount of the requirement is then the amount to charge, from 0 to the
 * maximum. All other terms are checked as by {@link verifyUpto}.
 *
 * @param known the same authorization, read and checked before
 * @throws PaymentError
 */
export function verifyUptoSettlement(
  payload: PaymentPayload,
  requirements: PaymentRequirements,
  options: VerifyOptions,
  known?: VerifiedPayment | undefined,
): VerifiedPayment {
  const amount: unknown = requirements?.amount
  const charge = typeof amount === 'string' && /^[0-9]{1,20}$/.test(amount) ? BigInt(amount) : undefined
  const payment = known ?? verified(payload, requirements, options)
  if (charge === undefined || charge > payment.amount) {
    const message = `the amount to settle must be from 0 to ${payment.amount} base units`
    throw new PaymentError('invalid_upto_avm_settlement_exceeds_amount', message)
  }
  return { ...payment, charge }
}

function read(payload: unknown): UptoPayment.Authorization {
  try {
    return UptoPayment.read(payload)
  } catch (error) {
    if (error instanceof UptoPayment.UptoError) throw new PaymentError(wireCodes[error.code], error.message)
    throw error
  }
}

/** Everything except the amount of the requirement, which `verificationKey` leaves out. */
function verified(payload: PaymentPayload, requirements: PaymentRequirements, options: VerifyOptions): VerifiedPayment {
  const isUpto = payload?.x402Version === 2 && payload.accepted?.scheme === 'upto' && requirements?.scheme === 'upto'
  if (!isUpto) throw new PaymentError('invalid_upto_avm_scheme', 'the scheme must be upto, in protocol version 2')
  const chain = findChain(payload, requirements, options)
  if (chain === undefined) throw mismatchError('network')
  const authorization = read(payload.payload)
  const { terms, id } = authorization
  const term = UptoPayment.mismatch(authorization, requirements, chain.genesisHash)
  if (term !== undefined && term !== 'amount') throw mismatchError(term)
  // Another facilitator could not settle it, and nothing but the named account can send the group.
  if (!options.feePayers.has(terms.facilitator)) throw mismatchError('facilitator')
  if (options.feePayers.has(terms.payer)) {
    throw new PaymentError('invalid_upto_avm_program', "the payment is from the facilitator's own account")
  }
  const feeMicroAlgos = 2n * protocolMinFee
  const group = UptoPayment.buildTransfer(authorization, { amount: terms.maxAmount, feeMicroAlgos })
  const members = [memberOf(group.fee), memberOf(group.transfer)]
  return {
    chain,
    group: { members, payment: members[1]!, paymentIndex: 1, transactionId: id },
    payer: terms.payer,
    payTo: terms.payTo,
    amount: terms.maxAmount,
    assetId: terms.assetId,
    feeIndex: 0,
    feePayer: terms.facilitator,
    feeMicroAlgos,
    firstValid: UptoPayment.firstValidOf(terms),
    lastValid: terms.lastValid,
    authorization,
  }
}

function mismatchError(term: UptoPayment.Mismatch): PaymentError {
  const [code, message] = mismatches[term]
  return new PaymentError(code, message)
}

/** The payment with the group of another amount than the maximum. */
export function withAmount(
  payment: VerifiedPayment,
  { amount, feeMicroAlgos }: { readonly amount: bigint; readonly feeMicroAlgos: bigint },
): VerifiedPayment {
  const { fee, transfer } = UptoPayment.buildTransfer(payment.authorization!, { amount, feeMicroAlgos })
  const members = [memberOf(fee), memberOf(transfer)]
  return { ...payment, amount, feeMicroAlgos, group: { ...payment.group, members, payment: members[1]! } }
}

function memberOf({ signed, bytes, transactionBytes }: Submission.Decoded): PaymentGroup.Member {
  return {
    signed,
    txn: signed.txn,
    bytes,
    transactionBytes,
    isSigned: signed.lsig !== undefined,
    sender: Address.encode(signed.txn.snd),
  }
}

/** The bytes that signatures add to the two transactions, for fees per byte. */
const signatureBytes = 75n

/**
 * The fee of both transactions, as the network asks for it now.
 *
 * @throws PaymentError if it is above the limit of the facilitator
 */
export async function settlementFee(
  { chain, group }: VerifiedPayment,
  { maxFeeMicroAlgosPerTransaction }: Pick<VerifyOptions, 'maxFeeMicroAlgosPerTransaction'>,
): Promise<bigint> {
  const { minFee, feePerByte } = await chain.parameters()
  const bytes = group.members.reduce((sum, { bytes: { length } }) => sum + BigInt(length) + signatureBytes, 0n)
  const [byBytes, byCount] = [feePerByte * bytes, minFee * 2n]
  const fee = byBytes > byCount ? byBytes : byCount
  if (fee > maxFeeMicroAlgosPerTransaction * 2n) {
    const message = `the fee of ${fee} microAlgos is above the limit of the facilitator; retry when the network is less busy`
    throw new PaymentError('facilitator_busy', message)
  }
  return fee
}
