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
 * Returns the id that binds the transactions together, in this order. Existing group ids are ignored. Bytes must be
 * canonical.
 *
 * @throws GroupError with the code `invalid_group_size`; EncodeError for a transaction that cannot be encoded;
 * DecodeError for bytes that are not canonical.
 */
export function id(transactions: readonly (Transaction.Transaction | Uint8Array)[]): Uint8Array {
  checkSize(transactions.length)
  return idOf(transactions.map(withoutGroup))
}

function checkSize(size: number): void {
  if (size < 1 || size > maxSize) throw new GroupError(`a group has 1 to ${maxSize} transactions, not ${size}`)
}

function idOf(ungrouped: readonly Uint8Array[]): Uint8Array {
  const writer = new Writer().mapHeader(1).str('txlist').arrayHeader(ungrouped.length)
  for (const bytes of ungrouped) writer.bin(Transaction.digest(bytes))
  return Hash.hash(Hash.domains.group, writer.bytes())
}

function withoutGroup(transaction: Transaction.Transaction | Uint8Array): Uint8Array {
  if (transaction instanceof Uint8Array) return Transaction.withoutFields(transaction, ['grp'])
  return Transaction.encode({ ...transaction, grp: undefined })
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

/**
 * Returns the canonical encodings of the same transactions as members of one group, in the order of {@link assign}.
 *
 * @throws GroupError with the code `invalid_group_size`; EncodeError for a transaction that cannot be encoded.
 */
export function encode(transactions: readonly Transaction.Transaction[]): { grp: Uint8Array; members: Uint8Array[] } {
  checkSize(transactions.length)
  const ungrouped = transactions.map(withoutGroup)
  const grp = idOf(ungrouped)
  return { grp, members: ungrouped.map((bytes) => Transaction.withGroup(bytes, grp)) }
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
