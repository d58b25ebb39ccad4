/**
 * Changes on top of a store that is not touched until they are committed. A group is evaluated in a layer on top of the
 * block it may become part of, and that block is a layer on top of the state.
 */
import type { Account, Asset, Holding } from './Account.js'
import type { Key } from './Key.js'
import { type Attempt, holdingKey, type Repeated, type Store } from './Store.js'

export type HoldingChange = { readonly key: Key; readonly assetId: bigint; readonly holding: Holding | undefined }

export class StateOverlay implements Store {
  readonly #below: Store
  /** Accounts whose own record was written; in the order in which that happened first. */
  readonly accounts = new Map<Key, Account>()
  readonly holdings = new Map<string, HoldingChange>()
  readonly assets = new Map<bigint, Asset | undefined>()
  /** Digests of transactions and the last round each is valid in. */
  readonly transactions = new Map<Key, bigint>()
  readonly leases = new Map<string, bigint>()
  #count: bigint

  constructor(below: Store) {
    this.#below = below
    this.#count = below.transactionCount()
  }

  account(key: Key): Account {
    return this.accounts.get(key) ?? this.#below.account(key)
  }

  holding(key: Key, assetId: bigint): Holding | undefined {
    const change = this.holdings.get(holdingKey(key, assetId))
    return change === undefined ? this.#below.holding(key, assetId) : change.holding
  }

  asset(assetId: bigint): Asset | undefined {
    return this.assets.has(assetId) ? this.assets.get(assetId) : this.#below.asset(assetId)
  }

  /** Among groups that are not in the ledger yet, nodes look for the transaction first and for the lease second. */
  findRepeated(attempt: Attempt): Repeated | undefined {
    if (this.transactions.has(attempt.digest)) return 'transaction'
    const until = attempt.lease === undefined ? undefined : this.leases.get(attempt.lease)
    if (until !== undefined && attempt.round <= until) return 'lease'
    return this.#below.findRepeated(attempt)
  }

  transactionCount(): bigint {
    return this.#count
  }

  putAccount(key: Key, account: Account): void {
    this.accounts.set(key, account)
  }

  /** Keeps the number of assets held, which the minimum balance rests on, in step. */
  putHolding(key: Key, assetId: bigint, holding: Holding | undefined): void {
    const before = this.holding(key, assetId)
    this.holdings.set(holdingKey(key, assetId), { key, assetId, holding })
    const change = Number(holding !== undefined) - Number(before !== undefined)
    if (change === 0) return
    const account = this.account(key)
    this.putAccount(key, { ...account, assetsHeld: account.assetsHeld + change })
  }

  /** Keeps the number of assets created in step. */
  putAsset(assetId: bigint, asset: Asset | undefined): void {
    const before = this.asset(assetId)
    this.assets.set(assetId, asset)
    const change = Number(asset !== undefined) - Number(before !== undefined)
    if (change === 0) return
    const { creator } = (asset ?? before)!
    const account = this.account(creator)
    this.putAccount(creator, { ...account, assetsCreated: account.assetsCreated + change })
  }

  addTransaction(digest: Key, lastValid: bigint): void {
    this.transactions.set(digest, lastValid)
    this.#count++
  }

  addLease(lease: string, until: bigint): void {
    this.leases.set(lease, until)
  }

  /** Everything written here, written there. */
  commit(target: OverlayTarget): void {
    for (const [key, account] of this.accounts) target.setAccount(key, account)
    for (const change of this.holdings.values()) target.setHolding(change)
    for (const [assetId, asset] of this.assets) target.setAsset(assetId, asset)
    for (const [digest, lastValid] of this.transactions) target.setTransaction(digest, lastValid)
    for (const [key, until] of this.leases) target.setLease(key, until)
  }

  // What a layer above commits has its counts settled already.

  setAccount(key: Key, account: Account): void {
    this.accounts.set(key, account)
  }

  setHolding(change: HoldingChange): void {
    this.holdings.set(holdingKey(change.key, change.assetId), change)
  }

  setAsset(assetId: bigint, asset: Asset | undefined): void {
    this.assets.set(assetId, asset)
  }

  setTransaction(digest: Key, lastValid: bigint): void {
    this.addTransaction(digest, lastValid)
  }

  setLease(lease: string, until: bigint): void {
    this.leases.set(lease, until)
  }
}

/** Where a layer's changes go: the state, or the layer of the block. */
export type OverlayTarget = Pick<StateOverlay, 'setAccount' | 'setHolding' | 'setAsset' | 'setTransaction' | 'setLease'>
