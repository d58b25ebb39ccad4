import type { Algod } from '@latchkey/algod'

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
