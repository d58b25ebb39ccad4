/**
 * Changes on top of a state that is not modified until they are committed. A group is evaluated in an overlay on the
 * open block, and the open block is an overlay on the state.
 */
import type { Application, StateSchema, Value } from '@latchkey/avm'
import { type Account, type Asset, type Holding, withApps } from './Account.js'
import type { MapKey } from './MapKey.js'
import { type AppRecord, appAddress, type LocalState, StateValues } from './programs/AppRecords.js'
import { boxKey, type Duplicate, type DuplicateQuery, holdingKey, type StateReader } from './StateReader.js'
import { UndoLog } from './UndoLog.js'

export type HoldingChange = { readonly key: MapKey; readonly assetId: bigint; readonly holding: Holding | undefined }
export type LocalChange = { readonly key: MapKey; readonly appId: bigint; readonly local: LocalState | undefined }
export type BoxChange = { readonly appId: bigint; readonly name: MapKey; readonly value: Uint8Array | undefined }

/** Changes of applications. */
class AppChanges {
  readonly applications = new Map<bigint, AppRecord | undefined>()
  /** The creators of created, updated and deleted applications, which nodes report even if nothing else is left. */
  readonly creators = new Map<bigint, MapKey>()
  readonly locals = new Map<string, LocalChange>()
  readonly boxes = new Map<string, BoxChange>()
}

const noChanges = new AppChanges()

export class StateOverlay implements StateReader {
  readonly #below: StateReader
  /** Accounts whose record was written, in the order of the first write. */
  readonly accounts = new Map<MapKey, Account>()
  readonly holdings = new Map<string, HoldingChange>()
  readonly assets = new Map<bigint, Asset | undefined>()
  /** The last valid round of each transaction, by digest. */
  readonly transactions = new Map<MapKey, bigint>()
  readonly leases = new Map<string, bigint>()
  /** The fees of these transactions, also of those that applications made. The fee sink's own add nothing. */
  feesCollected = 0n
  // Created when they are needed, because payments make two overlays each and need neither.
  #apps: AppChanges | undefined
  #undo: UndoLog | undefined
  #count: bigint

  constructor(below: StateReader) {
    this.#below = below
    this.#count = below.transactionCount()
  }

