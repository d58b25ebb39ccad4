/**
 * Records when accounts, assets, holdings and applications were created and closed, which the state itself does not
 * contain. Used only for the indexer. Closed records are removed when the block of their closing is dropped from the history.
 */
import type { Submission } from '@latchkey/algorand'
import { AppLifetimes, type AppLifetimesCopy, type Lifetime, type RecordedChange } from './AppLifetimes.js'
import type * as Block from './Block.js'
import * as MapKey from './MapKey.js'
import * as Delta from './programs/Delta.js'
import { SortedList } from './SortedList.js'
import type { State } from './State.js'
import { holdingKey } from './StateReader.js'

export type { Lifetime, RecordedChange } from './AppLifetimes.js'

export type SignatureType = 'sig' | 'msig' | 'lsig'

/** `signature` is that of the account's last transaction, unless it rekeyed. */
export type AccountLifetime = Lifetime & { readonly signature?: SignatureType | undefined }
export type AssetLifetime = Lifetime & { readonly creator: MapKey.MapKey }
/** `frozen` is the state before it was closed. */
export type HoldingLifetime = Lifetime & {
  readonly key: MapKey.MapKey
  readonly assetId: bigint
  readonly frozen: boolean
}

export type LifetimesCopy = {
  readonly accounts: ReadonlyMap<MapKey.MapKey, AccountLifetime>
  readonly assets: ReadonlyMap<bigint, AssetLifetime>
  readonly holdings: ReadonlyMap<string, HoldingLifetime>
  /** Absent if it was written before there were applications. */
  readonly apps?: AppLifetimesCopy | undefined
}

type Closing =
  | { readonly round: bigint; readonly account: MapKey.MapKey }
  | { readonly round: bigint; readonly assetId: bigint }
  | { readonly round: bigint; readonly holding: string }

const none: ReadonlySet<bigint> = new Set()

export class Lifetimes {
  readonly accounts = new Map<MapKey.MapKey, AccountLifetime>()
  readonly assets = new Map<bigint, AssetLifetime>()
  readonly apps = new AppLifetimes()
  readonly #holdings = new Map<string, HoldingLifetime>()
  /** All accounts, including closed ones. */
  accountOrder = new SortedList<MapKey.MapKey>()
  assetOrder = new SortedList<bigint>()
  readonly #holders = new Map<bigint, SortedList<MapKey.MapKey>>()
  readonly #closedHoldings = new Map<MapKey.MapKey, Set<bigint>>()
  readonly #destroyedBy = new Map<MapKey.MapKey, Set<bigint>>()
  /** In the order of their rounds. */
  #closings: Closing[] = []

  holding(key: MapKey.MapKey, assetId: bigint): HoldingLifetime | undefined {
    return this.#holdings.get(holdingKey(key, assetId))
  }

  /** All current and former holders of the asset. */
  holders(assetId: bigint): SortedList<MapKey.MapKey> | undefined {
    return this.#holders.get(assetId)
  }

  /** Returns the ids of the assets that the account formerly held or created. */
  closedHoldings(key: MapKey.MapKey): ReadonlySet<bigint> {
    return this.#closedHoldings.get(key) ?? none
  }

  destroyedBy(key: MapKey.MapKey): ReadonlySet<bigint> {
    return this.#destroyedBy.get(key) ?? none
  }

  record(change: RecordedChange): void {
    this.#recordAccounts(change)
    this.#recordAssets(change)
    this.#recordHoldings(change)
    this.apps.record(change)
  }

