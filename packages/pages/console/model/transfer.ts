/** Builds the transaction of a transfer, an opt-in or an opt-out. */
import { Address, Bytes, Transaction } from '@latchkey/algorand'
import { ConsoleError } from '../errors.js'
import type { TransactionParameters } from '../responseTypes.js'

export type Transfer =
  | { kind: 'pay'; sender: string; receiver: string; units: bigint; note: string }
  | { kind: 'asset'; sender: string; receiver: string; assetId: string; units: bigint; note: string }
  | { kind: 'opt-in'; sender: string; assetId: string }
  | { kind: 'opt-out'; sender: string; assetId: string }

/** Long enough to be confirmed, and short enough to learn of a failure soon. */
export const validRounds = 200
/** The bytes that a signature adds to a transaction. */
const signatureBytes = 80
/** A node that asks for more is faulty or dishonest. */
const maxFeeMicroAlgos = 1_000_000n
/** The limit of the protocol. */
export const maxNoteBytes = 1_000

/** Returns the canonical bytes, which are described and signed. @throws ConsoleError `fee_too_high` */
export function build(transfer: Transfer, parameters: TransactionParameters): Uint8Array {
  const genesisHash = Bytes.fromBase64(parameters.genesisHash)
  const common = {
    snd: Address.decode(transfer.sender),
    fv: BigInt(Math.max(1, parameters.lastRound)),
    lv: BigInt(Math.max(1, parameters.lastRound) + validRounds),
    gen: parameters.genesisId,
    gh: genesisHash ?? new Uint8Array(),
    ...noteOf(transfer),
  }
  const transaction = { ...common, ...bodyOf(transfer, common.snd) } as Transaction.Transaction
  const size = Transaction.encode({ ...transaction, fee: maxFeeMicroAlgos }).length + signatureBytes
  const fee = feeOf(parameters, size)
  if (fee > maxFeeMicroAlgos) throw new ConsoleError('fee_too_high')
  return Transaction.encode({ ...transaction, fee })
}

/** The fee of a transfer without a note, for estimates. */
export function feeOf({ minFeeMicroAlgos, feePerByteMicroAlgos }: TransactionParameters, size = 300): bigint {
  const bySize = BigInt(feePerByteMicroAlgos) * BigInt(size)
  const least = BigInt(minFeeMicroAlgos)
  return bySize > least ? bySize : least
}

function noteOf(transfer: Transfer): { note?: Uint8Array } {
  const text = 'note' in transfer ? transfer.note : ''
  return text === '' ? {} : { note: new TextEncoder().encode(text) }
}

function bodyOf(transfer: Transfer, sender: Uint8Array): object {
  if (transfer.kind === 'pay') return { type: 'pay', rcv: Address.decode(transfer.receiver), amt: transfer.units }
  const asset = { type: 'axfer', xaid: BigInt(transfer.assetId) }
  if (transfer.kind === 'asset') return { ...asset, arcv: Address.decode(transfer.receiver), aamt: transfer.units }
  // Closes the holding to the sender itself. If the holding is no longer empty, the network rejects it, and nothing is
  // lost.
  return { ...asset, arcv: sender, ...(transfer.kind === 'opt-out' ? { aclose: sender } : {}) }
}
