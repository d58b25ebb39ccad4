import type { RawResponse } from '@latchkey/http'
import type { Ledger } from '../ledger/Ledger.js'
import type { Query } from '../rest/Route.js'
import type { TransactionIndex } from './TransactionIndex.js'
import type { Turns } from './Turns.js'

export type IndexerContext = {
  readonly ledger: Ledger
  readonly transactions: TransactionIndex
  readonly turns: Pick<Turns, 'run'>
}

export type IndexerCall = IndexerContext & {
  /** The values of the path's parameters, in order. */
  readonly path: readonly string[]
  readonly query: Query
}

export type IndexerRoute = {
  readonly method: 'GET'
  /** Parameters are written in braces. */
  readonly path: string
  /** `open` requires no token. */
  readonly access?: 'open'
  readonly handle: (call: IndexerCall) => RawResponse | Promise<RawResponse>
}
