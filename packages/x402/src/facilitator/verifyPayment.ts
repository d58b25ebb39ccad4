/** Everything about a payment that can be decided without a node, in the order of the public scheme. */
import { Address, Bytes, Ed25519, Multisig, Submission, Transaction } from '@latchkey/algorand'
import { algoAssetId, type Chain, parseAssetId } from '../chain/Chain.js'
import * as PaymentGroup from '../exact/PaymentGroup.js'
import type { PaymentPayload, PaymentRequirements } from '../wire/types.js'
import { type Code, codes, PaymentError } from './PaymentError.js'

export type VerifyOptions = {
  /** Those that are served. */
  chains: readonly Chain[]
  /** Addresses this facilitator pays fees from. */
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
  /** The member that is ours to sign, if fees are paid by us. */
  readonly feeIndex: number | undefined
  readonly feeMicroAlgos: bigint
  readonly firstValid: bigint
  readonly lastValid: bigint
}

/** Enough to tell two apart; whatever a stranger writes there, it is the facilitator who signs it for ever. */
const maxFeeNoteBytes = 128

/** Throws a Refusal. */
export function verifyPayment(
  payload: PaymentPayload,
  requirements: PaymentRequirements,
  options: VerifyOptions,
): VerifiedPayment {
  const { feePayers } = options
  expect(isObject(payload) && isObject(requirements), codes.payload, 'the payment has not the form of the protocol')
  expect(payload.x402Version === 2, codes.version, 'the version of the protocol is 2')
  expect(payload.accepted?.scheme === 'exact' && requirements.scheme === 'exact', codes.scheme, 'the scheme is exact')
  const chain = chainOf(payload, requirements, options)
  const group = readGroup(payload.payload)
  for (const { isSigned, sender } of group.members) {
    expect(isSigned || feePayers.has(sender), codes.unsigned, `the transaction of ${sender} is not signed`)
  }
  expect(PaymentGroup.isComplete(group), codes.groupId, 'the transactions are not the group that they name')
  checkGenesis(group, chain)
  const payer = group.payment.sender
  expect(!feePayers.has(payer), codes.facilitatorPays, 'a facilitator does not pay for what it settles')
  const { amount, assetId } = checkTransfer(group.payment.txn, requirements)
  checkSignature(group.payment)
  const feeIndex = checkOthers(group, feePayers)
  const feeMicroAlgos = feeIndex === undefined ? 0n : checkFeePayment(group, feeIndex, options)
  const { firstValid, lastValid } = checkValidity(group, options)
  const { payTo } = requirements
  return { chain, group, payer, payTo, amount, assetId, feeIndex, feeMicroAlgos, firstValid, lastValid }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

function chainOf(payload: PaymentPayload, requirements: PaymentRequirements, { chains }: VerifyOptions): Chain {
  const networks: unknown[] = [payload.accepted.network, requirements.network]
  const chain = chains.find((one) => networks.every((id) => typeof id === 'string' && one.matches(id)))
  expect(chain !== undefined, codes.network, `the network is ${chains.map(({ caip2 }) => caip2).join(' or ')}`)
  return chain
}

function expect(holds: boolean, code: Code, message: string): asserts holds {
  if (!holds) throw new PaymentError(code, message)
}

const groupCodes: { readonly [fault in PaymentGroup.Fault]: Code } = {
  shape: codes.payload,
  size: codes.groupSize,
  index: codes.paymentIndex,
  transaction: codes.transaction,
}

function readGroup(payload: unknown): PaymentGroup.PaymentGroup {
  try {
    return PaymentGroup.read(payload)
  } catch (error) {
    if (error instanceof PaymentGroup.GroupError) throw new PaymentError(groupCodes[error.fault], error.message)
    throw error
  }
}

function checkGenesis({ members }: PaymentGroup.PaymentGroup, { genesisHash }: Chain): void {
  for (const { txn } of members) {
    const isOurs = txn.gh !== undefined && Bytes.equal(txn.gh, genesisHash)
    expect(isOurs, codes.network, 'a transaction was made for another network')
  }
}

/** The amount is what was asked for, not more: whoever overpays has been misled. */
function checkTransfer(txn: Transaction.Transaction, requirements: PaymentRequirements) {
  const { asset, amount: asked, payTo } = requirements
  const assetId = typeof asset === 'string' ? parseAssetId(asset) : undefined
  const required = typeof asked === 'string' && /^[0-9]{1,20}$/.test(asked) ? BigInt(asked) : 0n
  expect(assetId !== undefined, codes.requirements, 'the asset of the requirements is not a number')
  expect(required > 0n, codes.requirements, 'the amount of the requirements is not a positive whole number')
  expect(typeof payTo === 'string' && Address.isValid(payTo), codes.requirements, 'payTo is not an address')
  const isAlgo = assetId === algoAssetId
  expect(txn.type === (isAlgo ? 'pay' : 'axfer'), codes.notTransfer, 'the payment does not transfer the asset')
  const amount = (isAlgo ? txn.amt : txn.aamt) ?? 0n
  expect(amount === required, codes.amount, `the payment is of ${amount} base units, not of ${required}`)
  const receiver = isAlgo ? txn.rcv : txn.arcv
  const isForSeller = receiver !== undefined && Address.encode(receiver) === payTo
  expect(isForSeller, codes.receiver, `the payment does not go to ${payTo}`)
  expect(isAlgo || txn.xaid === assetId, codes.asset, `the payment is not in asset ${assetId}`)
  expect(txn.rekey === undefined, codes.rekey, 'the payment would give the account away')
  expect(txn.close === undefined && txn.aclose === undefined, codes.close, 'the payment would close the account')
  expect(txn.asnd === undefined, codes.clawback, "the payment would take somebody else's")
  return { amount, assetId }
}

/** Whether the signer is whom the account answers to only the ledger knows; that it signed can be told here. */
function checkSignature({ signed, txn, isSigned }: PaymentGroup.Member): void {
  expect(isSigned, codes.notSigned, 'the payment is not signed')
  const message = Transaction.bytesToSign(Submission.transactionBytes(txn))
  const authorizer = signed.sgnr ?? txn.snd
  const { sig, msig } = signed
  const isOne = [sig, msig, signed.lsig, signed.pqsig].filter((kind) => kind !== undefined).length === 1
  // What a program decides may be decided differently a moment later, after the goods are gone.
  const isPlain = isOne && (sig !== undefined || msig !== undefined)
  expect(isPlain, codes.signature, 'only plain and multisig signatures are accepted')
  const holds = sig !== undefined ? Ed25519.verify(sig, message, authorizer) : isMultisigOf(msig!, authorizer, message)
  expect(holds, codes.signature, 'the signature of the payment does not hold')
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

/** Beside the payment there may be one payment of fees by us, and nothing else at our expense. */
function checkOthers({ members, paymentIndex }: PaymentGroup.PaymentGroup, feePayers: ReadonlySet<string>) {
  const others = members.map((_, index) => index).filter((index) => index !== paymentIndex)
  const stranger = others.find((index) => !feePayers.has(members[index]!.sender))
  expect(stranger === undefined, codes.unexpected, `transaction ${stranger} has nothing to do with the payment`)
  expect(others.length <= 1, codes.feePayer, 'fees are paid by one transaction, not by several')
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
  expect(isHarmless && isPlain && !isSigned, codes.feePayer, 'the payment of fees does more than pay fees')
  const fee = txn.fee ?? 0n
  const most = maxFeeMicroAlgosPerTransaction * BigInt(members.length)
  expect(fee <= most, codes.fee, `the fee of ${fee} microAlgos is above the ${most} that are paid for buyers`)
  return fee
}

/** The group can come into the ledger while all of its members can. */
function checkValidity({ members }: PaymentGroup.PaymentGroup, { maxValidityRounds }: VerifyOptions) {
  let firstValid = 0n
  let lastValid = 2n ** 64n
  for (const { txn } of members) {
    const { fv = 0n, lv = 0n } = txn
    expect(lv >= fv && lv - fv <= maxValidityRounds, codes.validity, `a payment is valid for ${lv - fv} rounds`)
    if (fv > firstValid) firstValid = fv
    if (lv < lastValid) lastValid = lv
  }
  return { firstValid, lastValid }
}
