/** The checks of a payment that need no node, in the order of the public scheme. */
import { Address, BoundedMap, Bytes, Ed25519, Json, Multisig, type Submission, Transaction } from '@latchkey/algorand'
import * as PostQuantum from '@latchkey/algorand/post-quantum'
import { PaymentGroup, type PaymentPayload, type PaymentRequirements, UptoPayment } from '@latchkey/x402-wire'
import { algoAssetId, type Chain, parseAssetId } from '../../chain/Chain.js'
import { PaymentError, type PaymentErrorCode } from '../PaymentError.js'

export type VerifyOptions = {
  /** The networks that are served. */
  chains: readonly Chain[]
  /** The accounts that this facilitator pays fees from. */
  feePayers: ReadonlySet<string>
  maxFeeMicroAlgosPerTransaction: bigint
  maxValidityRounds: bigint
}

export type VerifiedPayment = {
  readonly chain: Chain
  readonly group: PaymentGroup.PaymentGroup
  readonly payer: string
  readonly payTo: string
  readonly amount: bigint
  readonly assetId: bigint
  /** The position of the fee transaction; undefined if the facilitator does not pay the fees. */
  readonly feeIndex: number | undefined
  /** The account that pays the fees; undefined if it is not one of the facilitator's. */
  readonly feePayer: string | undefined
  readonly feeMicroAlgos: bigint
  readonly firstValid: bigint
  readonly lastValid: bigint
  /**
   * The authorization of the scheme `upto`. `amount` and `group` are then those of the maximum, and the id of the group
   * is that of the authorization.
   */
  readonly authorization?: UptoPayment.Authorization | undefined
  /** The amount to settle of an authorization; undefined before the settlement. */
  readonly charge?: bigint | undefined
}

/** Enough to make the note unique. The buyer writes the note, and the facilitator signs it for the ledger. */
const maxFeeNoteBytes = 128

/**
 * Checks a payment against its requirement.
 *
 * @param known the same payment for the same requirement, read and checked before
 * @throws PaymentError
 */
export function verifyPayment(
  payload: PaymentPayload,
  requirements: PaymentRequirements,
  options: VerifyOptions,
  known?: VerifiedPayment | undefined,
): VerifiedPayment {
  if (known !== undefined) return known
  const { feePayers } = options
  const isReadable = Json.isObject(payload) && Json.isObject(requirements)
  expect(isReadable, 'invalid_exact_avm_payload', "the payment does not match the protocol's schema")
  expect(payload.x402Version === 2, 'invalid_exact_avm_invalid_version', 'the protocol version must be 2')
  expect(
    payload.accepted?.scheme === 'exact' && requirements.scheme === 'exact',
    'invalid_exact_avm_scheme',
    'the scheme must be exact',
  )
  const chain = chainOf(payload, requirements, options)
  const group = readGroup(payload.payload)
  for (const { isSigned, sender } of group.members) {
    expect(
      isSigned || feePayers.has(sender),
      'invalid_exact_avm_unsigned_non_facilitator',
      `the transaction from ${sender} is not signed`,
    )
  }
  expect(
    PaymentGroup.isComplete(group),
    'invalid_exact_avm_invalid_group_id',
    'the transactions do not match their group id',
  )
  checkGenesis(group, chain)
  const payer = group.payment.sender
  expect(
    !feePayers.has(payer),
    'invalid_exact_avm_facilitator_transferring',
    "the payment is from the facilitator's own account",
  )
  const { amount, assetId } = checkTransfer(group.payment.txn, requirements)
  checkSignature(group)
  const feeIndex = checkOthers(group, feePayers)
  const feeMicroAlgos = feeIndex === undefined ? 0n : checkFeePayment(group, feeIndex, options)
  const { firstValid, lastValid } = checkValidity(group, options)
  const { payTo } = requirements
  const feePayer = feeIndex === undefined ? undefined : group.members[feeIndex]!.sender
  return { chain, group, payer, payTo, amount, assetId, feeIndex, feePayer, feeMicroAlgos, firstValid, lastValid }
}

export function findChain(
  payload: PaymentPayload,
  requirements: PaymentRequirements,
  { chains }: Pick<VerifyOptions, 'chains'>,
): Chain | undefined {
  const networks: unknown[] = [payload.accepted.network, requirements.network]
  return chains.find((one) => networks.every((id) => typeof id === 'string' && one.matches(id)))
}

