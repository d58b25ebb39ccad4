/** Transactions: one by its id, and searches. */
import type { RawResponse } from '@latchkey/http'
import { ApiError } from '../rest/ApiError.js'
import * as HttpResponse from '../rest/HttpResponse.js'
import { Query, uint } from '../rest/Route.js'
import type { IndexerCall, IndexerRoute } from './IndexerRoute.js'
import * as NextToken from './NextToken.js'
import { Page } from './Page.js'
import * as Parameters from './Parameters.js'
import { search } from './searchTransactions.js'
import * as TransactionFilter from './TransactionFilter.js'
import type { Entry } from './TransactionIndex.js'
import { transactionJson } from './transactionJson.js'

export const transactionRoutes: readonly IndexerRoute[] = [
  { method: 'GET', path: '/v2/transactions', handle: (call) => respond(call, { ignores: [] }) },
  { method: 'GET', path: '/v2/transactions/{txid}', handle: lookUp },
  { method: 'GET', path: '/v2/accounts/{account-id}/transactions', handle: ofAccount },
  { method: 'GET', path: '/v2/assets/{asset-id}/transactions', handle: ofAsset },
]

function ofAccount(call: IndexerCall): Promise<RawResponse> {
  const address = Parameters.address(call.path[0]!)
  const ignores = ['address', 'address-role', 'exclude-close-to', 'application-id', 'group-id']
  return respond(call, { address, ignores })
}

function ofAsset(call: IndexerCall): Promise<RawResponse> {
  const assetId = uint('asset-id', call.path[0]!)
  return respond(call, { assetId, ignores: ['application-id', 'group-id'] })
}

async function respond(call: IndexerCall, fixed: TransactionFilter.Fixed): Promise<RawResponse> {
  const { ledger, transactions, turns } = call
  const filter = TransactionFilter.read(call.query, fixed)
  const page = new Page(filter.limit)
  let currentRound = ledger.last.round
  let last: Entry | undefined
  const restart = (): void => {
    page.clear()
    currentRound = ledger.last.round
    last = undefined
  }
  const take = (entry: Entry): boolean => {
    last = entry
    return page.add(transactionJson(entry.block, entry.intra))
  }
  await turns.run((slice) => search(transactions, filter, slice, restart, take))
  return page.toResponse('transactions', { 'current-round': currentRound, 'next-token': last && tokenOf(last) })
}

function tokenOf({ block: { round }, intra }: Entry): string {
  return NextToken.ofTransaction({ round, intra })
}

function lookUp({ ledger, transactions, path }: IndexerCall): RawResponse {
  const id = path[0]!
  const query = new Query(new URLSearchParams({ txid: id }).toString())
  TransactionFilter.read(query, { ignores: [] })
  const found = transactions.findById(id)
  if (found === undefined) throw new ApiError(404, `no transaction found for transaction id: ${id}`)
  return HttpResponse.json({
    'current-round': ledger.last.round,
    transaction: transactionJson(found.block, found.intra),
  })
}