  #recordAccounts({ changes, state, round, applied = [] }: RecordedChange): void {
    const signatures = new Map(applied.map(({ transaction }) => [transaction.sender, signatureOf(transaction.signed)]))
    for (const [key, { microAlgos }] of changes.accounts) {
      const before = this.accounts.get(key)
      const signature = signatures.has(key) ? signatures.get(key) : before?.signature
      // A payment of zero creates no account. Applications close accounts without a signature.
      const isClosed = microAlgos === 0n && (signatures.has(key) || state.account(key).microAlgos > 0n)
      if (microAlgos === 0n && !isClosed) continue
      if (before !== undefined && !isClosed && before.signature === signature) continue
      const created = before === undefined ? round : before.created
      this.#setAccount(key, { created, closed: isClosed ? round : before?.closed, signature })
      if (isClosed) this.#closings.push({ round, account: key })
    }
  }

  #recordAssets({ changes, state, round, applied = [] }: RecordedChange): void {
    for (const [assetId, asset] of changes.assets) {
      const before = this.assets.get(assetId)
      const creator = (asset ?? state.asset(assetId))?.creator ?? before?.creator ?? creatorOf(assetId, applied)
      const created = before === undefined ? round : before.created
      if (asset === undefined) {
        this.#setAsset(assetId, { creator, created, closed: round })
        MapKey.addId(this.#destroyedBy, creator, assetId)
        this.#closings.push({ round, assetId })
      } else if (before === undefined) this.#setAsset(assetId, { creator, created })
    }
  }

  #recordHoldings({ changes, state, round }: RecordedChange): void {
    for (const [id, { key, assetId, holding }] of changes.holdings) {
      const before = this.#holdings.get(id)
      const created = before === undefined ? round : before.created
      if (holding === undefined) {
        const frozen = state.holding(key, assetId)?.frozen ?? before?.frozen ?? false
        this.#setHolding(id, { key, assetId, created, closed: round, frozen })
        MapKey.addId(this.#closedHoldings, key, assetId)
        this.#closings.push({ round, holding: id })
      } else {
        MapKey.removeId(this.#closedHoldings, key, assetId)
        if (before === undefined) this.#setHolding(id, { key, assetId, created, frozen: false })
      }
    }
  }

  /** Removes records that were closed before the round and are closed in this state. */
  forgetBefore(round: bigint, state: State): void {
    let count = 0
    while (count < this.#closings.length && this.#closings[count]!.round < round) {
      this.#forget(this.#closings[count]!, state)
      count++
    }
    if (count > 0) this.#closings.splice(0, count)
    this.apps.forgetBefore(round, state)
  }

  #forget(closing: Closing, state: State): void {
    if ('account' in closing) {
      const isOpen = state.account(closing.account).microAlgos > 0n
      if (isOpen || this.accounts.get(closing.account)?.closed !== closing.round) return
      this.accounts.delete(closing.account)
      this.accountOrder.delete(closing.account)
    } else if ('assetId' in closing) {
      const asset = this.assets.get(closing.assetId)
      if (asset === undefined || state.asset(closing.assetId) !== undefined) return
      this.assets.delete(closing.assetId)
      this.assetOrder.delete(closing.assetId)
      MapKey.removeId(this.#destroyedBy, asset.creator, closing.assetId)
    } else this.#forgetHolding(closing.holding, closing.round, state)
  }

  #forgetHolding(id: string, round: bigint, state: State): void {
    const lifetime = this.#holdings.get(id)
    if (lifetime?.closed !== round || state.holding(lifetime.key, lifetime.assetId) !== undefined) return
    const { key, assetId } = lifetime
    this.#holdings.delete(id)
    MapKey.removeId(this.#closedHoldings, key, assetId)
    const holders = this.#holders.get(assetId)
    holders?.delete(key)
    if (holders?.size === 0) this.#holders.delete(assetId)
  }

  /** The copy shares the records, which never change. */
  copy(): LifetimesCopy {
    return {
      accounts: new Map(this.accounts),
      assets: new Map(this.assets),
      holdings: new Map(this.#holdings),
      apps: this.apps.copy(),
    }
  }

  /** `copy` may be absent or lack records of the state, whose creation rounds are then unknown. */
  restore(copy: LifetimesCopy | undefined, state: State): void {
    this.#clear()
    for (const [key, lifetime] of copy?.accounts ?? []) this.#setAccount(key, lifetime)
    for (const [assetId, lifetime] of copy?.assets ?? []) this.#setAsset(assetId, lifetime)
    for (const [id, lifetime] of copy?.holdings ?? []) this.#setHolding(id, lifetime)
    this.#addUnknown(state)
    this.#findClosed(state)
    this.apps.restore(copy?.apps, state)
  }

  #clear(): void {
    this.accountOrder = new SortedList()
    this.assetOrder = new SortedList()
    for (const map of [this.accounts, this.assets, this.#holdings, this.#holders]) map.clear()
    this.#closedHoldings.clear()
    this.#destroyedBy.clear()
  }

  #addUnknown(state: State): void {
    for (const key of state.allAccounts().keys()) {
      if (!this.accounts.has(key)) this.#setAccount(key, { created: undefined })
      for (const assetId of state.createdBy(key)) {
        if (!this.assets.has(assetId)) this.#setAsset(assetId, { creator: key, created: undefined })
      }
      for (const assetId of state.heldBy(key)) {
        const id = holdingKey(key, assetId)
        if (!this.#holdings.has(id)) this.#setHolding(id, { key, assetId, created: undefined, frozen: false })
      }
    }
  }

  #findClosed(state: State): void {
    const closings: Closing[] = []
    for (const [account, { closed }] of this.accounts) {
      if (closed !== undefined) closings.push({ round: closed, account })
    }
    for (const [assetId, { closed, creator }] of this.assets) {
      if (closed === undefined) continue
      closings.push({ round: closed, assetId })
      if (state.asset(assetId) === undefined) MapKey.addId(this.#destroyedBy, creator, assetId)
    }
    for (const [holding, { closed, key, assetId }] of this.#holdings) {
      if (closed === undefined) continue
      closings.push({ round: closed, holding })
      if (state.holding(key, assetId) === undefined) MapKey.addId(this.#closedHoldings, key, assetId)
    }
    this.#closings = closings.sort((a, b) => (a.round < b.round ? -1 : a.round > b.round ? 1 : 0))
  }

  #setAccount(key: MapKey.MapKey, lifetime: AccountLifetime): void {
    if (!this.accounts.has(key)) this.accountOrder.add(key)
    this.accounts.set(key, lifetime)
  }

  #setAsset(assetId: bigint, lifetime: AssetLifetime): void {
    if (!this.assets.has(assetId)) this.assetOrder.add(assetId)
    this.assets.set(assetId, lifetime)
  }

  #setHolding(id: string, lifetime: HoldingLifetime): void {
    if (!this.#holdings.has(id)) {
      const holders = this.#holders.get(lifetime.assetId) ?? new SortedList<MapKey.MapKey>()
      holders.add(lifetime.key)
      this.#holders.set(lifetime.assetId, holders)
    }
    this.#holdings.set(id, lifetime)
  }
}

/** After a rekeying, the signature type of the next transaction is unknown. */
function signatureOf({ sig, msig, lsig, txn }: Submission.Submitted): SignatureType | undefined {
  if (txn.rekey !== undefined) return undefined
  if (sig !== undefined || lsig?.sig !== undefined) return 'sig'
  if (msig !== undefined || lsig?.msig !== undefined || lsig?.lmsig !== undefined) return 'msig'
  return lsig === undefined ? undefined : 'lsig'
}

/** For an asset that was created and destroyed in the same block, perhaps by an application. */
function creatorOf(assetId: bigint, applied: readonly Block.Applied[]): MapKey.MapKey {
  for (const { transaction, outcome } of applied) {
    if (outcome.createdAssetId === assetId) return transaction.sender
    for (const { txn, effects } of Delta.innersOf(outcome.delta)) {
      if (effects.createdAssetId === assetId) return MapKey.of(txn.snd)
    }
  }
  return MapKey.zero
}
