/** The ledger as it stands after its last block. */
import { type Account, type Asset, type Holding, isNone, none } from './Account.js'
import type { Key } from './Key.js'
import type { HoldingChange, OverlayTarget } from './StateOverlay.js'
import { type Attempt, holdingKey, type Repeated, type Store } from './Store.js'

/** A state at one moment. Records are shared with the state it was taken from. */
export type StateCopy = {
  readonly accounts: ReadonlyMap<Key, Account>
  readonly holdings: ReadonlyMap<string, HeldAsset>
  readonly assets: ReadonlyMap<bigint, Asset>
  readonly transactions: ReadonlyMap<Key, bigint>
  readonly leases: ReadonlyMap<string, bigint>
  readonly transactionCount: bigint
}

export type HeldAsset = { readonly key: Key; readonly assetId: bigint; readonly holding: Holding }

/** What ends with a round: transactions that could not come again any more, and leases. */
type Expiring = { transactions: Key[]; leases: string[] }

export class State implements Store, OverlayTarget {
  #accounts = new Map<Key, Account>()
  #holdings = new Map<string, HeldAsset>()
  #assets = new Map<bigint, Asset>()
  #transactions = new Map<Key, bigint>()
  #leases = new Map<string, bigint>()
  #count: bigint
  // Follow from the above, and are kept so that nothing has to be searched for.
  readonly #heldBy = new Map<Key, Set<bigint>>()
  readonly #createdBy = new Map<Key, Set<bigint>>()
  readonly #expiring = new Map<bigint, Expiring>()

  constructor(transactionCount: bigint) {
    this.#count = transactionCount
  }

  account(key: Key): Account {
    return this.#accounts.get(key) ?? none
  }

  holding(key: Key, assetId: bigint): Holding | undefined {
    return this.#holdings.get(holdingKey(key, assetId))?.holding
  }

  asset(assetId: bigint): Asset | undefined {
    return this.#assets.get(assetId)
  }

  /** Among what is in the ledger, nodes look for the lease first. */
  findRepeated({ digest, lease, round }: Attempt): Repeated | undefined {
    const until = lease === undefined ? undefined : this.#leases.get(lease)
    if (until !== undefined && round <= until) return 'lease'
    return this.#transactions.has(digest) ? 'transaction' : undefined
  }

  transactionCount(): bigint {
    return this.#count
  }

  /** Ids of the assets an account holds, ascending. */
  heldBy(key: Key): bigint[] {
    return ascending(this.#heldBy.get(key))
  }

  createdBy(key: Key): bigint[] {
    return ascending(this.#createdBy.get(key))
  }

  allAccounts(): ReadonlyMap<Key, Account> {
    return this.#accounts
  }

  setAccount(key: Key, account: Account): void {
    if (isNone(account)) this.#accounts.delete(key)
    else this.#accounts.set(key, account)
  }

  setHolding({ key, assetId, holding }: HoldingChange): void {
    if (holding === undefined) {
      this.#holdings.delete(holdingKey(key, assetId))
      removeFrom(this.#heldBy, key, assetId)
    } else {
      this.#holdings.set(holdingKey(key, assetId), { key, assetId, holding })
      addTo(this.#heldBy, key, assetId)
    }
  }

  setAsset(assetId: bigint, asset: Asset | undefined): void {
    const before = this.#assets.get(assetId)
    if (before !== undefined) removeFrom(this.#createdBy, before.creator, assetId)
    if (asset === undefined) this.#assets.delete(assetId)
    else {
      this.#assets.set(assetId, asset)
      addTo(this.#createdBy, asset.creator, assetId)
    }
  }

  setTransaction(digest: Key, lastValid: bigint): void {
    this.#count++
    this.#remember(digest, lastValid)
  }

  setLease(lease: string, until: bigint): void {
    this.#leases.set(lease, until)
    this.#expiringWith(until).leases.push(lease)
  }

  /** Forgets what cannot matter after this round. */
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
      transactions: new Map(this.#transactions),
      leases: new Map(this.#leases),
      transactionCount: this.#count,
    }
  }

  restore(copy: StateCopy): void {
    for (const index of [this.#heldBy, this.#createdBy, this.#expiring]) index.clear()
    this.#accounts = new Map(copy.accounts)
    this.#holdings = new Map()
    for (const held of copy.holdings.values()) this.setHolding(held)
    this.#assets = new Map()
    for (const [assetId, asset] of copy.assets) this.setAsset(assetId, asset)
    this.#transactions = new Map()
    for (const [digest, lastValid] of copy.transactions) this.#remember(digest, lastValid)
    this.#leases = new Map()
    for (const [lease, until] of copy.leases) this.setLease(lease, until)
    this.#count = copy.transactionCount
  }

  #remember(digest: Key, lastValid: bigint): void {
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

function ascending(ids: ReadonlySet<bigint> | undefined): bigint[] {
  return ids === undefined ? [] : [...ids].sort((a, b) => (a < b ? -1 : 1))
}

function addTo(index: Map<Key, Set<bigint>>, key: Key, id: bigint): void {
  const ids = index.get(key)
  if (ids === undefined) index.set(key, new Set([id]))
  else ids.add(id)
}

function removeFrom(index: Map<Key, Set<bigint>>, key: Key, id: bigint): void {
  const ids = index.get(key)
  ids?.delete(id)
  if (ids?.size === 0) index.delete(key)
}
