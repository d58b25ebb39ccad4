/** Accounts in the format of an indexer. */
import { type Account, minBalance, noApps, none } from '../ledger/Account.js'
import type { Ledger } from '../ledger/Ledger.js'
import * as MapKey from '../ledger/MapKey.js'
import { schemaJson } from '../rest/applicationEncoding.js'
import type { Value } from '../rest/HttpResponse.js'
import { applicationJson, createdAppIds, localJson, optedInAppIds } from './applicationJson.js'
import { addressOrNone, assetJson, holdingJson } from './assetJson.js'

export type Included = {
  readonly assets: boolean
  readonly createdAssets: boolean
  readonly localStates: boolean
  readonly createdApps: boolean
  /** Whether closed holdings, destroyed assets and deleted applications are shown. */
  readonly closed: boolean
}

/** Returns the ids of the assets that the account holds, ascending; with `closed` also those that it held. */
export function heldIds({ state, lifetimes }: Ledger, key: MapKey.MapKey, closed: boolean): bigint[] {
  return closed ? ascending([...state.heldBy(key), ...lifetimes!.closedHoldings(key)]) : state.heldBy(key)
}

export function createdIds({ state, lifetimes }: Ledger, key: MapKey.MapKey, closed: boolean): bigint[] {
  return closed ? ascending([...state.createdBy(key), ...lifetimes!.destroyedBy(key)]) : state.createdBy(key)
}

function ascending(ids: bigint[]): bigint[] {
  return ids.sort((a, b) => (a < b ? -1 : 1))
}

/** For an indexer, an account without Algos does not exist. */
export function isClosed(account: Account): boolean {
  return account.microAlgos === 0n
}

export type Members = { readonly [name: string]: Value | undefined }

export function accountJson(ledger: Ledger, key: MapKey.MapKey, included: Included): Members {
  const existing = ledger.state.account(key)
  const account = isClosed(existing) ? none : existing
  const { apps = noApps } = account
  const lifetime = ledger.lifetimes!.accounts.get(key)
  const held = included.assets ? heldIds(ledger, key, included.closed) : []
  const created = included.createdAssets ? createdIds(ledger, key, included.closed) : []
  const createdApps = included.createdApps ? createdAppIds(ledger, key, included.closed) : []
  const locals = included.localStates ? optedInAppIds(ledger, key, included.closed) : []
  return {
    address: MapKey.address(key),
    amount: account.microAlgos,
    'amount-without-pending-rewards': account.microAlgos,
    'apps-local-state': list(locals.map((appId) => localJson(ledger, key, appId))),
    'apps-total-extra-pages': apps.extraPages || undefined,
    'apps-total-schema': apps === noApps ? undefined : schemaJson(apps),
    assets: list(held.map((assetId) => holdingJson(ledger, key, assetId, 'asset'))),
    'auth-addr': account.authorizer && MapKey.address(account.authorizer),
    'closed-at-round': lifetime?.closed,
    'created-apps': list(createdApps.map((appId) => applicationJson(ledger, appId))),
    'created-assets': list(created.map((assetId) => assetJson(ledger, assetId, addressOrNone))),
    'created-at-round': lifetime?.created,
    deleted: isClosed(existing),
    'incentive-eligible': account.incentiveEligible || undefined,
    'last-heartbeat': account.lastHeartbeat || undefined,
    'min-balance': minBalance(account),
    participation: participation(account),
    'pending-rewards': 0,
    'reward-base': 0,
    rewards: 0,
    round: ledger.last.round,
    'sig-type': lifetime?.signature,
    status: account.status === 'Not Participating' ? 'NotParticipating' : account.status,
    'total-apps-opted-in': apps.optedIn,
    'total-assets-opted-in': account.assetsHeld,
    'total-box-bytes': apps.boxBytes,
    'total-boxes': apps.boxes,
    'total-created-apps': apps.created,
    'total-created-assets': account.assetsCreated,
  }
}

function list(values: Value[]): Value | undefined {
  return values.length === 0 ? undefined : values
}

function participation({ participation: keys }: Account): Value | undefined {
  return (
    keys && {
      'selection-participation-key': keys.selectionKey,
      'state-proof-key': keys.stateProofKey,
      'vote-first-valid': keys.firstRound,
      'vote-key-dilution': keys.keyDilution,
      'vote-last-valid': keys.lastRound,
      'vote-participation-key': keys.voteKey,
    }
  )
}
