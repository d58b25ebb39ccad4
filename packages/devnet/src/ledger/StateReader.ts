/** Read access to the ledger: the state after the last block, or an overlay with changes on top of it. */
import type { Account, Asset, Holding } from './Account.js'
import type { MapKey } from './MapKey.js'
import type { AppRecord, LocalState } from './programs/AppRecords.js'

export type StateReader = {
  /** An account that does not exist is an empty one. */
  account: (key: MapKey) => Account
  holding: (key: MapKey, assetId: bigint) => Holding | undefined
  asset: (assetId: bigint) => Asset | undefined
  application: (appId: bigint) => AppRecord | undefined
  /** Undefined if the account has not opted in. */
  local: (key: MapKey, appId: bigint) => LocalState | undefined
  box: (appId: bigint, name: MapKey) => Uint8Array | undefined
  /** Returns what a transaction duplicates, if anything: itself, or a lease that is in force in that round. */
  findDuplicate: (query: DuplicateQuery) => Duplicate | undefined
  /** The number of transactions, including the initial value at genesis. */
  transactionCount: () => bigint
}

export type DuplicateQuery = { readonly digest: MapKey; readonly lease: string | undefined; readonly round: bigint }
export type Duplicate = 'transaction' | 'lease'

export function holdingKey(key: MapKey, assetId: bigint): string {
  return key + assetId.toString(36)
}

export function boxKey(appId: bigint, name: MapKey): string {
  return `${appId.toString(36)}:${name}`
}

export function leaseKey(sender: MapKey, lease: MapKey): string {
  return sender + lease
}
