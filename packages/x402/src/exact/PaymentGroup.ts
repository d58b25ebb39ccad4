/**
 * The transactions of a payment: the transfer that pays, and before it, where somebody else pays the fees, that one's
 * payment of nothing to itself. Read from what a buyer sent, they are written anew in canonical form, and only that form
 * is ever looked at, simulated or sent: two spellings of a payment are one payment.
 */
import { Address, Bytes, Group, Submission, Transaction } from '@latchkey/algorand'

export type Member = {
  readonly signed: Submission.Submitted
  readonly txn: Transaction.Transaction
  /** Canonical, with whatever signature it came with. */
  readonly bytes: Uint8Array
  readonly isSigned: boolean
  readonly sender: string
}

export type PaymentGroup = {
  readonly members: readonly Member[]
  readonly payment: Member
  readonly paymentIndex: number
  /** Of the transaction that pays; what settlement is keyed by. */
  readonly transactionId: string
}

export type ExactPayload = { paymentGroup: string[]; paymentIndex: number }

export const maxMembers = 16
/** A transaction with the longest note and a multisig of many members, with room to spare. */
export const maxMemberBytes = 32 * 1024
const maxMemberCharacters = Math.ceil(maxMemberBytes / 3) * 4

export type Fault = 'shape' | 'size' | 'index' | 'transaction'

/** Reads what a buyer sent; throws a GroupError that says in which respect it is none. */
export function read(payload: unknown): PaymentGroup {
  const { paymentGroup, paymentIndex } = shape(payload)
  if (paymentGroup.length > maxMembers) throw new GroupError('size', `a group has at most ${maxMembers} transactions`)
  if (paymentIndex < 0 || paymentIndex >= paymentGroup.length) {
    throw new GroupError('index', `there is no transaction ${paymentIndex} in a group of ${paymentGroup.length}`)
  }
  // All lengths before the first is decoded: what is too much costs nothing.
  const tooLong = paymentGroup.findIndex((text) => text.length > maxMemberCharacters)
  if (tooLong >= 0) throw new GroupError('transaction', `transaction ${tooLong} is too long`)
  const members = paymentGroup.map(readMember)
  const payment = members[paymentIndex]!
  return { members, payment, paymentIndex, transactionId: transactionIdOf(payment.txn) }
}

function shape(payload: unknown): ExactPayload {
  const { paymentGroup, paymentIndex } = (payload ?? {}) as { [name: string]: unknown }
  if (!Array.isArray(paymentGroup) || !paymentGroup.every((element) => typeof element === 'string')) {
    throw new GroupError('shape', 'paymentGroup is a list of texts')
  }
  if (!Number.isInteger(paymentIndex)) throw new GroupError('shape', 'paymentIndex is a whole number')
  return { paymentGroup, paymentIndex: paymentIndex as number }
}

/** A signed transaction, or the bare one of somebody who is still to sign it. */
function readMember(text: string, index: number): Member {
  const bytes = /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  if (bytes.length === 0) throw new GroupError('transaction', `transaction ${index} is not base64`)
  try {
    return memberOf(decode(bytes))
  } catch (error) {
    if (!isDecodeError(error)) throw error
    throw new GroupError('transaction', `transaction ${index} cannot be read: ${(error as Error).message}`)
  }
}

/** An envelope around a bare transaction: { txn: ... }. */
const envelope = Uint8Array.of(0x81, 0xa3, 0x74, 0x78, 0x6e)

/** No transaction has the members of an envelope, nor the other way round; so at most one reading succeeds. */
function decode(bytes: Uint8Array): Submission.Submitted {
  try {
    return whole(bytes)
  } catch (error) {
    if (!(error instanceof Submission.DecodeError)) throw error
    return whole(Bytes.concat([envelope, bytes]))
  }
}

function whole(bytes: Uint8Array): Submission.Submitted {
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

/** Whether the members are exactly those of the group that each of them names; one alone need not name any. */
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

/** Of a transaction that somebody else is to sign. */
export function bareBytes(txn: Transaction.Transaction): Uint8Array {
  return Transaction.encode(txn)
}

/** As buyers send it. */
export function toPayload(members: readonly Uint8Array[], paymentIndex: number): ExactPayload {
  return { paymentGroup: members.map((bytes) => Buffer.from(bytes).toString('base64')), paymentIndex }
}

export class GroupError extends Error {
  override name = 'PaymentGroup.GroupError'
  readonly fault: Fault

  constructor(fault: Fault, message: string) {
    super(message)
    this.fault = fault
  }
}
