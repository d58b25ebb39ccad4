/** Files of transactions: one or several, signed or not, concatenated without separators. */
import { decodeLatin1 } from '#platform'
import * as Group from './Group.js'
import * as Bytes from './internal/Bytes.js'
import { DecodeError, Reader } from './Msgpack.js'
import * as SignedTransaction from './SignedTransaction.js'
import type * as Transaction from './Transaction.js'

export { DecodeError } from './Msgpack.js'

/** One transaction of a file. */
export type Member = {
  readonly transaction: Transaction.Transaction
  /** The canonical encoding of the transaction alone. */
  readonly bytes: Uint8Array
  /** The signed transaction around it. Some tools write one without a signature. */
  readonly signed: SignedTransaction.SignedTransaction | undefined
  /** Whether the transaction has a signature, or at least one member's signature of a multisig. */
  readonly isSigned: boolean
}

/**
 * Reads all transactions of a file, up to the last byte.
 *
 * @throws DecodeError for other bytes, an empty file, and more transactions than a group can have.
 */
export function decode(bytes: Uint8Array): Member[] {
  const members: Member[] = []
  for (let position = 0; position < bytes.length; ) {
    if (members.length === Group.maxSize) throw new DecodeError(`more than ${Group.maxSize} transactions`)
    const { member, end } = first(bytes.subarray(position))
    members.push(member)
    position += end
  }
  if (members.length === 0) throw new DecodeError('no transaction')
  return members
}

const emptySignedPrefix = Uint8Array.of(0x81, 0xa3, 0x74, 0x78, 0x6e) // map of 1, "txn"

function first(bytes: Uint8Array): { member: Member; end: number } {
  if (isWrapped(bytes)) {
    const decoded = SignedTransaction.decodeFirst(bytes)
    return { member: toMember(decoded, decoded.signed), end: decoded.end }
  }
  // Read inside a wrapper, because only `decodeFirst` returns the end position.
  const decoded = SignedTransaction.decodeFirst(Bytes.concat([emptySignedPrefix, bytes]))
  return { member: toMember(decoded, undefined), end: decoded.end - emptySignedPrefix.length }
}

const wrapperKeys: ReadonlySet<string> = new Set(['sig', 'msig', 'lsig', 'sgnr', 'txn'])

/** Whether a signed transaction begins here, which has no key in common with an unsigned one. */
function isWrapped(bytes: Uint8Array): boolean {
  const reader = new Reader(bytes)
  if (reader.isArray() || reader.mapHeader() === 0) return false
  return wrapperKeys.has(decodeLatin1(reader.view()))
}

function toMember(
  { signed: { txn: transaction }, transactionBytes: bytes }: SignedTransaction.Decoded,
  signed: SignedTransaction.SignedTransaction | undefined,
): Member {
  const { sig, lsig, msig } = signed ?? {}
  const isSigned = sig !== undefined || lsig !== undefined || (msig?.subsig.some(({ s }) => s !== undefined) ?? false)
  return { transaction, bytes, signed, isSigned }
}
