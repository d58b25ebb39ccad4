/** The changes of the last blocks, which nodes report for a few rounds. */
import type { Account, Asset, Holding } from './Account.js'
import type { MapKey } from './MapKey.js'
import type { AppRecord, LocalState } from './programs/AppRecords.js'
import type { State, Totals } from './State.js'
import type { StateOverlay } from './StateOverlay.js'
import { holdingKey } from './StateReader.js'

/** A written holding or asset of an account. Both are present if the account has both. */
export type AssetRecord = {
  readonly account: MapKey
  readonly assetId: bigint
  readonly holding: Holding | undefined
  readonly isHoldingDeleted: boolean
  readonly asset: Asset | undefined
  readonly isAssetDeleted: boolean
}

/** A written application or local state of an account. Both are present if the account has both. */
export type AppResource = {
  readonly account: MapKey
  readonly appId: bigint
  readonly application: AppRecord | undefined
  readonly isApplicationDeleted: boolean
  readonly local: LocalState | undefined
  readonly isLocalDeleted: boolean
}

/** A box before and after the block. */
export type BoxMod = {
  readonly appId: bigint
  readonly name: MapKey
  readonly before: Uint8Array | undefined
  readonly after: Uint8Array | undefined
}

/** A created or destroyed asset or application. */
export type Creatable = {
  readonly id: bigint
  readonly type: 'asset' | 'application'
  readonly isCreated: boolean
  readonly creator: MapKey
}

export type StateDelta = {
  /** The state after the block, in the order of the first write. */
  readonly accounts: ReadonlyMap<MapKey, Account>
  readonly assetRecords: readonly AssetRecord[]
  readonly appResources: readonly AppResource[]
  readonly boxes: readonly BoxMod[]
  readonly creatables: readonly Creatable[]
  /** The last valid round of each transaction, in the order of the block. */
  readonly transactions: ReadonlyMap<MapKey, bigint>
  readonly leases: ReadonlyMap<string, bigint>
  readonly previousTimestamp: bigint
  /** The timestamp of the block before it was closed. */
  readonly openTimestamp: bigint
  /** After the block. */
  readonly totals: Totals
}

/** The changes of an open block before they are committed to the state. */
export function changesOf(
  open: StateOverlay,
  state: State,
): Omit<StateDelta, 'totals' | 'previousTimestamp' | 'openTimestamp'> {
  return {
    accounts: open.accounts,
    assetRecords: assetRecords(open, state),
    appResources: appResources(open),
    boxes: boxMods(open, state),
    creatables: creatables(open, state),
    transactions: open.transactions,
    leases: open.leases,
  }
}

function assetRecords(open: StateOverlay, state: State): AssetRecord[] {
  const creators = assetCreators(open, state)
  return [...open.holdings.values()].map(({ key, assetId, holding }) => {
    const asset = open.asset(assetId)
    const isOwn = (asset?.creator ?? creators.get(assetId)) === key
    return {
      account: key,
      assetId,
      holding,
      isHoldingDeleted: holding === undefined,
      asset: isOwn ? asset : undefined,
      isAssetDeleted: isOwn && asset === undefined,
    }
  })
}

/** The creators of the written assets. The first holding of an asset is its creator's, even if the block destroyed it. */
function assetCreators(open: StateOverlay, state: State): ReadonlyMap<bigint, MapKey> {
  const creators = new Map<bigint, MapKey>()
  for (const { key, assetId } of open.holdings.values()) {
    if (!open.assets.has(assetId) || creators.has(assetId)) continue
    creators.set(assetId, (open.asset(assetId) ?? state.asset(assetId))?.creator ?? key)
  }
  return creators
}

function appResources(open: StateOverlay): AppResource[] {
  if (open.applications.size === 0 && open.locals.size === 0) return []
  const records = new Map<string, AppResource>()
  const add = (account: MapKey, appId: bigint): void => {
    const name = holdingKey(account, appId)
    if (records.has(name)) return
    const application = open.application(appId)
    const local = open.local(account, appId)
    records.set(name, {
      account,
      appId,
      application: application?.params.creator === account ? application : undefined,
      isApplicationDeleted: application === undefined && open.creatorOf(appId) === account,
      local,
      isLocalDeleted: local === undefined && open.locals.has(name),
    })
  }
  for (const [appId, application] of open.applications)
    add(application?.params.creator ?? open.creatorOf(appId)!, appId)
  for (const { key, appId } of open.locals.values()) add(key, appId)
  return [...records.values()]
}

/** A box that was created and deleted in the block has no value before and after it. */
function boxMods(open: StateOverlay, state: State): BoxMod[] {
  if (open.boxes.size === 0) return []
  return [...open.boxes.values()].map(({ appId, name, value }) => {
    return { appId, name, before: state.box(appId, name), after: value }
  })
}

/** What was created or destroyed in the block. What was both counts as destroyed. */
function creatables(open: StateOverlay, state: State): Creatable[] {
  const all: Creatable[] = []
  const creators = assetCreators(open, state)
  for (const [id, asset] of open.assets) {
    if (asset !== undefined && state.asset(id) !== undefined) continue
    all.push({ id, type: 'asset', isCreated: asset !== undefined, creator: creators.get(id)! })
  }
  for (const [id, application] of open.applications) {
    if (application !== undefined && state.application(id) !== undefined) continue
    all.push({ id, type: 'application', isCreated: application !== undefined, creator: open.creatorOf(id)! })
  }
  return all
}

/** A node keeps the last four rounds, and those of the last seconds: in dev mode a client makes many in that time. */
const maxRounds = 100
/** Bounds the memory if blocks are large. */
const maxTransactions = 50_000
const maxBoxBytes = 64 * 1024 * 1024

export class RecentDeltas {
  readonly #deltas = new Map<bigint, StateDelta>()
  #transactions = 0
  #boxBytes = 0

  get size(): number {
    return this.#deltas.size
  }

  get(round: bigint): StateDelta | undefined {
    return this.#deltas.get(round)
  }

  add(round: bigint, delta: StateDelta): void {
    this.#deltas.set(round, delta)
    this.#count(delta, 1)
    for (const [oldest, dropped] of this.#deltas) {
      if (!this.#isFull || oldest === round) break
      this.#deltas.delete(oldest)
      this.#count(dropped, -1)
    }
  }

  get #isFull(): boolean {
    return this.#deltas.size > maxRounds || this.#transactions > maxTransactions || this.#boxBytes > maxBoxBytes
  }

  #count({ transactions, boxes }: StateDelta, sign: 1 | -1): void {
    this.#transactions += sign * transactions.size
    for (const { before, after } of boxes) {
      this.#boxBytes += sign * ((before?.length ?? 0) + (after?.length ?? 0))
    }
  }

  clear(): void {
    this.#deltas.clear()
    this.#transactions = 0
    this.#boxBytes = 0
  }
}
