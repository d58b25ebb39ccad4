/**
 * The transactions of a payment: the transfer that pays, and before it, if another account pays the fees, that account's
 * payment of 0 to itself. What a buyer sends is re-encoded in canonical form, and only that form is verified, simulated
 * and submitted: two encodings of a payment are one payment.
 */
import { Address, Bytes, Group, Json, Submission, Transaction } from '@latchkey/algorand'
import { X402Error } from '../errors.js'
import { decodeBase64 } from '../wire/base64.js'

export type Member = {
  readonly signed: Submission.Submitted
  readonly txn: Transaction.Transaction
  /** Canonical, with the signature it came with, if any. */
  readonly bytes: Uint8Array
  readonly isSigned: boolean
  readonly sender: string
}

export type PaymentGroup = {
  readonly members: readonly Member[]
  readonly payment: Member
  readonly paymentIndex: number
  /** The canonical bytes of the transaction that pays, without its signature. */
  readonly paymentBytes: Uint8Array
  /** Of the transaction that pays. Settlements are keyed by it. */
  readonly transactionId: string
}

export type ExactPayload = { paymentGroup: string[]; paymentIndex: number }

export const maxMembers = 16
/** A transaction with the longest note and a multisig of many members, with room to spare. */
export const maxMemberBytes = 32 * 1024
const maxMemberCharacters = Math.ceil(maxMemberBytes / 3) * 4

/** @throws {@link GroupError} */
export function read(payload: unknown): PaymentGroup {
  const { paymentGroup, paymentIndex } = limitedShape(payload)
  const members = paymentGroup.map((text, index) => readMember(text, index, memberOf))
  const payment = members[paymentIndex]!
  const paymentBytes = Submission.transactionBytes(payment.txn)
  return { members, payment, paymentIndex, paymentBytes, transactionId: Transaction.id(paymentBytes) }
}

/**
 * The transaction that pays, of a group that can be read: for those who pass none of it on, without the canonical form of all.
 *
 * @throws {@link GroupError}
 */
export function readPayment(payload: unknown): Pick<Member, 'txn' | 'sender'> & Pick<PaymentGroup, 'transactionId'> {
  const { paymentGroup, paymentIndex } = limitedShape(payload)
  const members = paymentGroup.map((text, index) =>
    readMember(text, index, ({ txn }) => ({ txn, transactionId: index === paymentIndex ? transactionIdOf(txn) : '' })),
  )
  const { txn, transactionId } = members[paymentIndex]!
  return { txn, sender: Address.encode(txn.snd), transactionId }
}

function limitedShape(payload: unknown): ExactPayload {
  const { paymentGroup, paymentIndex } = shape(payload)
  if (paymentGroup.length > maxMembers)
    throw new GroupError('payment_group_too_large', `a group has at most ${maxMembers} transactions`)
  if (paymentIndex < 0 || paymentIndex >= paymentGroup.length) {
    throw new GroupError(
      'invalid_payment_index',
      `a group of ${paymentGroup.length} has no transaction ${paymentIndex}`,
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

/** A signed transaction, or a bare one that is still to be signed. */
function readMember<T>(text: string, index: number, convert: (signed: Submission.Submitted) => T): T {
  const bytes = decodeBase64(text)
  if (bytes === undefined || bytes.length === 0)
    throw new GroupError('invalid_payment_transaction', `transaction ${index} is not base64`)
  try {
    return convert(decode(bytes))
  } catch (error) {
    if (!isDecodeError(error)) throw error
    const message = `transaction ${index} cannot be read: ${(error as Error).message}`
    throw new GroupError('invalid_payment_transaction', message)
  }
}

/** An envelope around a bare transaction: { txn: ... }. */
const envelope = Uint8Array.of(0x81, 0xa3, 0x74, 0x78, 0x6e)

/** A transaction and an envelope have no member in common, so at most one of the two decodes. */
function decode(bytes: Uint8Array): Submission.Submitted {
  // An error for every fee transaction, which is not signed yet, would take longer than the rest.
  if (!mayBeEnvelope(bytes)) return decodeWhole(Bytes.concat([envelope, bytes]))
  try {
    return decodeWhole(bytes)
  } catch (error) {
    if (!(error instanceof Submission.DecodeError)) throw error
    return decodeWhole(Bytes.concat([envelope, bytes]))
  }
}

/** Whether the first name can be a member of an envelope: they begin with l, m, p, s or t; those of a transaction with a or f. */
function mayBeEnvelope(bytes: Uint8Array): boolean {
  const [map, name, letter] = bytes
  const isShortMap = map !== undefined && map >= 0x80 && map <= 0x8f
  const isShortName = name !== undefined && name >= 0xa1 && name <= 0xbf
  return !isShortMap || !isShortName || (letter !== 0x61 && letter !== 0x66)
}

function decodeWhole(bytes: Uint8Array): Submission.Submitted {
  const { signed, end } = Submission.decodeFirst(bytes)
  if (end !== bytes.length) throw new Submission.DecodeError('there are bytes after the transaction')
  return signed
}

export function memberOf(signed: Submission.Submitted): Member {
  return {
    signed,
    txn: signed.txn,
    bytes: Submission.encode(signed),
    isSigned: [signed.sig, signed.msig, signed.lsig, signed.pqsig].some((kind) => kind !== undefined),
    sender: Address.encode(signed.txn.snd),
  }
}

export function transactionIdOf(txn: Transaction.Transaction): string {
  return Transaction.id(Submission.transactionBytes(txn))
}

/** Whether the members are exactly those of the group that each of them names; a single one need not name any. */
export function isComplete({ members }: PaymentGroup): boolean {
  const transactions = members.map(({ txn }) => txn)
  if (members.length === 1 && transactions[0]!.grp === undefined) return true
  try {
    const id = Group.id(transactions)
    return transactions.every(({ grp }) => grp !== undefined && Bytes.equal(grp, id))
  } catch (error) {
    if (isDecodeError(error)) return false
    throw error
  }
}

function isDecodeError(error: unknown): boolean {
  return error instanceof Submission.DecodeError || error instanceof Submission.EncodeError
}

/** The bytes of a transaction that another account signs. */
export function bareBytes(txn: Transaction.Transaction): Uint8Array {
  return Transaction.encode(txn)
}

/** The payload as buyers send it. */
export function toPayload(members: readonly Uint8Array[], paymentIndex: number): ExactPayload {
  return { paymentGroup: members.map(Bytes.toBase64), paymentIndex }
}

/** What is wrong with a payload. */
export type GroupErrorCode =
  | 'invalid_payment_payload'
  | 'payment_group_too_large'
  | 'invalid_payment_index'
  | 'invalid_payment_transaction'

/** A payload that is not a payment group. */
export class GroupError extends X402Error<GroupErrorCode> {
  override name = 'GroupError'
}
