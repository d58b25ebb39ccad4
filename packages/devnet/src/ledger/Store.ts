/** Reading the ledger, whether as it stands or as it would be after a group. */
import type { Account, Asset, Holding } from './Account.js'
import type { Key } from './Key.js'

export type Store = {
  /** An account that is not there is one with nothing in it. */
  account: (key: Key) => Account
  holding: (key: Key, assetId: bigint) => Holding | undefined
  asset: (assetId: bigint) => Asset | undefined
  /** What a transaction repeats, if it does: itself, or a lease that another one holds in that round. */
  findRepeated: (attempt: Attempt) => Repeated | undefined
  /** How many transactions there have been, with those of the ledger's beginning. */
  transactionCount: () => bigint
}

export type Attempt = { readonly digest: Key; readonly lease: string | undefined; readonly round: bigint }
export type Repeated = 'transaction' | 'lease'

/** One text for the two parts of what a holding is found by. */
export function holdingKey(key: Key, assetId: bigint): string {
  return key + assetId.toString(36)
}

export function leaseKey(sender: Key, lease: Key): string {
  return sender + lease
}
