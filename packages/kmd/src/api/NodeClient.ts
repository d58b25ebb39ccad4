import type { Algod } from '@latchkey/algod'

/** The queries to the Algorand node that operations make. */
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
>

/** What is asked of a node, or of several that have to agree, about payments of agents: how far its network is, and its blocks. */
export type LedgerClient = Pick<NodeClient, 'parameters' | 'blockTransactionIds'>