function chainOf(payload: PaymentPayload, requirements: PaymentRequirements, options: VerifyOptions): Chain {
  const chain = findChain(payload, requirements, options)
  expect(
    chain !== undefined,
    'invalid_exact_avm_network_mismatch',
    `the network must be ${options.chains.map(({ caip2 }) => caip2).join(' or ')}`,
  )
  return chain
}

function expect(holds: boolean, code: PaymentErrorCode, message: string): asserts holds {
  if (!holds) throw new PaymentError(code, message)
}

const wireCodes: { readonly [code in PaymentGroup.GroupErrorCode]: PaymentErrorCode } = {
  invalid_payment_payload: 'invalid_exact_avm_payload',
  payment_group_too_large: 'invalid_exact_avm_group_size_exceeded',
  invalid_payment_index: 'invalid_exact_avm_payment_index',
  invalid_payment_transaction: 'invalid_exact_avm_invalid_transaction',
}

function readGroup(payload: unknown): PaymentGroup.PaymentGroup {
  try {
    return PaymentGroup.read(payload)
  } catch (error) {
    if (error instanceof PaymentGroup.GroupError) throw new PaymentError(wireCodes[error.code], error.message)
    throw error
  }
}

/** The id of the transaction that pays, without any check; undefined if it cannot be read. */
export function transactionIdOf(payload: unknown): string | undefined {
  const inner = Json.isObject(payload) ? payload['payload'] : undefined
  try {
    if (isUpto(payload)) return UptoPayment.read(inner).id
    return PaymentGroup.readPayment(inner).transactionId
  } catch (error) {
    if (error instanceof PaymentGroup.GroupError || error instanceof UptoPayment.UptoError) return undefined
    throw error
  }
}

/** Whether a payment uses the scheme `upto`. */
export function isUpto(payload: unknown): boolean {
  const accepted = Json.isObject(payload) ? payload['accepted'] : undefined
  return Json.isObject(accepted) && accepted['scheme'] === 'upto'
}

function checkGenesis({ members }: PaymentGroup.PaymentGroup, { genesisHash }: Chain): void {
  for (const { txn } of members) {
    const isOurs = txn.gh !== undefined && Bytes.equal(txn.gh, genesisHash)
    expect(isOurs, 'invalid_exact_avm_network_mismatch', 'a transaction is for another network')
  }
}

/** Requires the exact amount, not more, because a buyer who overpays has been misled. */
function checkTransfer(txn: Transaction.Transaction, requirements: PaymentRequirements) {
  const { asset, amount: requiredAmount, payTo } = requirements
  const assetId = typeof asset === 'string' ? parseAssetId(asset) : undefined
  const required =
    typeof requiredAmount === 'string' && /^[0-9]{1,20}$/.test(requiredAmount) ? BigInt(requiredAmount) : 0n
  expect(assetId !== undefined, 'invalid_payment_requirements', 'the required asset is not an asset id')
  expect(required > 0n, 'invalid_payment_requirements', 'the required amount is not a positive integer')
  expect(typeof payTo === 'string' && Address.isValid(payTo), 'invalid_payment_requirements', 'payTo is not an address')
  const isAlgo = assetId === algoAssetId
  expect(
    txn.type === (isAlgo ? 'pay' : 'axfer'),
    'invalid_exact_avm_not_asset_transfer',
    'the payment does not transfer the asset',
  )
  const amount = (isAlgo ? txn.amt : txn.aamt) ?? 0n
  expect(
    amount === required,
    'invalid_exact_avm_amount_mismatch',
    `the payment is ${amount} base units instead of ${required}`,
  )
  const receiver = isAlgo ? txn.rcv : txn.arcv
  const isForSeller = receiver !== undefined && Address.encode(receiver) === payTo
  expect(isForSeller, 'invalid_exact_avm_receiver_mismatch', `the payment does not go to ${payTo}`)
  expect(isAlgo || txn.xaid === assetId, 'invalid_exact_avm_asset_mismatch', `the payment is not in asset ${assetId}`)
  expect(txn.rekey === undefined, 'invalid_exact_avm_payload_rekey_detected', 'the payment would rekey the account')
  expect(
    txn.close === undefined && txn.aclose === undefined,
    'invalid_exact_avm_payload_close_to_detected',
    'the payment would close the account',
  )
  expect(
    txn.asnd === undefined,
    'invalid_exact_avm_payload_clawback_detected',
    "the payment would claw back another account's assets",
  )
  // Several payments with the same lease all pass verification, but the ledger takes only one, and the others would
  // stay pending.
  expect(txn.lx === undefined, 'invalid_exact_avm_payload_lease_detected', 'the payment has a lease')
  return { amount, assetId }
}

