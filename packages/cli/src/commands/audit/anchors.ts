/** Anchors of the audit log on the ledger of a network. */
import { AlgodError } from '@latchkey/algod'
import { Address, Bytes, type Transaction } from '@latchkey/algorand'
import { type Anchor, AnchorNote, type Checkpoint } from '@latchkey/kmd'
import type { Chain } from '@latchkey/x402/client'
import { CommandError } from '../../errors.js'
import * as Indexer from '../../money/Indexer.js'

export type LedgerAnchor = {
  readonly transaction: string
  readonly number: number
  readonly hash: Uint8Array
  readonly address: string
  readonly round: bigint | undefined
}

/**
 * Queries the node, then an indexer. Their response is accepted only if it has the id, so that neither can forge an
 * anchor.
 */
export async function findAnchor(
  chain: Chain,
  indexer: Indexer.Place | undefined,
  id: string,
): Promise<LedgerAnchor | undefined> {
  const { state, transaction } = await chain.algod.transactionDetails(id)
  if (state.type === 'confirmed' && transaction !== undefined) return readAnchor(id, transaction, state.round)
  const indexed = indexer === undefined ? undefined : await Indexer.lookUp(indexer, id)
  return indexed?.transaction === undefined ? undefined : readAnchor(id, indexed.transaction, indexed.round)
}

function readAnchor(id: string, transaction: Transaction.Transaction, round: bigint | undefined): LedgerAnchor {
  const head = AnchorNote.read(transaction.note ?? new Uint8Array())
  if (head === undefined) {
    throw new CommandError('anchor_not_found', `the note of transaction ${id} contains no audit log anchor`)
  }
  return { transaction: id, ...head, address: Address.encode(transaction.snd), round }
}

/** @throws CommandError if the anchor is not on the ledger, or cannot be looked up */
export async function requireAnchor(
  chain: Chain,
  indexer: Indexer.Place | undefined,
  id: string,
): Promise<LedgerAnchor> {
  const found = await findAnchor(chain, indexer, id).catch((cause: unknown) => {
    if (!(cause instanceof AlgodError)) throw cause
    throw new CommandError('anchor_not_found', `transaction ${id} could not be looked up: ${cause.message}`, {
      cause,
    })
  })
  if (found !== undefined) return found
  const where =
    indexer === undefined ? 'the node does not have the transaction' : 'neither node nor indexer has the transaction'
  throw new CommandError('anchor_not_found', `${where} ${id}`)
}

export function checkpointOf({ number, hash, transaction }: LedgerAnchor): Checkpoint {
  return { number, hash, source: `the anchor ${transaction} in the ledger` }
}

/** Whether an anchor in the log belongs to this network. */
export async function isOf({ network }: Anchor, chain: Chain): Promise<boolean> {
  return network === Bytes.toBase64((await chain.parameters()).genesisHash)
}
