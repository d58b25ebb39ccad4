/**
 * The transactions of a payment: the transfer that pays, preceded by the fee account's payment of 0 to itself if
 * another account pays the fees. A buyer's transactions are re-encoded in canonical form. Only that form is verified,
 * simulated and submitted, so two encodings of a payment are one payment.
 */
import { Address, Bytes, Group, Json, Submission, type Transaction } from '@latchkey/algorand'
import { WireError } from './errors.js'
import { decodeBase64 } from './texts.js'

/** A transaction of a payment group. */
export type Member = {
  readonly signed: Submission.Submitted
  readonly txn: Transaction.Transaction
  /** The canonical encoding, including the signature if the transaction is signed. */
  readonly bytes: Uint8Array
  /** The canonical encoding without the signature. */
  readonly transactionBytes: Uint8Array
  readonly isSigned: boolean
  readonly sender: string
}

/** A payment group, decoded and in canonical form. */
export type PaymentGroup = {
  readonly members: readonly Member[]
  readonly payment: Member
  readonly paymentIndex: number
  /** The id of the transaction that pays. Settlements are keyed by this id. */
  readonly transactionId: string
}

/** The payload of the scheme `exact`: the transactions in base64, and the index of the one that pays. */
export type ExactPayload = { paymentGroup: string[]; paymentIndex: number }

/** The maximum number of transactions in a group on Algorand. */
export const maxMembers = 16
/** Large enough for a transaction with the longest note and a multisig of many members. */
export const maxMemberBytes = 32 * 1024
const maxMemberCharacters = Math.ceil(maxMemberBytes / 3) * 4

/**
 * Reads the payload of a payment.
 *
 * @throws {@link GroupError}
 */
export function read(payload: unknown): PaymentGroup {
  const { paymentGroup, paymentIndex } = limitedShape(payload)
  const decoded = paymentGroup.map((text, index) => readMember(text, index, decode))
  const members = decoded.map(memberOf)
  return { members, payment: members[paymentIndex]!, paymentIndex, transactionId: decoded[paymentIndex]!.id }
}

/**
 * Reads the transaction that pays, for callers that do not forward the group.
 *
 * @throws {@link GroupError}
 */
export function readPayment(payload: unknown): Pick<Member, 'txn' | 'sender'> & Pick<PaymentGroup, 'transactionId'> {
  const { paymentGroup, paymentIndex } = limitedShape(payload)
  const decoded = paymentGroup.map((text, index) =>
    readMember(text, index, index === paymentIndex ? decode : decodeUnlessCanonical),
  )
  const { signed, id } = decoded[paymentIndex]!
  return { txn: signed.txn, sender: Address.encode(signed.txn.snd), transactionId: id }
}

function limitedShape(payload: unknown): ExactPayload {
  const { paymentGroup, paymentIndex } = shape(payload)
  if (paymentGroup.length > maxMembers)
    throw new GroupError('payment_group_too_large', `a group has at most ${maxMembers} transactions`)
  if (paymentIndex < 0 || paymentIndex >= paymentGroup.length) {
    throw new GroupError(
      'invalid_payment_index',
      `paymentIndex is ${paymentIndex}, but the group has ${paymentGroup.length} transactions`,
    )
  }
  // All lengths are checked before the first transaction is decoded.
  const tooLong = paymentGroup.findIndex((text) => text.length > maxMemberCharacters)
  if (tooLong >= 0) throw new GroupError('invalid_payment_transaction', `transaction ${tooLong} is too long`)
  return { paymentGroup, paymentIndex }
}

function shape(payload: unknown): ExactPayload {
  const { paymentGroup, paymentIndex } = Json.isObject(payload) ? payload : {}
  if (!Array.isArray(paymentGroup) || !paymentGroup.every((element) => typeof element === 'string')) {
    throw new GroupError('invalid_payment_payload', 'paymentGroup is not a list of strings')
  }
  if (!Number.isInteger(paymentIndex)) {
    throw new GroupError('invalid_payment_payload', 'paymentIndex is not an integer')
  }
  return { paymentGroup, paymentIndex: paymentIndex as number }
}

