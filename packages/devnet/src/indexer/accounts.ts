/** Accounts and their holdings. */
import type { RawResponse } from '@latchkey/http'
import { type Account, noApps } from '../ledger/Account.js'
import type { Ledger } from '../ledger/Ledger.js'
import type { Lifetimes } from '../ledger/Lifetimes.js'
import * as MapKey from '../ledger/MapKey.js'
import { SortedList } from '../ledger/SortedList.js'
import { ApiError } from '../rest/ApiError.js'
import * as HttpResponse from '../rest/HttpResponse.js'
import type { Query } from '../rest/Route.js'
import { accountJson, heldIds, type Included, isClosed } from './accountJson.js'
import { holdingJson } from './assetJson.js'
import { balanceLimits, readNextAddress, readNextId } from './assets.js'
import type { IndexerCall, IndexerRoute } from './IndexerRoute.js'
import { Page, scan } from './Page.js'
import * as Parameters from './Parameters.js'
import { rewind } from './rewind.js'
import type { Slice } from './Turns.js'

export const accountRoutes: readonly IndexerRoute[] = [
  { method: 'GET', path: '/v2/accounts', handle: searchAccounts },
  { method: 'GET', path: '/v2/accounts/{account-id}', handle: lookUp },
  { method: 'GET', path: '/v2/accounts/{account-id}/assets', handle: assets },
]

const limits: Parameters.Limits = { default: 100n, max: 1_000n }
/** The maximum number of assets of an account that is shown with them. */
const maxResources = 1_000

function readIncluded(query: Query): Included {
  const included = {
    assets: true,
    createdAssets: true,
    localStates: true,
    createdApps: true,
    closed: query.flag('include-all'),
  }
  for (const name of Parameters.list(query, 'exclude') ?? []) {
    switch (name) {
      case 'all':
        included.assets = false
        included.createdAssets = false
        included.localStates = false
        included.createdApps = false
        break
      case 'assets':
        included.assets = false
        break
      case 'created-assets':
        included.createdAssets = false
        break
      case 'apps-local-state':
        included.localStates = false
        break
      case 'created-apps':
        included.createdApps = false
        break
      case 'none':
        break
      default:
        throw new ApiError(400, `unknown value "${name}": invalid exclude argument`)
    }
  }
  return included
}

async function lookUp({ ledger, transactions, turns, path, query }: IndexerCall): Promise<RawResponse> {
  const round = query.uint('round')
  Parameters.checkInt64(round)
  const included = readIncluded(query)
  const key = Parameters.address(path[0]!)
  const lifetime = ledger.lifetimes!.accounts.get(key)
  const isFound = lifetime !== undefined && (included.closed || !isClosed(ledger.state.account(key)))
  if (round !== undefined && round > ledger.last.round) {
    throw rewindError(`the requested round ${round} > the current round ${ledger.last.round}`)
  }
  if (!isFound) throw new ApiError(404, `no accounts found for address: ${path[0]!}`)
  const tooMany = checkResources(ledger, key, included)
  if (tooMany !== undefined) return tooMany
  const shown = () => ({ account: accountJson(ledger, key, included), 'current-round': ledger.last.round })
  if (round === undefined) return HttpResponse.json(shown())
  return turns.run(async (slice) => {
    // Evaluated in its turn: blocks may be added while it waits, and all blocks present then are undone.
    const today = shown()
    const account = await rewind({ ledger, transactions, slice, key, round, account: today.account })
    if (typeof account === 'string') throw rewindError(account)
    return HttpResponse.json({ ...today, account })
  })
}

function rewindError(reason: string): ApiError {
  return new ApiError(500, `failed while searching for account: error while rewinding account: ${reason}`)
}

/** The error response for an account with too many assets and applications. */
function checkResources(ledger: Ledger, key: MapKey.MapKey, included: Included): RawResponse | undefined {
  const { assetsHeld, assetsCreated, apps = noApps } = ledger.state.account(key)
  const { closed } = included
  const { apps: appLifetimes } = ledger.lifetimes!
  const optedIn = included.localStates ? apps.optedIn + (closed ? appLifetimes.closedLocals(key).size : 0) : 0
  const createdApps = included.createdApps ? apps.created + (closed ? appLifetimes.deletedBy(key).size : 0) : 0
  const held = included.assets ? assetsHeld + (closed ? ledger.lifetimes!.closedHoldings(key).size : 0) : 0
  const created = included.createdAssets ? assetsCreated + (closed ? ledger.lifetimes!.destroyedBy(key).size : 0) : 0
  if (held + created + optedIn + createdApps <= maxResources) return undefined
  const data = {
    address: MapKey.address(key),
    'max-results': maxResources,
    'total-apps-opted-in': optedIn,
    'total-assets-opted-in': held,
    'total-created-apps': createdApps,
    'total-created-assets': created,
  }
  return HttpResponse.json({ data, message: 'Result limit exceeded' }, 400)
}

