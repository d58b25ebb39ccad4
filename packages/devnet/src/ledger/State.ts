/** The state after the last block. */
import { type Account, type Asset, type Holding, isNone, none, type Status } from './Account.js'
import * as Consensus from './Consensus.js'
import { addId, type MapKey, removeId } from './MapKey.js'
import type { AppRecord, LocalState } from './programs/AppRecords.js'
import type { BoxChange, HoldingChange, LocalChange, OverlayTarget } from './StateOverlay.js'
import { type Duplicate, type DuplicateQuery, holdingKey, type StateReader } from './StateReader.js'

/** A copy of the state, which shares its records. */
export type StateCopy = {
  readonly accounts: ReadonlyMap<MapKey, Account>
  readonly holdings: ReadonlyMap<string, HeldAsset>
  readonly assets: ReadonlyMap<bigint, Asset>
  readonly applications: ReadonlyMap<bigint, AppRecord>
  readonly locals: ReadonlyMap<string, HeldLocal>
  readonly boxes: ReadonlyMap<bigint, ReadonlyMap<MapKey, Uint8Array>>
  readonly transactions: ReadonlyMap<MapKey, bigint>
  readonly leases: ReadonlyMap<string, bigint>
  readonly transactionCount: bigint
}

export type HeldAsset = { readonly key: MapKey; readonly assetId: bigint; readonly holding: Holding }

export type HeldLocal = { readonly key: MapKey; readonly appId: bigint; readonly local: LocalState }

/** The Algos of accounts with one status. `rewardUnits` counts whole Algos, account by account. */
export type Total = { readonly microAlgos: bigint; readonly rewardUnits: bigint }
/** The Algos of all accounts by their status. */
export type Totals = { readonly [status in Status]: Total }

/** The transactions and leases that expire with a round. */
type Expiring = { transactions: MapKey[]; leases: string[] }

export class State implements StateReader, OverlayTarget {
  #accounts = new Map<MapKey, Account>()
  #holdings = new Map<string, HeldAsset>()
  #assets = new Map<bigint, Asset>()
  #applications = new Map<bigint, AppRecord>()
  #locals = new Map<string, HeldLocal>()
  /** By application, then by name. */
  #boxes = new Map<bigint, Map<MapKey, Uint8Array>>()
  #transactions = new Map<MapKey, bigint>()
  #leases = new Map<string, bigint>()
  #count: bigint
  #totals = noTotals
  // Indexes of the above.
  readonly #online = new Set<MapKey>()
  readonly #heldBy = new Map<MapKey, Set<bigint>>()
  readonly #createdBy = new Map<MapKey, Set<bigint>>()
  readonly #appsCreatedBy = new Map<MapKey, Set<bigint>>()
  readonly #appsOptedInBy = new Map<MapKey, Set<bigint>>()
  readonly #expiring = new Map<bigint, Expiring>()

  constructor(transactionCount: bigint) {
    this.#count = transactionCount
  }

  account(key: MapKey): Account {
    return this.#accounts.get(key) ?? none
  }

  holding(key: MapKey, assetId: bigint): Holding | undefined {
    return this.#holdings.get(holdingKey(key, assetId))?.holding
  }

  asset(assetId: bigint): Asset | undefined {
    return this.#assets.get(assetId)
  }

  application(appId: bigint): AppRecord | undefined {
    return this.#applications.get(appId)
  }

  local(key: MapKey, appId: bigint): LocalState | undefined {
    return this.#locals.get(holdingKey(key, appId))?.local
  }

  box(appId: bigint, name: MapKey): Uint8Array | undefined {
    return this.#boxes.get(appId)?.get(name)
  }

  /** The boxes of an application by name. */
  boxesOf(appId: bigint): ReadonlyMap<MapKey, Uint8Array> {
    return this.#boxes.get(appId) ?? noBoxes
  }

  allApplications(): ReadonlyMap<bigint, AppRecord> {
    return this.#applications
  }

  /** On the ledger, nodes check for the lease first. */
  findDuplicate({ digest, lease, round }: DuplicateQuery): Duplicate | undefined {
    const until = lease === undefined ? undefined : this.#leases.get(lease)
    if (until !== undefined && round <= until) return 'lease'
    return this.#transactions.has(digest) ? 'transaction' : undefined
  }

  transactionCount(): bigint {
    return this.#count
  }