/** Reads a signed transaction, or a bare transaction that is not signed yet. */
function readMember<T>(text: string, index: number, read: (bytes: Uint8Array) => T): T {
  const bytes = decodeBase64(text)
  if (bytes === undefined || bytes.length === 0)
    throw new GroupError('invalid_payment_transaction', `transaction ${index} is not base64`)
  try {
    return read(bytes)
  } catch (error) {
    if (!isDecodeError(error)) throw error
    const message = `transaction ${index} could not be decoded: ${(error as Error).message}`
    throw new GroupError('invalid_payment_transaction', message)
  }
}

/** An envelope around a bare transaction: { txn: ... }. */
const envelope = Uint8Array.of(0x81, 0xa3, 0x74, 0x78, 0x6e)

/** A transaction and an envelope share no member names, so the bytes decode as at most one of them. */
function decode(bytes: Uint8Array): Submission.Decoded {
  // The fee transaction is never signed yet. Throwing an error for each one would take longer than the rest of the
  // decoding.
  if (!mayBeEnvelope(bytes)) return decodeWhole(Bytes.concat([envelope, bytes]))
  try {
    return decodeWhole(bytes)
  } catch (error) {
    if (!(error instanceof Submission.DecodeError)) throw error
    return decodeWhole(Bytes.concat([envelope, bytes]))
  }
}

/** For a transaction that only has to be valid. Canonical bytes are. */
function decodeUnlessCanonical(bytes: Uint8Array): Submission.Decoded | undefined {
  const wrapped = mayBeEnvelope(bytes) ? bytes : Bytes.concat([envelope, bytes])
  return Submission.isCanonical(wrapped) ? undefined : decode(bytes)
}

/**
 * Whether the first member name can belong to an envelope. Envelope names begin with l, m, p, s or t; transaction names
 * begin with a or f.
 */
function mayBeEnvelope(bytes: Uint8Array): boolean {
  const [map, name, letter] = bytes
  const isShortMap = map !== undefined && map >= 0x80 && map <= 0x8f
  const isShortName = name !== undefined && name >= 0xa1 && name <= 0xbf
  return !isShortMap || !isShortName || (letter !== 0x61 && letter !== 0x66)
}

function decodeWhole(bytes: Uint8Array): Submission.Decoded {
  const decoded = Submission.decodeFirst(bytes)
  if (decoded.end !== bytes.length) throw new Submission.DecodeError('extra bytes follow the transaction')
  return decoded
}

function memberOf({ signed, bytes, transactionBytes }: Submission.Decoded): Member {
  return {
    signed,
    txn: signed.txn,
    bytes,
    transactionBytes,
    isSigned: [signed.sig, signed.msig, signed.lsig, signed.pqsig].some((kind) => kind !== undefined),
    sender: Address.encode(signed.txn.snd),
  }
}

/**
 * Whether the members are exactly those of the group that each of them names. A single transaction need not name a
 * group.
 */
export function isComplete({ members }: PaymentGroup): boolean {
  if (members.length === 1 && members[0]!.txn.grp === undefined) return true
  try {
    const id = Group.idOfEncoded(members.map(({ transactionBytes }) => transactionBytes))
    return members.every(({ txn: { grp } }) => grp !== undefined && Bytes.equal(grp, id))
  } catch (error) {
    if (isDecodeError(error)) return false
    throw error
  }
}

function isDecodeError(error: unknown): boolean {
  return error instanceof Submission.DecodeError || error instanceof Submission.EncodeError
}

/** The payload in the form that buyers send. */
export function toPayload(members: readonly Uint8Array[], paymentIndex: number): ExactPayload {
  return { paymentGroup: members.map(Bytes.toBase64), paymentIndex }
}

/** The error codes of a payload that is not a payment group. */
export type GroupErrorCode =
  | 'invalid_payment_payload'
  | 'payment_group_too_large'
  | 'invalid_payment_index'
  | 'invalid_payment_transaction'

/** A payload that is not a payment group. */
export class GroupError extends WireError<GroupErrorCode> {
  override name = 'GroupError'
}
