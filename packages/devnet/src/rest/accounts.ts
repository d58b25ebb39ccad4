/** Accounts and assets. */
import { type Account, type Asset, type Holding, minBalance, noApps } from '../ledger/Account.js'
import type { Ledger } from '../ledger/Ledger.js'
import * as MapKey from '../ledger/MapKey.js'
import { ApiError } from './ApiError.js'
import * as accountEncoding from './accountEncoding.js'
import { applicationJson, localJson, schemaJson } from './applicationEncoding.js'
import * as HttpResponse from './HttpResponse.js'
import { toMsgpack, type Value } from './HttpResponse.js'
import { address, type Query, type Route, type RouteContext, uint } from './Route.js'

/** The maximum number of assets in one response, as on a node. */
const maxResources = 100_000
const maxBatch = 1_000n

export const accountRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v2/accounts/{address}',
    summary: 'An account',
    query: ['format', 'exclude'],
    handle: getAccount,
  },
  {
    method: 'GET',
    path: '/v2/accounts/{address}/assets',
    summary: 'The assets that an account holds, in pages',
    query: ['limit', 'next'],
    handle: listAssets,
  },
  {
    method: 'GET',
    path: '/v2/accounts/{address}/assets/{asset-id}',
    summary: 'An asset of an account',
    query: ['format'],
    handle: getAccountAsset,
  },
  { method: 'GET', path: '/v2/assets/{asset-id}', summary: 'An asset', handle: getAsset },
]

/** The parameters of created assets, of created applications, or of both. */
type Excluded = 'none' | 'assets' | 'apps' | 'parameters' | 'all'

function readExclude(query: Query): Excluded {
  const values = (query.get('exclude') || 'none').split(',')
  if (values.length === 1 && (values[0] === 'all' || values[0] === 'none')) return values[0]
  if (values.every((value) => value === 'created-apps-params' || value === 'created-assets-params')) {
    if (!values.includes('created-apps-params')) return 'assets'
    return values.includes('created-assets-params') ? 'parameters' : 'apps'
  }
  throw new ApiError(400, 'failed to parse exclude')
}

function getAccount({ node, path, query }: RouteContext) {
  const key = address(path[0]!)
  const format = query.format()
  const excluded = readExclude(query)
  const account = node.ledger.state.account(key)
  if (excluded !== 'all') checkSize(key, account)
  if (format === 'json') return HttpResponse.json(accountJson(key, account, node.ledger, excluded))
  return HttpResponse.bytes(
    toMsgpack(accountEncoding.accountRecord(key, account, node.ledger.state, excluded === 'all')),
  )
}

function checkSize(key: MapKey.MapKey, { assetsHeld, assetsCreated, apps = noApps }: Account): void {
  if (assetsHeld + assetsCreated + apps.created + apps.optedIn <= maxResources) return
  const where = `/v2/accounts/${MapKey.address(key)}`
  throw new ApiError(400, 'Result limit exceeded', `use ${where}?exclude=all, and ${where}/assets for its assets`)
}

function accountJson(key: MapKey.MapKey, account: Account, ledger: Ledger, excluded: Excluded): Value {
  const { state } = ledger
  const { participation, apps = noApps } = account
  const resources =
    excluded === 'all'
      ? {}
      : {
          'apps-local-state': state.appsOptedInBy(key).map((id) => localJson(id, state.local(key, id)!)),
          assets: state.heldBy(key).map((assetId) => holdingJson(assetId, state.holding(key, assetId)!)),
          'created-apps': state.appsCreatedBy(key).map((id) => ({
            id,
            params:
              excluded === 'parameters' || excluded === 'apps' ? undefined : applicationJson(state.application(id)!),
          })),
          'created-assets': state.createdBy(key).map((assetId) => ({
            index: assetId,
            params:
              excluded === 'parameters' || excluded === 'assets'
                ? undefined
                : accountEncoding.assetJson(state.asset(assetId)!),
          })),
        }
  return {
    ...resources,
    address: MapKey.address(key),
    amount: account.microAlgos,
    'amount-without-pending-rewards': account.microAlgos,
    'apps-total-extra-pages': apps.extraPages || undefined,
    'apps-total-schema': schemaJson(apps),
    'auth-addr': account.authorizer && MapKey.address(account.authorizer),
    'incentive-eligible': account.incentiveEligible || undefined,
    'last-heartbeat': account.lastHeartbeat || undefined,
    'min-balance': minBalance(account),
    participation: participation && {
      'selection-participation-key': participation.selectionKey,
      'state-proof-key': participation.stateProofKey,
      'vote-first-valid': participation.firstRound,
      'vote-key-dilution': participation.keyDilution,
      'vote-last-valid': participation.lastRound,
      'vote-participation-key': participation.voteKey,
    },
    'pending-rewards': 0,
    'reward-base': 0,
    rewards: 0,
    round: ledger.last.round,
    status: account.status,
    'total-apps-opted-in': apps.optedIn,
    'total-assets-opted-in': account.assetsHeld,
    'total-box-bytes': apps.boxBytes || undefined,
    'total-boxes': apps.boxes || undefined,
    'total-created-apps': apps.created,
    'total-created-assets': account.assetsCreated,
  }
}

function holdingJson(assetId: bigint, { amount, frozen }: Holding): Value {
  return { amount, 'asset-id': assetId, 'is-frozen': frozen }
}

function getAccountAsset({ node, path, query }: RouteContext) {
  const key = address(path[0]!)
  const assetId = uint('asset-id', path[1]!)
  const format = query.format()
  const { state, last } = node.ledger
  const holding = state.holding(key, assetId)
  const asset = state.asset(assetId)
  const created = asset?.creator === key ? asset : undefined
  if (holding === undefined && created === undefined) throw new ApiError(404, 'account asset info not found')
  if (format === 'msgpack') return HttpResponse.bytes(toMsgpack(accountEncoding.accountAssetRecord(holding, created)))
  return HttpResponse.json({
    'asset-holding': holding && holdingJson(assetId, holding),
    'created-asset': created && accountEncoding.assetJson(created),
    round: last.round,
  })
}

function listAssets({ node, path, query }: RouteContext) {
  const key = address(path[0]!)
  const { limit, after } = query.page(maxBatch, 'assets')
  const { state, last } = node.ledger
  const rest = state.heldBy(key).filter((assetId) => assetId > after)
  const page = rest.slice(0, Number(limit))
  return HttpResponse.json({
    'asset-holdings': page.map((assetId) => ({
      'asset-holding': holdingJson(assetId, state.holding(key, assetId)!),
      'asset-params': parametersOf(state.asset(assetId)),
    })),
    'next-token': rest.length > page.length ? page.at(-1)!.toString() : undefined,
    round: last.round,
  })
}

function parametersOf(asset: Asset | undefined): Value | undefined {
  return asset && accountEncoding.assetJson(asset)
}

function getAsset({ node, path }: RouteContext) {
  const index = uint('asset-id', path[0]!)
  const asset = node.ledger.state.asset(index)
  if (asset === undefined) throw new ApiError(404, 'asset does not exist')
  return HttpResponse.json({ index, params: accountEncoding.assetJson(asset) })
}
