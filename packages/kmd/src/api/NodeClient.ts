import { type Algod, AlgodError } from '@latchkey/algod'
import { KmdError } from '../errors.js'

/** The queries that operations send to the Algorand node. */
export type NodeClient = Pick<
  Algod,
  | 'parameters'
  | 'lastRound'
  | 'account'
  | 'accountWithHoldings'
  | 'holding'
  | 'asset'
  | 'transaction'
  | 'simulate'
  | 'submit'
  | 'devnet'
  | 'fund'
  | 'blockTransactionIds'
  | 'leasesInBlock'
>

/**
 * The queries about agents' payments, sent to one node or to several that must agree: the network's last round, and its
 * blocks.
 */
export type LedgerClient = Pick<NodeClient, 'parameters' | 'blockTransactionIds' | 'leasesInBlock'>

/** Runs work that needs the node. Throws an API error if there is no node or the node fails. */
export async function withNode<T>(node: NodeClient | undefined, work: (algod: NodeClient) => Promise<T>): Promise<T> {
  if (node === undefined) throw new KmdError('no_node')
  try {
    return await work(node)
  } catch (error) {
    if (error instanceof AlgodError)
      throw new KmdError('node_failed', { message: explainNodeError(error), cause: error })
    throw error
  }
}

/** The cause and the remedy in one text, because the wire has only one. */
export function explainNodeError({ message, hint }: AlgodError): string {
  return hint === undefined ? message : `${message}. ${hint}`
}
