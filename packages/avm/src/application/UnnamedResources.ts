/** Resources that a simulation permits although the group does not name them. */
import type { Transaction } from '@latchkey/algorand'
import { appAddress } from './appAddress.js'
import type { ByteKey } from './ByteKey.js'
import {
  appAccountsVersion,
  lastReservedId,
  maxAccessReferences,
  maxGroupSize,
  maxReferences,
  sharedResourcesVersion,
} from './limits.js'
import { pairKey } from './Resources.js'

/** An account with an asset or application. */
export type ResourcePair = { readonly address: ByteKey; readonly id: bigint }

/** A box. */
export type UnnamedBox = { readonly appId: bigint; readonly name: ByteKey }

/** Resources that were used without being named. */
export class UnnamedSet {
  readonly accounts = new Set<ByteKey>()
  readonly assets = new Set<bigint>()
  readonly apps = new Set<bigint>()
  readonly holdings = new Map<string, ResourcePair>()
  readonly locals = new Map<string, ResourcePair>()
  readonly boxes: UnnamedBox[] = []
  /** References without a box that the group needs in addition. */
  extraBoxReferences = 0
  readonly #capacity: number

  /** @param capacity the references that could still be named. */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get isFull(): boolean {
    const { accounts, assets, apps, boxes, extraBoxReferences } = this
    return accounts.size + assets.size + apps.size + boxes.length + extraBoxReferences >= this.#capacity
  }

  get isEmpty(): boolean {
    const { accounts, assets, apps, holdings, locals, boxes, extraBoxReferences } = this
    const count = accounts.size + assets.size + apps.size + holdings.size + locals.size + boxes.length
    return count + extraBoxReferences === 0
  }
}

/**
 * Permits unnamed resources as long as a group could name them, and remembers them: those of programs before version 9
 * for the transaction, and those of later programs for the group, which shares them.
 */
export class UnnamedResources {
  readonly group: UnnamedSet
  /** By the index of the top-level transaction. */
  readonly transactions: readonly UnnamedSet[]
  /** The references to boxes, empty ones too, without those of access lists. */
  readonly boxReferences: number
  #current: UnnamedSet

  constructor(transactions: readonly Transaction.Transaction[]) {
    const capacities = transactions.map(capacityOf)
    // More calls could be added to the group.
    const addable = maxReferences * (maxGroupSize - transactions.length)
    this.group = new UnnamedSet(capacities.reduce((sum, capacity) => sum + capacity, addable))
    this.boxReferences = transactions.reduce((sum, { apbx = [] }) => sum + apbx.length, 0)
    this.transactions = capacities.map((capacity) => new UnnamedSet(capacity))
    this.#current = this.group
  }

  /**
   * Decides where resources are remembered from now on. As on a node, an inner call of a program that shares resources
   * decides also for the rest of the program that made it.
   */
  enter(version: number, topLevelIndex: number | undefined): void {
    if (version >= sharedResourcesVersion) this.#current = this.group
    else if (topLevelIndex !== undefined) this.#current = this.transactions[topLevelIndex]!
  }

  /** Whether a program of a version can use an account that is not named. */
  allowsAccount(address: ByteKey, version: number): boolean {
    const set = this.#current
    if (set.accounts.has(address)) return true
    if (version >= appAccountsVersion) {
      for (const appId of set.apps) if (appAddress(appId) === address) return true
    }
    return add(set, set.accounts, address)
  }

  /** Whether a program can use an asset that is not named. */
  allowsAsset(assetId: bigint): boolean {
    return assetId > lastReservedId && add(this.#current, this.#current.assets, assetId)
  }

  /**
   * Whether a program of a version can use an application that is not named. An application takes the place of its
   * account, which it makes available.
   */
  allowsApp(appId: bigint, version: number): boolean {
    const { accounts, apps } = this.#current
    if (version >= appAccountsVersion && !apps.has(appId) && appId > lastReservedId) {
      accounts.delete(appAddress(appId))
    }
    return appId > lastReservedId && add(this.#current, apps, appId)
  }

  /** Whether a program can use a holding that is not named, of an available account and an available asset. */
  allowsHolding(address: ByteKey, assetId: bigint): boolean {
    this.group.holdings.set(pairKey(address, assetId), { address, id: assetId })
    return true
  }

  /** Whether a program can use a local state that is not named, of an available account and application. */
  allowsLocal(address: ByteKey, appId: bigint): boolean {
    // As on a node, the account of an application is not reported with that application.
    if (address === appAddress(appId)) return true
    this.group.locals.set(pairKey(address, appId), { address, id: appId })
    return true
  }
}

function add<T>(set: UnnamedSet, members: Set<T>, member: T): boolean {
  if (members.has(member)) return true
  if (set.isFull) return false
  members.add(member)
  return true
}

function capacityOf({ type, al, apat, apfa, apas, apbx }: Transaction.Transaction): number {
  if (type !== 'appl') return 0
  if (al !== undefined) return maxAccessReferences - al.length
  return maxReferences - (apat?.length ?? 0) - (apfa?.length ?? 0) - (apas?.length ?? 0) - (apbx?.length ?? 0)
}
