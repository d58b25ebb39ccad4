/** The changes of the last blocks, which nodes report for a few rounds. */
import type { Account, Asset, Holding } from './Account.js'
import type { MapKey } from './MapKey.js'
import type { State } from './State.js'
import type { StateOverlay } from './StateOverlay.js'
import type { Totals } from './Totals.js'

/** A written holding or asset of an account. Both are present if the account has both. */
export type AssetRecord = {
  readonly account: MapKey
  readonly assetId: bigint
  readonly holding: Holding | undefined
  readonly isHoldingDeleted: boolean
  readonly asset: Asset | undefined
  readonly isAssetDeleted: boolean
}

export type StateDelta = {
  /** The state after the block, in the order of the first write. */
  readonly accounts: ReadonlyMap<MapKey, Account>
  readonly assetRecords: readonly AssetRecord[]
  /** The created and destroyed assets, with their creators. */
  readonly creatables: readonly { readonly assetId: bigint; readonly isCreated: boolean; readonly creator: MapKey }[]
  /** The last valid round of each transaction, in the order of the block. */
  readonly transactions: ReadonlyMap<MapKey, bigint>
  readonly leases: ReadonlyMap<string, bigint>
  readonly previousTimestamp: bigint
  /** After the block. */
  readonly totals: Totals
}

/** The changes of an open block before they are committed to the state. */
export function changesOf(open: StateOverlay, state: State): Omit<StateDelta, 'totals' | 'previousTimestamp'> {
  return {
    accounts: open.accounts,
    assetRecords: assetRecords(open),
    creatables: creatables(open, state),
    transactions: open.transactions,
    leases: open.leases,
  }
}

function assetRecords(open: StateOverlay): AssetRecord[] {
  const records = new Map<string, AssetRecord>()
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
      isAssetDeleted: asset === undefined && open.assets.has(assetId),
    })
  }
  for (const [assetId, asset] of open.assets) if (asset !== undefined) add(asset.creator, assetId)
  for (const { key, assetId } of open.holdings.values()) add(key, assetId)
  return [...records.values()]
}

function creatables(open: StateOverlay, state: State): StateDelta['creatables'] {
  return [...open.assets].flatMap(([assetId, after]) => {
    const before = state.asset(assetId)
    const isCreated = after !== undefined
    const { creator } = after ?? before ?? {}
    return creator === undefined || isCreated === (before !== undefined) ? [] : [{ assetId, isCreated, creator }]
  })
}

/** A node keeps the last four rounds, and those of the last seconds: in dev mode a client makes many in that time. */
const maxRounds = 100
/** Bounds the memory if blocks are large. */
const maxTransactions = 50_000

export class RecentDeltas {
  readonly #deltas = new Map<bigint, StateDelta>()
  #transactions = 0

  get size(): number {
    return this.#deltas.size
  }

  get(round: bigint): StateDelta | undefined {
    return this.#deltas.get(round)
  }

  add(round: bigint, delta: StateDelta): void {
    this.#deltas.set(round, delta)
    this.#transactions += delta.transactions.size
    for (const [oldest, { transactions }] of this.#deltas) {
      const isFull = this.#deltas.size > maxRounds || this.#transactions > maxTransactions
      if (!isFull || oldest === round) break
      this.#deltas.delete(oldest)
      this.#transactions -= transactions.size
    }
  }

  clear(): void {
    this.#deltas.clear()
    this.#transactions = 0
  }
}