  /** Ids of the assets an account holds, ascending. */
  heldBy(key: MapKey): bigint[] {
    return ascending(this.#heldBy.get(key))
  }

  createdBy(key: MapKey): bigint[] {
    return ascending(this.#createdBy.get(key))
  }

  appsCreatedBy(key: MapKey): bigint[] {
    return ascending(this.#appsCreatedBy.get(key))
  }

  appsOptedInBy(key: MapKey): bigint[] {
    return ascending(this.#appsOptedInBy.get(key))
  }

  allAccounts(): ReadonlyMap<MapKey, Account> {
    return this.#accounts
  }

  /** The accounts that are online. */
  *onlineAccounts(): Generator<readonly [MapKey, Account]> {
    for (const key of this.#online) yield [key, this.account(key)]
  }

  #indexOnline(key: MapKey, { status }: Account): void {
    if (status === 'Online') this.#online.add(key)
    else this.#online.delete(key)
  }

  /** The Algos of all accounts. */
  get totals(): Totals {
    return this.#totals
  }

  setAccount(key: MapKey, account: Account): void {
    this.#totals = totalsAfter(this.#totals, this.account(key), account)
    this.#indexOnline(key, account)
    if (isNone(account)) this.#accounts.delete(key)
    else this.#accounts.set(key, account)
  }

  setHolding({ key, assetId, holding }: HoldingChange): void {
    if (holding === undefined) {
      this.#holdings.delete(holdingKey(key, assetId))
      removeId(this.#heldBy, key, assetId)
    } else {
      this.#holdings.set(holdingKey(key, assetId), { key, assetId, holding })
      addId(this.#heldBy, key, assetId)
    }
  }

  setAsset(assetId: bigint, asset: Asset | undefined): void {
    const before = this.#assets.get(assetId)
    if (before !== undefined) removeId(this.#createdBy, before.creator, assetId)
    if (asset === undefined) this.#assets.delete(assetId)
    else {
      this.#assets.set(assetId, asset)
      addId(this.#createdBy, asset.creator, assetId)
    }
  }

  setApplication(appId: bigint, application: AppRecord | undefined): void {
    const before = this.#applications.get(appId)
    if (before !== undefined) removeId(this.#appsCreatedBy, before.params.creator, appId)
    if (application === undefined) this.#applications.delete(appId)
    else {
      this.#applications.set(appId, application)
      addId(this.#appsCreatedBy, application.params.creator, appId)
    }
  }

  setLocal({ key, appId, local }: LocalChange): void {
    if (local === undefined) {
      this.#locals.delete(holdingKey(key, appId))
      removeId(this.#appsOptedInBy, key, appId)
    } else {
      this.#locals.set(holdingKey(key, appId), { key, appId, local })
      addId(this.#appsOptedInBy, key, appId)
    }
  }

  /** Boxes survive the deletion of their application. */
  setBox({ appId, name, value }: BoxChange): void {
    const boxes = this.#boxes.get(appId) ?? new Map<MapKey, Uint8Array>()
    if (value === undefined) boxes.delete(name)
    else boxes.set(name, value)
    if (boxes.size === 0) this.#boxes.delete(appId)
    else this.#boxes.set(appId, boxes)
  }

  setTransaction(digest: MapKey, lastValid: bigint): void {
    this.#addTransaction(digest, lastValid)
  }

  /** Applications add to the number of transactions with those that they make. */
  setTransactionCount(count: bigint): void {
    this.#count = count
  }

  setLease(lease: string, until: bigint): void {
    this.#leases.set(lease, until)
    this.#expiringWith(until).leases.push(lease)
  }

  /** Deletes everything that expires with this round. */
  endRound(round: bigint): void {
    const expiring = this.#expiring.get(round)
    if (expiring === undefined) return
    this.#expiring.delete(round)
    for (const digest of expiring.transactions) this.#transactions.delete(digest)
    // The same lease may have been taken again for longer.
    for (const lease of expiring.leases) if (this.#leases.get(lease) === round) this.#leases.delete(lease)
  }

  copy(): StateCopy {
    return {
      accounts: new Map(this.#accounts),
      holdings: new Map(this.#holdings),
      assets: new Map(this.#assets),
      applications: new Map(this.#applications),
      locals: new Map(this.#locals),
      boxes: new Map([...this.#boxes].map(([appId, boxes]) => [appId, new Map(boxes)])),
      transactions: new Map(this.#transactions),
      leases: new Map(this.#leases),
      transactionCount: this.#count,
    }
  }

  restore(copy: StateCopy): void {
    for (const index of [this.#heldBy, this.#createdBy, this.#appsCreatedBy, this.#appsOptedInBy]) index.clear()
    this.#expiring.clear()
    this.#accounts = new Map(copy.accounts)
    this.#totals = totalsOf(this.#accounts.values())
    this.#online.clear()
    for (const [key, account] of this.#accounts) this.#indexOnline(key, account)
    this.#holdings = new Map()
    for (const held of copy.holdings.values()) this.setHolding(held)
    this.#assets = new Map()
    for (const [assetId, asset] of copy.assets) this.setAsset(assetId, asset)
    this.#applications = new Map()
    for (const [appId, application] of copy.applications) this.setApplication(appId, application)
    this.#locals = new Map()
    for (const held of copy.locals.values()) this.setLocal(held)
    this.#boxes = new Map([...copy.boxes].map(([appId, boxes]) => [appId, new Map(boxes)]))
    this.#transactions = new Map()
    for (const [digest, lastValid] of copy.transactions) this.#addTransaction(digest, lastValid)
    this.#leases = new Map()
    for (const [lease, until] of copy.leases) this.setLease(lease, until)
    this.#count = copy.transactionCount
  }

  #addTransaction(digest: MapKey, lastValid: bigint): void {
    this.#transactions.set(digest, lastValid)
    this.#expiringWith(lastValid).transactions.push(digest)
  }

  #expiringWith(round: bigint): Expiring {
    let expiring = this.#expiring.get(round)
    if (expiring === undefined) {
      expiring = { transactions: [], leases: [] }
      this.#expiring.set(round, expiring)
    }
    return expiring
  }
}

const noBoxes: ReadonlyMap<MapKey, Uint8Array> = new Map()

function ascending(ids: ReadonlySet<bigint> | undefined): bigint[] {
  return ids === undefined ? [] : [...ids].sort((a, b) => (a < b ? -1 : 1))
}

const rewardUnitMicroAlgos = 1_000_000n

const noTotals: Totals = {
  Offline: { microAlgos: 0n, rewardUnits: 0n },
  Online: { microAlgos: 0n, rewardUnits: 0n },
  'Not Participating': { microAlgos: 0n, rewardUnits: 0n },
}

/** The totals of accounts. */
export function totalsOf(accounts: Iterable<Account>): Totals {
  const sums: { [status in Status]: Total } = { ...noTotals }
  for (const { status, microAlgos } of accounts) {
    const sum = sums[status]
    sums[status] = {
      microAlgos: sum.microAlgos + microAlgos,
      rewardUnits: sum.rewardUnits + microAlgos / rewardUnitMicroAlgos,
    }
  }
  return sums
}

/** The totals after an account changed. */
function totalsAfter(totals: Totals, before: Account, after: Account): Totals {
  const minus = totals[before.status]
  const without: Totals = {
    ...totals,
    [before.status]: {
      microAlgos: minus.microAlgos - before.microAlgos,
      rewardUnits: minus.rewardUnits - before.microAlgos / rewardUnitMicroAlgos,
    },
  }
  const plus = without[after.status]
  return {
    ...without,
    [after.status]: {
      microAlgos: plus.microAlgos + after.microAlgos,
      rewardUnits: plus.rewardUnits + after.microAlgos / rewardUnitMicroAlgos,
    },
  }
}

/** The Algos of the accounts that were online after each of the last rounds: agreement looks back 320 rounds. */
export class OnlineStake {
  readonly #byRound = new Map<bigint, bigint>()

  record(round: bigint, microAlgos: bigint): void {
    this.#byRound.set(round, microAlgos)
    this.#byRound.delete(round - Consensus.balanceLookbackRounds - 1n)
  }

  /** Restarts from a state without its history: its online stake is used for all earlier rounds. */
  restart(round: bigint, microAlgos: bigint): void {
    this.#byRound.clear()
    this.record(round, microAlgos)
  }

  /** Returns the stake that counts for agreement in a round. */
  countedIn(round: bigint): bigint {
    const lookback = round > Consensus.balanceLookbackRounds ? round - Consensus.balanceLookbackRounds : 0n
    const [earliest] = this.#byRound.values()
    return this.#byRound.get(lookback) ?? earliest ?? 0n
  }
}
