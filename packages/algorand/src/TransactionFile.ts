/** Transactions as tools write them to files: one or several, one after another without separators, signed or not. */
import { decodeLatin1 } from '#platform'
import * as Group from './Group.js'
import * as Bytes from './internal/Bytes.js'
import { DecodeError, Reader } from './Msgpack.js'
import * as SignedTransaction from './SignedTransaction.js'
import * as Transaction from './Transaction.js'

export { DecodeError } from './Msgpack.js'

export type Member = {
  transaction: Transaction.Transaction
  /** The canonical bytes of the transaction alone, whatever spelling it came in. */
  bytes: Uint8Array
  /** What was around it, if anything was; a wrapper without a signature in it is written by some tools too. */
  signed: SignedTransaction.SignedTransaction | undefined
  /** Whether somebody has signed it, as a whole or in part. */
  isSigned: boolean
}

/** All of them, to the last byte: bytes that are no transaction, none at all and more than a group holds are refused. */
export function decode(bytes: Uint8Array): Member[] {
  const members: Member[] = []
  for (let position = 0; position < bytes.length; ) {
    if (members.length === Group.maxSize) throw new DecodeError(`more than ${Group.maxSize} transactions`)
    const { member, length } = first(bytes.subarray(position))
    members.push(member)
    position += length
  }
  if (members.length === 0) throw new DecodeError('no transaction')
  return members
}

const emptySignedPrefix = Uint8Array.of(0x81, 0xa3, 0x74, 0x78, 0x6e) // map of 1, "txn"

function first(bytes: Uint8Array): { member: Member; length: number } {
  if (isWrapped(bytes)) {
    const { signed, length } = SignedTransaction.decodeFirst(bytes)
    return { member: toMember(signed.txn, signed), length }
  }
  // Inside a wrapper, because only there the reader tells where it ended.
  const { signed, length } = SignedTransaction.decodeFirst(Bytes.concat([emptySignedPrefix, bytes]))
  return { member: toMember(signed.txn, undefined), length: length - emptySignedPrefix.length }
}

const wrapperKeys: ReadonlySet<string> = new Set(['sig', 'msig', 'lsig', 'sgnr', 'txn'])

/** Whether a signed transaction begins here: the two have no key in common. */
function isWrapped(bytes: Uint8Array): boolean {
  const reader = new Reader(bytes)
  if (reader.isArray() || reader.mapHeader() === 0) return false
  return wrapperKeys.has(decodeLatin1(reader.view()))
}

function toMember(
  transaction: Transaction.Transaction,
  signed: SignedTransaction.SignedTransaction | undefined,
): Member {
  const { sig, lsig, msig } = signed ?? {}
  const isSigned = sig !== undefined || lsig !== undefined || (msig?.subsig.some(({ s }) => s !== undefined) ?? false)
  return { transaction, bytes: Transaction.encode(transaction), signed, isSigned }
}