  get applications(): ReadonlyMap<bigint, AppRecord | undefined> {
    return (this.#apps ?? noChanges).applications
  }

  /** The creator of an application that the changes created, updated or deleted. */
  creatorOf(appId: bigint): MapKey | undefined {
    return this.#apps?.creators.get(appId)
  }

  get locals(): ReadonlyMap<string, LocalChange> {
    return (this.#apps ?? noChanges).locals
  }

  get boxes(): ReadonlyMap<string, BoxChange> {
    return (this.#apps ?? noChanges).boxes
  }

  account(key: MapKey): Account {
    return this.accounts.get(key) ?? this.#below.account(key)
  }

  holding(key: MapKey, assetId: bigint): Holding | undefined {
    const change = this.holdings.get(holdingKey(key, assetId))
    return change === undefined ? this.#below.holding(key, assetId) : change.holding
  }

  asset(assetId: bigint): Asset | undefined {
    return this.assets.has(assetId) ? this.assets.get(assetId) : this.#below.asset(assetId)
  }

  application(appId: bigint): AppRecord | undefined {
    return this.applications.has(appId) ? this.applications.get(appId) : this.#below.application(appId)
  }

  local(key: MapKey, appId: bigint): LocalState | undefined {
    const change = this.locals.get(holdingKey(key, appId))
    return change === undefined ? this.#below.local(key, appId) : change.local
  }

  box(appId: bigint, name: MapKey): Uint8Array | undefined {
    const change = this.boxes.get(boxKey(appId, name))
    return change === undefined ? this.#below.box(appId, name) : change.value
  }

  /** In pending groups, nodes check for the same transaction first and for the lease second. */
  findDuplicate(query: DuplicateQuery): Duplicate | undefined {
    if (this.transactions.has(query.digest)) return 'transaction'
    const until = query.lease === undefined ? undefined : this.leases.get(query.lease)
    if (until !== undefined && query.round <= until) return 'lease'
    return this.#below.findDuplicate(query)
  }

  transactionCount(): bigint {
    return this.#count
  }

  get #ownApps(): AppChanges {
    this.#apps ??= new AppChanges()
    return this.#apps
  }

  get #ownUndo(): UndoLog {
    this.#undo ??= new UndoLog()
    return this.#undo
  }

  #set<K, V>(map: Map<K, V>, key: K, value: V): void {
    if (this.#undo === undefined) map.set(key, value)
    else this.#undo.set(map, key, value)
  }

  putAccount(key: MapKey, account: Account): void {
    this.#set(this.accounts, key, account)
  }

  /** Also updates the number of assets held, on which the minimum balance depends. */
  putHolding(key: MapKey, assetId: bigint, holding: Holding | undefined): void {
    const before = this.holding(key, assetId)
    this.#set(this.holdings, holdingKey(key, assetId), { key, assetId, holding })
    const change = Number(holding !== undefined) - Number(before !== undefined)
    if (change === 0) return
    const account = this.account(key)
    this.putAccount(key, { ...account, assetsHeld: account.assetsHeld + change })
  }

  /** Also updates the number of assets created. */
  putAsset(assetId: bigint, asset: Asset | undefined): void {
    const before = this.asset(assetId)
    this.#set(this.assets, assetId, asset)
    const { creator } = (asset ?? before)!
    // A node has one record of both, and reports records in the order of the first write.
    const holding = this.holding(creator, assetId)
    this.#set(this.holdings, holdingKey(creator, assetId), { key: creator, assetId, holding })
    const change = Number(asset !== undefined) - Number(before !== undefined)
    if (change === 0) return
    const account = this.account(creator)
    this.putAccount(creator, { ...account, assetsCreated: account.assetsCreated + change })
  }

  /** Also updates the totals of the creator and the sponsor. A deleted application loses its global state. */
  putApplication(appId: bigint, params: Application | undefined): void {
    const before = this.application(appId)
    const globals = before?.globals ?? new StateValues(this.#ownUndo.epoch)
    this.#set(this.#ownApps.applications, appId, params && { params: withOwnPrograms(params), globals })
    this.#ownApps.creators.set(appId, (params ?? before!.params).creator)
    // An update that gives no sizes keeps the object, and writes no account.
    if (before !== undefined && before.params.globalSchema === params?.globalSchema) return
    if (before === undefined || params === undefined) {
      const { creator } = (params ?? before?.params)!
      this.#addTotals(creator, { created: params === undefined ? -1 : 1 })
    }
    if (before !== undefined) this.#addSizes(before.params, -1)
    if (params !== undefined) this.#addSizes(params, 1)
  }

  #addSizes({ creator, sizeSponsor, globalSchema, extraPages }: Application, sign: 1 | -1): void {
    const { integers, byteStrings } = globalSchema
    this.#addTotals(sizeSponsor ?? creator, {
      integers: sign * integers,
      byteStrings: sign * byteStrings,
      extraPages: sign * extraPages,
    })
  }

  putGlobal(appId: bigint, key: MapKey, value: Value | undefined): void {
    const { params, globals } = this.application(appId)!
    const { epoch } = this.#ownUndo
    const own = globals.owner === epoch ? globals : new StateValues(epoch, globals)
    own.set(key, ownValue(value))
    if (own !== globals) this.#set(this.#ownApps.applications, appId, { params, globals: own })
  }

  /** Opts an account in, with empty state, or out. Also updates its totals. */
  putLocal(key: MapKey, appId: bigint, schema: StateSchema | undefined): void {
    const before = this.local(key, appId)
    const local = schema && { schema, values: new StateValues(this.#ownUndo.epoch) }
    this.#set(this.#ownApps.locals, holdingKey(key, appId), { key, appId, local })
    if (before !== undefined) this.#addLocal(key, before.schema, -1)
    if (schema !== undefined) this.#addLocal(key, schema, 1)
  }

  #addLocal(key: MapKey, { integers, byteStrings }: StateSchema, sign: 1 | -1): void {
    this.#addTotals(key, { optedIn: sign, integers: sign * integers, byteStrings: sign * byteStrings })
  }

  putLocalValue(key: MapKey, appId: bigint, name: MapKey, value: Value | undefined): void {
    const { schema, values } = this.local(key, appId)!
    const { epoch } = this.#ownUndo
    const own = values.owner === epoch ? values : new StateValues(epoch, values)
    own.set(name, ownValue(value))
    if (own === values) return
    this.#set(this.#ownApps.locals, holdingKey(key, appId), { key, appId, local: { schema, values: own } })
  }

  /** Also updates the totals of the application's account. */
  putBox(appId: bigint, name: MapKey, value: Uint8Array | undefined): void {
    const before = this.box(appId, name)
    this.#set(this.#ownApps.boxes, boxKey(appId, name), { appId, name, value: ownBytes(value) })
    const bytesOf = (box: Uint8Array | undefined): number => (box === undefined ? 0 : name.length + box.length)
    const boxes = Number(value !== undefined) - Number(before !== undefined)
    const boxBytes = bytesOf(value) - bytesOf(before)
    if (boxes !== 0 || boxBytes !== 0) this.#addTotals(appAddress(appId), { boxes, boxBytes })
  }

  #addTotals(key: MapKey, added: Parameters<typeof withApps>[1]): void {
    this.putAccount(key, withApps(this.account(key), added))
  }

  addTransaction(digest: MapKey, lastValid: bigint): void {
    this.transactions.set(digest, lastValid)
    this.#count++
  }

  /** Counts an inner transaction, which has a number but no separate place in the block. */
  addInnerTransaction(): void {
    this.#count++
  }

  addLease(lease: string, until: bigint): void {
    this.leases.set(lease, until)
  }

  /** Returns a position to which later changes can be undone. */
  mark(): number {
    return this.#ownUndo.mark(this.#count)
  }

  /** Undoes all changes since a position. */
  rollback(mark: number): void {
    this.#count = this.#ownUndo.rollback(mark)
  }

  /** Writes all changes to the target. */
  commit(target: OverlayTarget): void {
    for (const [key, account] of this.accounts) target.setAccount(key, account)
    for (const change of this.holdings.values()) target.setHolding(change)
    for (const [assetId, asset] of this.assets) target.setAsset(assetId, asset)
    if (this.#apps !== undefined) {
      const { applications, creators } = this.#apps
      for (const [appId, application] of applications) {
        target.setApplication(appId, application, creators.get(appId))
      }
      for (const change of this.#apps.locals.values()) target.setLocal(change)
      for (const change of this.#apps.boxes.values()) target.setBox(change)
    }
    for (const [digest, lastValid] of this.transactions) target.setTransaction(digest, lastValid)
    for (const [key, until] of this.leases) target.setLease(key, until)
    target.setTransactionCount(this.#count)
  }

  // An overlay that commits into this one has already updated the counts.

  setAccount(key: MapKey, account: Account): void {
    this.accounts.set(key, account)
  }

  setHolding(change: HoldingChange): void {
    this.holdings.set(holdingKey(change.key, change.assetId), change)
  }

  setAsset(assetId: bigint, asset: Asset | undefined): void {
    this.assets.set(assetId, asset)
  }

  setApplication(appId: bigint, application: AppRecord | undefined, creator: MapKey | undefined): void {
    this.#ownApps.applications.set(appId, application)
    if (creator !== undefined) this.#ownApps.creators.set(appId, creator)
  }

  setLocal(change: LocalChange): void {
    this.#ownApps.locals.set(holdingKey(change.key, change.appId), change)
  }

  setBox(change: BoxChange): void {
    this.#ownApps.boxes.set(boxKey(change.appId, change.name), change)
  }

  setTransaction(digest: MapKey, lastValid: bigint): void {
    this.transactions.set(digest, lastValid)
  }

  setLease(lease: string, until: bigint): void {
    this.leases.set(lease, until)
  }

  setTransactionCount(count: bigint): void {
    this.#count = count
  }
}

/** Copies bytes that are part of a larger buffer, which they would keep in memory: that of a request or of a box. */
function ownBytes<T extends Uint8Array | undefined>(bytes: T): T | Uint8Array {
  return bytes === undefined || bytes.buffer.byteLength === bytes.length ? bytes : new Uint8Array(bytes)
}

function ownValue(value: Value | undefined): Value | undefined {
  return typeof value === 'bigint' ? value : ownBytes(value)
}

function withOwnPrograms(application: Application): Application {
  const approvalProgram = ownBytes(application.approvalProgram)
  const clearStateProgram = ownBytes(application.clearStateProgram)
  const isOwn = approvalProgram === application.approvalProgram && clearStateProgram === application.clearStateProgram
  return isOwn ? application : { ...application, approvalProgram, clearStateProgram }
}

/** Receives the changes of an overlay: the state, or the overlay of the open block. */
export type OverlayTarget = Pick<
  StateOverlay,
  | 'setAccount'
  | 'setHolding'
  | 'setAsset'
  | 'setApplication'
  | 'setLocal'
  | 'setBox'
  | 'setTransaction'
  | 'setLease'
  | 'setTransactionCount'
>
