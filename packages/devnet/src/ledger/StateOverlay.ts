/**
 * Changes on top of a state that is not modified until they are committed. A group is evaluated in an overlay on the
 * open block, and the open block is an overlay on the state.
 */
import type { Account, Asset, Holding } from './Account.js'
import type { MapKey } from './MapKey.js'
import { type Duplicate, type DuplicateQuery, holdingKey, type StateReader } from './StateReader.js'

export type HoldingChange = { readonly key: MapKey; readonly assetId: bigint; readonly holding: Holding | undefined }

export class StateOverlay implements StateReader {
  readonly #below: StateReader
  /** Accounts whose record was written, in the order of the first write. */
  readonly accounts = new Map<MapKey, Account>()
  readonly holdings = new Map<string, HoldingChange>()
  readonly assets = new Map<bigint, Asset | undefined>()
  /** The last valid round of each transaction, by digest. */
  readonly transactions = new Map<MapKey, bigint>()
  readonly leases = new Map<string, bigint>()
  #count: bigint

  constructor(below: StateReader) {
    this.#below = below
    this.#count = below.transactionCount()
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

  putAccount(key: MapKey, account: Account): void {
    this.accounts.set(key, account)
  }

  /** Also updates the number of assets held, on which the minimum balance depends. */
  putHolding(key: MapKey, assetId: bigint, holding: Holding | undefined): void {
    const before = this.holding(key, assetId)
    this.holdings.set(holdingKey(key, assetId), { key, assetId, holding })
    const change = Number(holding !== undefined) - Number(before !== undefined)
    if (change === 0) return
    const account = this.account(key)
    this.putAccount(key, { ...account, assetsHeld: account.assetsHeld + change })
  }

  /** Also updates the number of assets created. */
  putAsset(assetId: bigint, asset: Asset | undefined): void {
    const before = this.asset(assetId)
    this.assets.set(assetId, asset)
    const change = Number(asset !== undefined) - Number(before !== undefined)
    if (change === 0) return
    const { creator } = (asset ?? before)!
    const account = this.account(creator)
    this.putAccount(creator, { ...account, assetsCreated: account.assetsCreated + change })
  }

  addTransaction(digest: MapKey, lastValid: bigint): void {
    this.transactions.set(digest, lastValid)
    this.#count++
  }

  addLease(lease: string, until: bigint): void {
    this.leases.set(lease, until)
  }

  /** Writes all changes to the target. */
  commit(target: OverlayTarget): void {
    for (const [key, account] of this.accounts) target.setAccount(key, account)
    for (const change of this.holdings.values()) target.setHolding(change)
    for (const [assetId, asset] of this.assets) target.setAsset(assetId, asset)
    for (const [digest, lastValid] of this.transactions) target.setTransaction(digest, lastValid)
    for (const [key, until] of this.leases) target.setLease(key, until)
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

  setTransaction(digest: MapKey, lastValid: bigint): void {
    this.addTransaction(digest, lastValid)
  }

  setLease(lease: string, until: bigint): void {
    this.leases.set(lease, until)
  }
}

/** Receives the changes of an overlay: the state, or the overlay of the open block. */
export type OverlayTarget = Pick<StateOverlay, 'setAccount' | 'setHolding' | 'setAsset' | 'setTransaction' | 'setLease'>
