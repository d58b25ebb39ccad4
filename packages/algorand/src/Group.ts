/** Atomic groups of transactions. */
import { errors } from './errors.js'
import * as Hash from './Hash.js'
import * as Bytes from './internal/Bytes.js'
import { LatchkeyError } from './LatchkeyError.js'
import { Writer } from './Msgpack.js'
import * as Transaction from './Transaction.js'

/** The maximum number of transactions in a group. */
export const maxSize = 16

/**
 * Returns the id that binds the transactions together, in this order. Existing group ids are ignored.
 *
 * @throws GroupError with the code `invalid_group_size`; EncodeError for a transaction that cannot be encoded.
 */
export function id(transactions: readonly Transaction.Transaction[]): Uint8Array {
  checkSize(transactions.length)
  return idOf(transactions.map(encodeUngrouped))
}

/**
 * Returns the id that binds the transactions together, from their canonical encodings, which are not parsed.
 *
 * @throws GroupError with the code `invalid_group_size`; DecodeError for bytes that are not canonical.
 */
export function idOfEncoded(canonicalBytes: readonly Uint8Array[]): Uint8Array {
  checkSize(canonicalBytes.length)
  return idOf(canonicalBytes.map((bytes) => Transaction.withoutFields(bytes, ['grp'])))
}

function checkSize(size: number): void {
  if (size < 1 || size > maxSize) throw new GroupError(`a group has 1 to ${maxSize} transactions, not ${size}`)
}

function encodeUngrouped(transaction: Transaction.Transaction): Uint8Array {
  return Transaction.encode({ ...transaction, grp: undefined })
}

function idOf(ungrouped: readonly Uint8Array[]): Uint8Array {
  const writer = new Writer().mapHeader(1).str('txlist').arrayHeader(ungrouped.length)
  for (const bytes of ungrouped) writer.bin(Transaction.digest(bytes))
  return Hash.hash(Hash.domains.group, writer.bytes())
}

/**
 * Returns the same transactions as members of one group.
 *
 * @throws GroupError with the code `invalid_group_size`; EncodeError for a transaction that cannot be encoded.
 */
export function assign(transactions: readonly Transaction.Transaction[]): Transaction.Transaction[] {
  const grp = id(transactions)
  return transactions.map((transaction) => ({ ...transaction, grp }))
}

/** Whether these are all transactions of the group that each of them names, in its order. */
export function isComplete(transactions: readonly Transaction.Transaction[]): boolean {
  if (transactions.length < 1 || transactions.length > maxSize) return false
  const grp = id(transactions)
  return transactions.every((transaction) => transaction.grp !== undefined && Bytes.equal(transaction.grp, grp))
}

/** A group has too many transactions or none. */
export class GroupError extends LatchkeyError<'invalid_group_size'> {
  override name = 'GroupError'

  constructor(message: string) {
    super('invalid_group_size', message, { hint: errors.invalid_group_size.hint })
  }
}
