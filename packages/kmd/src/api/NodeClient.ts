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