type AccountFilter = {
  readonly assetId: bigint
  readonly applicationId: bigint
  readonly greaterThan: bigint | undefined
  readonly lessThan: bigint | undefined
  readonly authorizer: MapKey.MapKey | undefined
  readonly isOnline: boolean
}

function readFilter(query: Query): AccountFilter {
  const [assetId, applicationId, round] = [query.uint('asset-id'), query.uint('application-id'), query.uint('round')]
  const isOnline = query.flag('online-only')
  const [greaterThan, lessThan] = [query.uint('currency-greater-than'), query.uint('currency-less-than')]
  Parameters.checkInt64(assetId, applicationId, round)
  if (round !== undefined) throw new ApiError(400, 'multiple accounts rewind is not supported by this server')
  if (isOnline && query.flag('include-all')) {
    throw new ApiError(400, 'simultaneously searching for online and deleted accounts is not supported')
  }
  const text = query.get('auth-addr')
  const authorizer = text === undefined ? undefined : Parameters.address(text, 'unable to parse auth addr: ')
  return { assetId: assetId ?? 0n, applicationId: applicationId ?? 0n, greaterThan, lessThan, authorizer, isOnline }
}

async function searchAccounts({ ledger, turns, query }: IndexerCall): Promise<RawResponse> {
  const filter = readFilter(query)
  const page = new Page(Parameters.limit(query, limits))
  const included = readIncluded(query)
  const after = readNextAddress(query)
  const lifetimes = ledger.lifetimes!
  let last: MapKey.MapKey | undefined
  let tooMany: RawResponse | undefined
  const take = (key: MapKey.MapKey): boolean => {
    const account = ledger.state.account(key)
    // Unknown only after a revert during the search.
    if (!lifetimes.accounts.has(key)) return true
    if ((isClosed(account) && !included.closed) || !matches(ledger, key, account, filter)) return true
    tooMany = checkResources(ledger, key, included)
    if (tooMany !== undefined) return false
    last = key
    return page.add(accountJson(ledger, key, included))
  }
  let currentRound = ledger.last.round
  const search = (slice: Slice): Promise<void> => {
    currentRound = ledger.last.round
    return scan(candidatesOf(lifetimes, filter), after, slice, take)
  }
  await turns.run(search)
  if (tooMany !== undefined) return tooMany
  return page.toResponse('accounts', { 'current-round': currentRound, 'next-token': last && MapKey.address(last) })
}

function candidatesOf(lifetimes: Lifetimes, { assetId, applicationId }: AccountFilter) {
  if (applicationId !== 0n) return lifetimes.apps.members(applicationId)
  return assetId === 0n ? lifetimes.accountOrder : lifetimes.holders(assetId)
}

/** Former holders of an asset count too, with an amount of zero, because their rows stay in an indexer's database. */
function matches(ledger: Ledger, key: MapKey.MapKey, account: Account, filter: AccountFilter): boolean {
  const { assetId, applicationId, greaterThan, lessThan, authorizer, isOnline } = filter
  const amount = assetId === 0n ? account.microAlgos : (ledger.state.holding(key, assetId)?.amount ?? 0n)
  if (greaterThan !== undefined && amount <= greaterThan) return false
  if (lessThan !== undefined && amount >= lessThan) return false
  if (assetId !== 0n && applicationId !== 0n && ledger.lifetimes!.holding(key, assetId) === undefined) return false
  if (authorizer !== undefined && account.authorizer !== authorizer) return false
  return !isOnline || (account.status === 'Online' && (account.participation?.lastRound ?? 0n) > 0n)
}

async function assets({ ledger, turns, path, query }: IndexerCall): Promise<RawResponse> {
  const only = query.uint('asset-id')
  const includesAll = query.flag('include-all')
  const page = new Page(Parameters.limit(query, balanceLimits))
  Parameters.checkInt64(only)
  const key = Parameters.address(path[0]!)
  const after = readNextId(query)
  let currentRound = ledger.last.round
  let last: bigint | undefined
  const take = (assetId: bigint): boolean => {
    // Closed or reverted during the search.
    const isShown = includesAll ? ledger.lifetimes!.holding(key, assetId) : ledger.state.holding(key, assetId)
    if (isShown === undefined) return true
    last = assetId
    return page.add(holdingJson(ledger, key, assetId, 'asset'))
  }
  await turns.run((slice) => {
    currentRound = ledger.last.round
    const ids = heldIds(ledger, key, includesAll)
    return scan(SortedList.of(only === undefined ? ids : ids.filter((id) => id === only)), after, slice, take)
  })
  return page.toResponse('assets', { 'current-round': currentRound, 'next-token': last?.toString() })
}
