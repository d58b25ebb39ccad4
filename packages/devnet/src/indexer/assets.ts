/** Assets and their holders. */
import type { RawResponse } from '@latchkey/http'
import type { Asset } from '../ledger/Account.js'
import * as MapKey from '../ledger/MapKey.js'
import { SortedList } from '../ledger/SortedList.js'
import { ApiError } from '../rest/ApiError.js'
import * as HttpResponse from '../rest/HttpResponse.js'
import { parseUint, type Query, uint } from '../rest/Route.js'
import { createdIds } from './accountJson.js'
import { assetJson, holdingJson } from './assetJson.js'
import type { IndexerCall, IndexerRoute } from './IndexerRoute.js'
import { isLike } from './isLike.js'
import { Page, scan } from './Page.js'
import * as Parameters from './Parameters.js'

export const assetRoutes: readonly IndexerRoute[] = [
  { method: 'GET', path: '/v2/assets', handle: (call) => searchAssets(call, readCreator(call.query)) },
  { method: 'GET', path: '/v2/assets/{asset-id}', handle: lookUp },
  { method: 'GET', path: '/v2/assets/{asset-id}/balances', handle: balances },
  { method: 'GET', path: '/v2/accounts/{account-id}/created-assets', handle: createdAssets },
]

export const balanceLimits: Parameters.Limits = { default: 1_000n, max: 10_000n }
const limits: Parameters.Limits = { default: 100n, max: 1_000n }
const badCreator = 'unable to parse creator address: '

function readCreator(query: Query): MapKey.MapKey | undefined {
  const text = query.get('creator')
  return text === undefined ? undefined : Parameters.address(text, badCreator)
}

function createdAssets(call: IndexerCall): Promise<RawResponse> {
  return searchAssets(call, Parameters.address(call.path[0]!, badCreator))
}

/** The id after which the next page begins. */
export function readNextId(query: Query): bigint | undefined {
  const text = query.get('next')
  return text === undefined ? undefined : parseUint(text, 'unable to parse next token: ')
}

async function searchAssets(
  { ledger, turns, query, path }: IndexerCall,
  creator: MapKey.MapKey | undefined,
): Promise<RawResponse> {
  const only = query.uint('asset-id')
  Parameters.checkInt64(only)
  const after = readNextId(query)
  const includesAll = query.flag('include-all')
  const page = new Page(Parameters.limit(query, limits))
  // In the list of an account's own assets these are not filters.
  const matches = path.length > 0 ? () => true : textFilter(query)
  let last: bigint | undefined
  const take = (assetId: bigint): boolean => {
    const asset = ledger.state.asset(assetId)
    if ((only !== undefined && only !== assetId) || !ledger.lifetimes!.assets.has(assetId)) return true
    if ((asset === undefined && !includesAll) || !matches(asset)) return true
    last = assetId
    return page.add(assetJson(ledger, assetId, MapKey.address))
  }
  let currentRound = ledger.last.round
  const candidates = (): SortedList<bigint> => {
    if (only !== undefined) return SortedList.of([only])
    return creator === undefined ? ledger.lifetimes!.assetOrder : SortedList.of(createdIds(ledger, creator, true))
  }
  if (only === undefined || creator === undefined || ledger.lifetimes!.assets.get(only)?.creator === creator) {
    await turns.run((slice) => {
      currentRound = ledger.last.round
      return scan(candidates(), after, slice, take)
    })
  }
  return page.toResponse('assets', { 'current-round': currentRound, 'next-token': last?.toString() })
}

/** A destroyed asset has no names. */
function textFilter(query: Query): (asset: Asset | undefined) => boolean {
  const [name, unit] = [query.get('name'), query.get('unit')]
  const contains = (bytes: Uint8Array | undefined, part: string | undefined): boolean => {
    if (!part) return true
    return bytes !== undefined && bytes.length > 0 && isLike(Buffer.from(bytes).toString(), `%${part}%`)
  }
  return (asset) => contains(asset?.name, name) && contains(asset?.unitName, unit)
}

function lookUp({ ledger, path, query }: IndexerCall): RawResponse {
  const assetId = uint('asset-id', path[0]!)
  const includesAll = query.flag('include-all')
  Parameters.checkInt64(assetId)
  const isFound = includesAll ? ledger.lifetimes!.assets.has(assetId) : ledger.state.asset(assetId) !== undefined
  if (!isFound) throw new ApiError(404, `no assets found for asset-id: ${assetId}`)
  return HttpResponse.json({
    asset: assetJson(ledger, assetId, MapKey.address),
    'current-round': ledger.last.round,
  })
}

async function balances({ ledger, turns, path, query }: IndexerCall): Promise<RawResponse> {
  const assetId = uint('asset-id', path[0]!)
  const includesAll = query.flag('include-all')
  const [greaterThan, lessThan] = [query.uint('currency-greater-than'), query.uint('currency-less-than')]
  const page = new Page(Parameters.limit(query, balanceLimits))
  Parameters.checkInt64(assetId)
  const after = readNextAddress(query)
  let last: MapKey.MapKey | undefined
  const take = (key: MapKey.MapKey): boolean => {
    const holding = ledger.state.holding(key, assetId)
    const amount = holding?.amount ?? 0n
    // Unknown only after a revert during the search.
    if (ledger.lifetimes!.holding(key, assetId) === undefined) return true
    if (holding === undefined && !includesAll) return true
    if (greaterThan !== undefined && amount <= greaterThan) return true
    if (lessThan !== undefined && amount >= lessThan) return true
    last = key
    return page.add(holdingJson(ledger, key, assetId, 'holder'))
  }
  let currentRound = ledger.last.round
  await turns.run((slice) => {
    currentRound = ledger.last.round
    return scan(ledger.lifetimes!.holders(assetId), after, slice, take)
  })
  return page.toResponse('balances', { 'current-round': currentRound, 'next-token': last && MapKey.address(last) })
}

/** The address after which the next page begins. */
export function readNextAddress(query: Query): MapKey.MapKey | undefined {
  const text = query.get('next')
  if (text === undefined) return undefined
  const parsed = Parameters.parseAddress(text)
  if (typeof parsed === 'string') return parsed
  throw new ApiError(400, 'unable to parse next token')
}