/** Checks that the signature is valid. Only the ledger knows whether the key is the account's authorizer. */
function checkSignature({ payment }: PaymentGroup.PaymentGroup): void {
  const { signed, txn, isSigned, transactionBytes } = payment
  expect(isSigned, 'invalid_exact_avm_payment_not_signed', 'the payment is not signed')
  const message = Transaction.bytesToSign(transactionBytes)
  const authorizer = signed.sgnr ?? txn.snd
  const { sig, msig, pqsig } = signed
  const isOne = [sig, msig, signed.lsig, pqsig].filter((kind) => kind !== undefined).length === 1
  // A logic signature can evaluate differently a moment later, after the response was served.
  const isPlain = isOne && signed.lsig === undefined
  expect(isPlain, 'invalid_exact_avm_invalid_signature', 'only plain, multisig and Falcon signatures are accepted')
  expect(isSignedBy(), 'invalid_exact_avm_invalid_signature', 'the signature of the payment is invalid')

  function isSignedBy(): boolean {
    if (sig !== undefined) return Ed25519.verify(sig, message, authorizer)
    return pqsig === undefined ? isMultisigOf(msig!, authorizer, message) : isPostQuantumOf(pqsig, authorizer, message)
  }
}

/** Nodes refuse to submit transactions of an address that is a point of the curve, so such a payment cannot settle. */
function isPostQuantumOf(pqsig: Submission.PostQuantumSignature, authorizer: Uint8Array, message: Uint8Array): boolean {
  if (!Bytes.equal(PostQuantum.address(pqsig), authorizer) || PostQuantum.isCurvePoint(authorizer)) return false
  return PostQuantum.verify(pqsig, message)
}

/** A Falcon signature costs two minimum fees in addition. */
const postQuantumFees = 2n

/** The minimum fees of a group. */
function minFeesOf(members: readonly PaymentGroup.Member[]): bigint {
  return members.reduce((sum, { signed }) => sum + (signed.pqsig === undefined ? 1n : 1n + postQuantumFees), 0n)
}

function isMultisigOf(msig: Multisig.Signature, authorizer: Uint8Array, message: Uint8Array): boolean {
  try {
    if (!Bytes.equal(Multisig.address(Multisig.preimage(msig)), authorizer)) return false
    return Multisig.verify(msig, message)
  } catch (error) {
    if (error instanceof Multisig.MultisigError) return false
    throw error
  }
}

/** In addition to the payment, only one fee transaction of the facilitator is allowed. */
function checkOthers({ members, paymentIndex }: PaymentGroup.PaymentGroup, feePayers: ReadonlySet<string>) {
  const others = members.map((_, index) => index).filter((index) => index !== paymentIndex)
  const unexpected = others.find((index) => !feePayers.has(members[index]!.sender))
  expect(
    unexpected === undefined,
    'invalid_exact_avm_payload_unexpected_transaction',
    `transaction ${unexpected} is not part of the payment`,
  )
  expect(others.length <= 1, 'invalid_exact_avm_invalid_fee_payer', 'there is more than one fee transaction')
  return others[0]
}

function checkFeePayment(
  { members }: PaymentGroup.PaymentGroup,
  feeIndex: number,
  { maxFeeMicroAlgosPerTransaction }: VerifyOptions,
): bigint {
  const { txn, isSigned } = members[feeIndex]!
  const isToItself = txn.rcv !== undefined && Bytes.equal(txn.rcv, txn.snd)
  const isHarmless =
    txn.type === 'pay' && txn.amt === undefined && isToItself && txn.close === undefined && txn.rekey === undefined
  const isPlain = txn.lx === undefined && (txn.note?.length ?? 0) <= maxFeeNoteBytes
  expect(
    isHarmless && isPlain && !isSigned,
    'invalid_exact_avm_invalid_fee_payer',
    'the fee transaction does more than pay fees',
  )
  const fee = txn.fee ?? 0n
  const maxFee = maxFeeMicroAlgosPerTransaction * minFeesOf(members)
  expect(
    fee <= maxFee,
    'invalid_exact_avm_fee_too_high',
    `the fee of ${fee} microAlgos is above the ${maxFee} that the facilitator pays for buyers`,
  )
  return fee
}

