/** The state of the indexer, which follows the ledger in the same process and is therefore never behind. */
import type { RawResponse } from '@latchkey/http'
import * as HttpResponse from '../rest/HttpResponse.js'
import { version } from '../version.js'
import type { IndexerCall, IndexerRoute } from './IndexerRoute.js'

export const healthRoutes: readonly IndexerRoute[] = [
  { method: 'GET', path: '/health', access: 'open', handle: health },
]

/** `oldest-round` tells which blocks and transactions are kept. */
function health({ ledger }: IndexerCall): RawResponse {
  const { round } = ledger.last
  return HttpResponse.json({
    data: { 'migration-required': false, 'oldest-round': ledger.oldestRound, 'read-only-mode': true },
    'db-available': true,
    'is-migrating': false,
    message: round.toString(),
    round,
    version: `latchkey-devnet ${version}`,
  })
}
