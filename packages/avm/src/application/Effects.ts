/** The effects of transactions that their fields do not show. Blocks record them. */
import type { Transaction } from '@latchkey/algorand'
import type { Value } from '../evaluator/Value.js'
import type { ByteKey } from './ByteKey.js'

/** The effects of a transaction. They are written as the transaction is applied: a failed one has some of them. */
export type Effects = {
  /** The Algos that a closed account had left. */
  closingAmount?: bigint
  /** The amount that a closed holding had left. */
  assetClosingAmount?: bigint
  createdAssetId?: bigint
  createdAppId?: bigint
  /** The changes of an application call, or undefined if there are none. */
  delta?: EvalDelta
}

/** The changes of application state, the logs and the inner transactions of an application call. */
export type EvalDelta = {
  readonly globals: Map<ByteKey, ValueChange>
  /** By the index of the account: 0 is the sender, then `Accounts`, then `sharedAccounts`. */
  readonly locals: Map<number, Map<ByteKey, ValueChange>>
  /** Accounts with changed local state that the transaction itself does not name. */
  readonly sharedAccounts: ByteKey[]
  readonly logs: Uint8Array[]
  readonly inners: InnerTransaction[]
}

/** The new value of a key, or undefined if the key was deleted. */
export type ValueChange = Value | undefined

/** A transaction that an application made. Its group may have failed, in a simulation. */
export type InnerTransaction = {
  readonly txn: Transaction.Transaction
  readonly effects: Effects
}

/** Returns a delta without changes. */
export function emptyDelta(): EvalDelta {
  return { globals: new Map(), locals: new Map(), sharedAccounts: [], logs: [], inners: [] }
}

/** Whether a delta has no changes. */
export function isEmpty({ globals, locals, logs, inners }: EvalDelta): boolean {
  return globals.size === 0 && locals.size === 0 && logs.length === 0 && inners.length === 0
}