/** The group is valid while all of its transactions are. */
function checkValidity({ members }: PaymentGroup.PaymentGroup, { maxValidityRounds }: VerifyOptions) {
  let firstValid = 0n
  let lastValid = 2n ** 64n
  for (const { txn } of members) {
    const { fv = 0n, lv = 0n } = txn
    expect(
      lv >= fv && lv - fv <= maxValidityRounds,
      'invalid_exact_avm_payload_validity',
      `the payment is valid for ${lv - fv} rounds, which is too long`,
    )
    if (fv > firstValid) firstValid = fv
    if (lv < lastValid) lastValid = lv
  }
  return { firstValid, lastValid }
}

/** The lowest fee of a transaction on all public networks. */
const protocolMinFee = 1_000n
/** The bytes that a signature and its envelope add to a transaction, for fees per byte. */
const signatureBytes = 75
/**
 * The network may ask for less by the time the payment arrives, and buyers use parameters that are some seconds old.
 */
const congestionMargin = 2n

/**
 * Refuses a fee that is higher than the network asks for, because the buyer chooses the fee and the sponsor pays it.
 * The node is queried only if the fee is above the lowest possible one.
 *
 * @throws PaymentError
 * @throws AlgodError if no node responds
 */
export async function checkSponsoredFee({ chain, group, feeMicroAlgos: fee }: VerifiedPayment): Promise<void> {
  const count = minFeesOf(group.members)
  if (fee <= protocolMinFee * count) return
  const { minFee, feePerByte } = await chain.parameters()
  const bytes = group.members.reduce((sum, { bytes: { length } }) => sum + length + signatureBytes, 0)
  const byBytes = feePerByte * BigInt(bytes) * congestionMargin
  const needed = byBytes > minFee * count ? byBytes : minFee * count
  if (fee <= needed) return
  const message = `the fee of ${fee} microAlgos is above the ${needed} that the network requires`
  throw new PaymentError('invalid_exact_avm_fee_too_high', message)
}

/** Each payment takes some kilobytes. Only payments that nodes would accept are kept. */
const maxPayments = 2_000
/** Longer texts are rare, and are not kept. */
const maxKeyCharacters = 8_192

/**
 * Caches recently verified payments, so that a payment decoded and checked for `verify` is not decoded and checked
 * again for `settle`. The key is the exact text of everything that the checks read, so that another signature or
 * requirement is another payment.
 */
export class VerifiedPayments {
  readonly #payments = new BoundedMap<string, VerifiedPayment>(maxPayments)

  get(key: string | undefined): VerifiedPayment | undefined {
    return key === undefined ? undefined : this.#payments.get(key)
  }

  add(key: string | undefined, payment: VerifiedPayment): void {
    if (key !== undefined) this.#payments.set(key, payment)
  }
}

/**
 * Everything that `verifyPayment` reads; undefined for values that a valid payment cannot have. The amount of a
 * requirement of the scheme `upto` is the maximum for `verify` and the charge for `settle`: it is not part of the key,
 * and compared each time.
 */
export function verificationKey(payload: PaymentPayload, requirements: PaymentRequirements): string | undefined {
  const members = (payload?.payload ?? {}) as Record<string, unknown>
  const { scheme, network, asset, amount, payTo, extra } = requirements ?? {}
  const { scheme: acceptedScheme, network: acceptedNetwork } = payload?.accepted ?? {}
  const common = [acceptedScheme, acceptedNetwork, scheme, network, asset, payTo]
  if (isUpto(payload)) {
    const { program, nonce, signature, signer } = members
    const feePayer = (extra as Json.Members | undefined)?.['feePayer']
    const texts = [...common, feePayer, program, nonce, signature]
    return signer === undefined ? keyOf(payload, 'upto', texts) : keyOf(payload, 'upto by signer', [...texts, signer])
  }
  const { paymentGroup, paymentIndex } = members
  if (!Array.isArray(paymentGroup) || !Number.isInteger(paymentIndex)) return undefined
  return keyOf(payload, paymentIndex, [...common, amount, ...paymentGroup])
}

function keyOf(payload: PaymentPayload, kind: unknown, texts: readonly unknown[]): string | undefined {
  let length = 0
  for (const text of texts) {
    if (typeof text !== 'string') return undefined
    length += text.length
  }
  if (length > maxKeyCharacters || payload.x402Version !== 2) return undefined
  // Escaped, so that adjacent texts cannot run together.
  return JSON.stringify([kind, ...texts])
}
