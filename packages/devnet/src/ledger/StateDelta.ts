/** The changes of the last blocks, which nodes report for a few rounds. */
import type { Account, Asset, Holding } from './Account.js'
import type { MapKey } from './MapKey.js'
import type { AppRecord, LocalState } from './programs/AppRecords.js'
import type { State, Totals } from './State.js'
import type { StateOverlay } from './StateOverlay.js'

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
    appResources: appResources(open, state),
    boxes: boxMods(open, state),
    creatables: creatables(open, state),
    transactions: open.transactions,
    leases: open.leases,
  }
}

function assetRecords(open: StateOverlay, state: State): AssetRecord[] {
  const records = new Map<string, AssetRecord>()
  // An asset that was created and destroyed in the block had one account.
  const creatorOf = (assetId: bigint, account: MapKey): MapKey => state.asset(assetId)?.creator ?? account
  const add = (account: MapKey, assetId: bigint): void => {
    const name = account + assetId
    if (records.has(name)) return
    const holding = open.holding(account, assetId)
    const asset = open.asset(assetId)
    const isOwn = asset?.creator === account
    records.set(name, {
      account,
      assetId,
      holding,
      isHoldingDeleted: holding === undefined,
      asset: isOwn ? asset : undefined,
      isAssetDeleted: asset === undefined && open.assets.has(assetId) && creatorOf(assetId, account) === account,
    })
  }
  for (const [assetId, asset] of open.assets) if (asset !== undefined) add(asset.creator, assetId)
  for (const { key, assetId } of open.holdings.values()) add(key, assetId)
  return [...records.values()]
}

function appResources(open: StateOverlay, state: State): AppResource[] {
  if (open.applications.size === 0 && open.locals.size === 0) return []
  const records = new Map<string, AppResource>()
  const add = (account: MapKey, appId: bigint): void => {
    const name = account + appId
    if (records.has(name)) return
    const application = open.application(appId)
    const local = open.local(account, appId)
    records.set(name, {
      account,
      appId,
      application: application?.params.creator === account ? application : undefined,
      isApplicationDeleted: application === undefined && state.application(appId)?.params.creator === account,
      local,
      isLocalDeleted: local === undefined && state.local(account, appId) !== undefined,
    })
  }
  for (const [appId, application] of open.applications) {
    const { params } = application ?? state.application(appId) ?? {}
    if (params !== undefined) add(params.creator, appId)
  }
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

function creatables(open: StateOverlay, state: State): Creatable[] {
  const all: Creatable[] = []
  const add = (type: Creatable['type'], id: bigint, before: MapKey | undefined, after: MapKey | undefined): void => {
    const creator = after ?? before
    if (creator === undefined || (before === undefined) === (after === undefined)) return
    all.push({ id, type, isCreated: after !== undefined, creator })
  }
  for (const [id, asset] of open.assets) add('asset', id, state.asset(id)?.creator, asset?.creator)
  for (const [id, application] of open.applications) {
    add('application', id, state.application(id)?.params.creator, application?.params.creator)
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
