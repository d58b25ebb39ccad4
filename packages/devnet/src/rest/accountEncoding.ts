/** Assets and accounts in the two encodings of nodes: JSON, and the stored record in msgpack. */
import { type Account, type Asset, type Holding, noApps } from '../ledger/Account.js'
import * as MapKey from '../ledger/MapKey.js'
import type { State } from '../ledger/State.js'
import { applicationRecord, localRecord, schemaRecord } from './applicationEncoding.js'
import { Text, type Value } from './HttpResponse.js'

export type Members = { [name: string]: Value | undefined }

export function assetJson(asset: Asset): Value {
  return {
    clawback: addressText(asset.clawback),
    creator: MapKey.address(asset.creator),
    decimals: asset.decimals,
    'default-frozen': asset.defaultFrozen,
    freeze: addressText(asset.freeze),
    manager: addressText(asset.manager),
    'metadata-hash': asset.metadataHash,
    ...textMembers('name', asset.name),
    reserve: addressText(asset.reserve),
    total: asset.total,
    ...textMembers('unit-name', asset.unitName),
    ...textMembers('url', asset.url),
  }
}

function addressText(key: MapKey.MapKey): string | undefined {
  return key === MapKey.zero ? undefined : MapKey.address(key)
}

/** The text if it is printable, and always the bytes. */
export function textMembers(name: string, bytes: Uint8Array): Members {
  if (bytes.length === 0) return {}
  return { [name]: printable(bytes), [`${name}-b64`]: bytes }
}

function printable(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(text) ? text : undefined
  } catch {
    return undefined
  }
}

/** Zero values are absent. */
export function assetRecord(asset: Asset): Members {
  return {
    am: asset.metadataHash,
    an: textRecord(asset.name),
    au: textRecord(asset.url),
    c: addressRecord(asset.clawback),
    dc: asset.decimals || undefined,
    df: asset.defaultFrozen || undefined,
    f: addressRecord(asset.freeze),
    m: addressRecord(asset.manager),
    r: addressRecord(asset.reserve),
    t: asset.total || undefined,
    un: textRecord(asset.unitName),
  }
}

function textRecord(bytes: Uint8Array): Value | undefined {
  return bytes.length === 0 ? undefined : new Text(bytes)
}

function addressRecord(key: MapKey.MapKey): Value | undefined {
  return key === MapKey.zero ? undefined : MapKey.bytes(key)
}

export function holdingRecord({ amount, frozen }: Holding): Members {
  return { a: amount || undefined, f: frozen || undefined }
}

function unlessEmpty(record: Members): Members | undefined {
  return Object.values(record).every((member) => member === undefined) ? undefined : record
}

export function accountAssetRecord(holding: Holding | undefined, created: Asset | undefined): Value {
  return {
    'asset-holding': holding && unlessEmpty(holdingRecord(holding)),
    'asset-params': created && unlessEmpty(assetRecord(created)),
  }
}

const statusNumbers = { Offline: 0, Online: 1, 'Not Participating': 2 } as const

/** `isShort` selects the record that nodes send without resources: with other names, and including zeroes. */
export function accountRecord(key: MapKey.MapKey, account: Account, state: State, isShort: boolean): Value {
  return isShort ? shortRecord(account) : fullRecord(key, account, state)
}

function fullRecord(key: MapKey.MapKey, account: Account, state: State): Value {
  const { participation } = account
  const created = state.createdBy(key).map((id) => [id, assetRecord(state.asset(id)!)] as const)
  const held = state.heldBy(key).map((id) => [id, holdingRecord(state.holding(key, id)!)] as const)
  const apps = state.appsCreatedBy(key).map((id) => [id, applicationRecord(state.application(id)!)] as const)
  const locals = state.appsOptedInBy(key).map((id) => [id, localRecord(state.local(key, id)!)] as const)
  const totals = account.apps ?? noApps
  return {
    algo: account.microAlgos || undefined,
    appl: locals.length === 0 ? undefined : new Map(locals),
    appp: apps.length === 0 ? undefined : new Map(apps),
    apar: created.length === 0 ? undefined : new Map(created),
    asset: held.length === 0 ? undefined : new Map(held),
    tbx: totals.boxes || undefined,
    tbxb: totals.boxBytes || undefined,
    teap: totals.extraPages || undefined,
    tsch: schemaRecord(totals),
    ie: account.incentiveEligible || undefined,
    lhb: account.lastHeartbeat || undefined,
    onl: statusNumbers[account.status] || undefined,
    sel: participation?.selectionKey,
    spend: account.authorizer && MapKey.bytes(account.authorizer),
    stprf: participation?.stateProofKey,
    vote: participation?.voteKey,
    voteFst: participation?.firstRound || undefined,
    voteKD: participation?.keyDilution || undefined,
    voteLst: participation?.lastRound || undefined,
  }
}

export function shortRecord(account: Account): Members {
  const { apps = noApps } = account
  const { participation } = account
  return {
    AuthAddr: MapKey.bytes(account.authorizer ?? MapKey.zero),
    IncentiveEligible: account.incentiveEligible,
    LastHeartbeat: account.lastHeartbeat,
    LastProposed: 0,
    MicroAlgos: account.microAlgos,
    RewardedMicroAlgos: 0,
    RewardsBase: 0,
    SelectionID: participation?.selectionKey ?? new Uint8Array(32),
    StateProofID: participation?.stateProofKey ?? new Uint8Array(64),
    Status: statusNumbers[account.status],
    TotalAppLocalStates: apps.optedIn,
    TotalAppParams: apps.created,
    TotalAppSchema: schemaRecord(apps) ?? {},
    TotalAssetParams: account.assetsCreated,
    TotalAssets: account.assetsHeld,
    TotalBoxBytes: apps.boxBytes,
    TotalBoxes: apps.boxes,
    TotalExtraAppPages: apps.extraPages,
    VoteFirstValid: participation?.firstRound ?? 0n,
    VoteID: participation?.voteKey ?? new Uint8Array(32),
    VoteKeyDilution: participation?.keyDilution ?? 0n,
    VoteLastValid: participation?.lastRound ?? 0n,
  }
}
