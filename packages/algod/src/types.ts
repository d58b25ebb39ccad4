/** The inputs and results of the client. */
import type { Transaction } from '@latchkey/algorand'
import type { Fetch } from '@latchkey/http-client'
import type { NodeAddress } from './PoolNode.js'
import type { RejectionCode } from './rejections.js'

/** The nodes, and the limits of the client. */
export type AlgodOptions = {
  /** The nodes of one network, the preferred first. A node that is slow, behind or failed recently is avoided. */
  nodes: readonly NodeAddress[]
  /**
   * How many nodes must report that a transaction is not on the ledger, or that the ledger refuses it, before that
   * counts.
   *
   * @default 1
   */
  quorum?: number | undefined
  /**
   * The time limit of a request to one node, in milliseconds.
   *
   * @default 10_000
   */
  timeoutMs?: number | undefined
  /**
   * Longer responses are refused.
   *
   * @default 4 MiB
   */
  maxResponseBytes?: number | undefined
  /**
   * The maximum number of concurrent requests. Further ones are refused.
   *
   * @default 4_096
   */
  maxWaiting?: number | undefined
  /**
   * After this long without a response to a read-only request, the next node is queried too; 0 disables this. Raise it
   * if a node is usually slow.
   *
   * @default 500
   */
  hedgeMs?: number | undefined
  /**
   * Sends the requests.
   *
   * @default keep-alive connections of `node:http` on Node, `globalThis.fetch` elsewhere
   */
  fetch?: Fetch | undefined
}

/** The network parameters for a transaction. */
export type SuggestedParameters = {
  readonly genesisHash: Uint8Array
  readonly genesisId: string
  readonly lastRound: bigint
  /** In microAlgos. */
  readonly minFee: bigint
  /** In microAlgos; 0 unless the network is congested. */
  readonly feePerByte: bigint
}

/** The state of an account. */
export type AccountState = {
  readonly microAlgos: bigint
  /** The amount that must stay in the account, in microAlgos. */
  readonly minBalance: bigint
  /** The address whose key signs for the account, or undefined if it is the account's own. */
  readonly authAddress: string | undefined
}

/** An amount of an asset in an account. */
export type Holding = {
  /** In base units. */
  readonly amount: bigint
  readonly isFrozen: boolean
  /** The round of the state; undefined in the list of an account. */
  readonly round?: bigint | undefined
}

/** The state of an account with its assets. */
export type AccountHoldings = AccountState & {
  /** At most 200. */
  readonly holdings: readonly (Holding & { readonly assetId: bigint })[]
  /** How many assets the account holds. `holdings` may be incomplete. */
  readonly holdingCount: number
}

/** The display parameters of an asset, and its creator. */
export type AssetInfo = {
  readonly decimals: number
  readonly unitName: string | undefined
  /** The name that the creator chose. Anybody can choose any name. */
  readonly name?: string | undefined
  readonly creator?: string | undefined
  /** Whether accounts are frozen when they opt in. */
  readonly isFrozenByDefault?: boolean | undefined
}

/** The state of a transaction. Nodes remember about a thousand rounds. */
export type TransactionState =
  | { readonly type: 'confirmed'; readonly round: bigint }
  | { readonly type: 'pending' }
  | { readonly type: 'dropped'; readonly reason: string }
  | { readonly type: 'unknown' }

/** The state of a transaction, and the transaction itself if the node has it. */
export type TransactionDetails = {
  readonly state: TransactionState
  /** Undefined if the node does not know the transaction, or sent one with another id. */
  readonly transaction: Transaction.Transaction | undefined
}

/** A transaction that holds a lease. */
export type LeasedTransfer = {
  /** Whether the transaction transfers an asset. Its other members are empty or 0 if not. */
  readonly isAssetTransfer: boolean
  readonly receiver: string | undefined
  readonly assetId: bigint
  /** In base units. */
  readonly amount: bigint
}

/** A transaction of a block that holds a lease. */
export type LeasedTransaction = LeasedTransfer & {
  readonly sender: string
  /** The 32 bytes in standard base64. */
  readonly lease: string
  readonly lastValid: bigint
}

/** A node that reports that a transaction is not on the ledger. */
export type Absence = {
  /** The index of the node among the nodes of the client. */
  readonly node: number
  /** The last round of that node, which it reported before it was asked for the transaction. */
  readonly round: bigint
}

/** The nodes' reports about a transaction, and which of them say that it is not on the ledger. */
export type TransactionReport = {
  /** The most certain of the reported states. */
  readonly state: TransactionState
  readonly absences: readonly Absence[]
}

/** Options of {@link Algod.waitForBlock}. */
export type WaitOptions = {
  /** How long it waits, in milliseconds. */
  readonly timeoutMs: number
  /** Called with a function that ends the wait early, which makes the call throw. */
  readonly onStart?: ((cancel: () => void) => void) | undefined
}

/** Why a simulated group would be rejected. */
export type SimulationFailure = {
  /** The node's own text. */
  readonly message: string
  readonly code: RejectionCode
  /** The index of the transaction in the group. */
  readonly failedAt: number | undefined
}

/** Options of {@link Algod.submit}. */
export type SubmitOptions = {
  /**
   * Whether every node gets the group, even after one has accepted it. For a group that a node accepted but no longer
   * knows.
   *
   * @default false
   */
  toAll?: boolean | undefined
}

/** Options of {@link Algod.transaction}. */
export type LookupOptions = {
  /**
   * Whether further nodes are queried while the transaction is only pending, as they are if it is unknown. A node can
   * hold a transaction without passing it on.
   *
   * @default false
   */
  untilConfirmed?: boolean | undefined
}

/**
 * The result of a submission. `isAmbiguous` is true if an earlier node may have accepted the group without its answer
 * reaching the client, or if fewer nodes than the quorum refused it. A refusal then does not mean that the group is not
 * on the ledger.
 */
export type SubmitResult =
  | { readonly type: 'accepted' }
  | { readonly type: 'refused'; readonly reason: string; readonly code: RejectionCode; readonly isAmbiguous: boolean }
  | { readonly type: 'unanswered'; readonly reason: string; readonly isAmbiguous: boolean }
