/**
 * The host's interface of applications.
 *
 * The evaluator (this package) owns everything that is particular to application calls: ids of new applications,
 * versions and static checks of programs, opting in and out, creation, update and deletion, availability of resources,
 * limits of state and boxes, budgets, logs, deltas, and the construction of inner transactions with their fees.
 *
 * The host (such as the devnet) owns storage and everything that holds for all transactions. It
 * - stores accounts, assets, applications, state and boxes, and derives minimum balances from them;
 * - creates one `CallGroup` for a top-level group that contains an application call, applies the transactions in
 *   order, and calls `CallGroup.call` for each application call after its fee and rekeying. For every other transaction
 *   it calls `CallGroup.record` with the effects, because programs read the effects of earlier transactions;
 * - applies inner transactions the same way, in {@link ApplicationLedger.applyInner}: add one to the transaction counter
 *   first (the outer transaction is not counted yet), move the fee, rekey, then apply by type. An application call goes
 *   back to the evaluator: `group.call(index, effects)`. Minimum balances are checked at the end of each top-level
 *   transaction only, for all accounts that it changed, those of inner transactions included;
 * - keeps an undo log, so that a nested call costs nothing until it changes something. `mark` and `rollback` are called
 *   for clear state programs only. A failed group is rolled back as a whole by the host. Several changes of one record
 *   after the same mark need only one entry in the log: a program can change a box of 32 kB 100,000 times.
 *
 * Rejections of the host (an overspend in an inner payment) are thrown as `LatchkeyError` with the reason in the words
 * of algod as the message. The evaluator adds `inner tx 0 failed: ` and its own details. Other errors are bugs, and pass
 * through unchanged.
 */
import type { Transaction } from '@latchkey/algorand'
import type { Ledger } from '../evaluator/Ledger.js'
import type { Value } from '../evaluator/Value.js'
import type { ByteKey } from './ByteKey.js'
import type { Effects } from './Effects.js'

/** Numbers of integers and byte strings: the size of application state, or the number of its values. */
export type StateSchema = {
  readonly integers: number
  readonly byteStrings: number
}

/** The part of a group that applies one of its transactions. */
export type InnerGroup = {
  readonly transactions: readonly Transaction.Transaction[]
  /** Evaluates the application call at an index. */
  call(index: number, effects: Effects): void
  /** Records the effects of another transaction, which the programs of later transactions can read. */
  record(index: number, effects: Effects): void
}

/** An application. Records are immutable. */
export type Application = {
  readonly creator: ByteKey
  readonly approvalProgram: Uint8Array
  readonly clearStateProgram: Uint8Array
  readonly globalSchema: StateSchema
  readonly localSchema: StateSchema
  readonly extraPages: number
  /** The number of updates. */
  readonly version: bigint
  /** The account whose minimum balance covers global state and extra pages, if it is not the creator. */
  readonly sizeSponsor: ByteKey | undefined
  /** Whether other applications can read its boxes. */
  readonly allowsForeignBoxReads: boolean
  /** Whether other applications of the same creator can read and write its boxes. */
  readonly allowsFamilyBoxAccess: boolean
}

/** An account, as programs can read it. */
export type AccountView = {
  readonly microAlgos: bigint
  readonly minBalance: bigint
  /** The account that signs for this one after rekeying. */
  readonly authorizer: ByteKey | undefined
  /** The sum of the schemas that count for the minimum balance: sponsored globals and held locals. */
  readonly totalSchema: StateSchema
  readonly totalExtraPages: number
  readonly appsCreated: number
  readonly appsOptedIn: number
  readonly assetsCreated: number
  readonly assetsHeld: number
  readonly boxes: number
  /** The bytes of the names and values of all boxes. */
  readonly boxBytes: number
  readonly isIncentiveEligible: boolean
  readonly lastProposed: bigint
  readonly lastHeartbeat: bigint
}

/** An asset, as programs can read it. */
export type AssetView = {
  readonly creator: ByteKey
  readonly total: bigint
  readonly decimals: number
  readonly defaultFrozen: boolean
  readonly unitName: Uint8Array
  readonly name: Uint8Array
  readonly url: Uint8Array
  readonly metadataHash?: Uint8Array | undefined
  /** The zero address if there is none, as are the following. */
  readonly manager: ByteKey
  readonly reserve: ByteKey
  readonly freeze: ByteKey
  readonly clawback: ByteKey
}

/** A holding of an asset. */
export type HoldingView = { readonly amount: bigint; readonly frozen: boolean }

/** The stake of an account that votes in the current round. */
export type VoterView = { readonly microAlgos: bigint; readonly isIncentiveEligible: boolean }

/** The state that applications read and change. All changes are visible at once, and covered by the undo log. */
export type ApplicationLedger = Ledger & {
  /** The round of the block that will contain the group. */
  readonly round: bigint
  /** The timestamp of the last block. */
  readonly latestTimestamp: bigint
  /** The number of transactions before the current one. A new application has the next number as its id. */
  readonly transactionCount: () => bigint

  /** Returns an account. An account that does not exist is an empty one. */
  readonly account: (address: ByteKey) => AccountView
  readonly holding: (address: ByteKey, assetId: bigint) => HoldingView | undefined
  readonly asset: (assetId: bigint) => AssetView | undefined
  /** Returns the online stake of an account 320 rounds ago, or undefined if it does not vote. */
  readonly voter: (address: ByteKey) => VoterView | undefined
  /** Returns the online stake of all accounts 320 rounds ago. */
  readonly onlineStake: () => bigint

  readonly application: (appId: bigint) => Application | undefined
  /** Creates, changes or deletes an application. A deletion drops its global state, not its boxes or local states. */
  readonly setApplication: (appId: bigint, application: Application | undefined) => void

  readonly globalValue: (appId: bigint, key: ByteKey) => Value | undefined
  /** Sets or deletes a key. The evaluator has checked all limits. */
  readonly setGlobalValue: (appId: bigint, key: ByteKey, value: Value | undefined) => void
  /** Returns how many values there are of each kind. */
  readonly globalCounts: (appId: bigint) => StateSchema

  /** Returns the size of an account's local state, as declared when it opted in, or undefined if it has not. */
  readonly localSchema: (address: ByteKey, appId: bigint) => StateSchema | undefined
  /** Opts an account in, or drops its local state. The application may no longer exist. */
  readonly setLocalSchema: (address: ByteKey, appId: bigint, schema: StateSchema | undefined) => void
  readonly localValue: (address: ByteKey, appId: bigint, key: ByteKey) => Value | undefined
  readonly setLocalValue: (address: ByteKey, appId: bigint, key: ByteKey, value: Value | undefined) => void
  readonly localCounts: (address: ByteKey, appId: bigint) => StateSchema

  readonly box: (appId: bigint, name: ByteKey) => Uint8Array | undefined
  /** Creates, replaces or deletes a box. The bytes are never changed in place afterwards. */
  readonly setBox: (appId: bigint, name: ByteKey, value: Uint8Array | undefined) => void

  /** Returns a position in the undo log. */
  readonly mark: () => number
  /** Undoes all changes after a position. */
  readonly rollback: (mark: number) => void

  /**
   * Returns the problem of an inner transaction that needs no state, in the words of algod: the rules for top-level
   * transactions apart from fees, signatures and groups.
   */
  readonly innerProblem: (txn: Transaction.Transaction) => string | undefined
  /**
   * Applies a transaction of an inner group.
   *
   * @param effects receives the effects as they become known.
   * @throws LatchkeyError if the transaction fails.
   */
  readonly applyInner: (group: InnerGroup, index: number, effects: Effects) => void
}
