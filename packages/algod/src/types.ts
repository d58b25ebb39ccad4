/** What the client takes and returns. */
import type { Transaction } from '@latchkey/algorand'
import type { NodeAddress } from './PoolNode.js'
import type { RejectionCode } from './rejections.js'
import type { Fetch } from './transport/fetch.js'

/** The nodes, and the limits of the client. */
export type AlgodOptions = {
  /** The nodes of one network, the preferred first. One that is slow, behind or failed lately is avoided. */
  nodes: readonly NodeAddress[]
  /**
   * How many nodes have to say that a transaction is not in the ledger, or that the ledger refuses it, before that counts.
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
   * Further requests at the same time are refused.
   *
   * @default 4_096
   */
  maxWaiting?: number | undefined
  /**
   * After this long without a response to a request that changes nothing, the next node is asked too; 0 for never. More where
   * a node takes long as a rule.
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

/** What a transaction needs from the network. */
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
  /** In microAlgos: what must stay in the account. */
  readonly minBalance: bigint
  /** The address whose key signs for the account; undefined if it is the account's own. */
  readonly authAddress: string | undefined
}

/** An amount of an asset in an account. */
export type Holding = {
  /** In base units. */
  readonly amount: bigint
  readonly isFrozen: boolean
}

/** The state of an account with its assets. */
export type AccountHoldings = AccountState & {
  /** At most 200. */
  readonly holdings: readonly (Holding & { readonly assetId: bigint })[]
  /** How many assets the account holds; `holdings` may be a part of them. */
  readonly holdingCount: number
}

/** How amounts of an asset are shown, and whose it is. */
export type AssetInfo = {
  readonly decimals: number
  readonly unitName: string | undefined
  /** As its creator chose it: anybody can choose any name. */
  readonly name?: string | undefined
  readonly creator?: string | undefined
  /** Whether an account that opts in is frozen at first. */
  readonly isFrozenByDefault?: boolean | undefined
}

/** The state of a transaction, as far back as the node remembers it: about a thousand rounds. */
export type TransactionState =
  | { readonly type: 'confirmed'; readonly round: bigint }
  | { readonly type: 'pending' }
  | { readonly type: 'dropped'; readonly reason: string }
  | { readonly type: 'unknown' }

/** The state of a transaction, and the transaction itself where the node has it. */
export type TransactionDetails = {
  readonly state: TransactionState
  /** Undefined if the node does not know it, or sent something that does not have the id. */
  readonly transaction: Transaction.Transaction | undefined
}

/** A node that says that a transaction is not in the ledger. */
export type Absence = {
  /** The index of the node among those that the client was given. */
  readonly node: number
  /** The last round of that node, reported by itself before it was asked for the transaction. */
  readonly round: bigint
}

/** What the nodes say about a transaction, and which of them say that it is not in the ledger. */
export type TransactionReport = {
  /** Of what they say, the most certain. */
  readonly state: TransactionState
  readonly absences: readonly Absence[]
}

/** Options of {@link Algod.waitForBlock}. */
export type WaitOptions = {
  /** How long it waits, in milliseconds. */
  readonly timeoutMs: number
  /** Called with what ends the wait before its time: then the call throws. */
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
   * Whether every node gets the group, also after one has accepted it: for a group that a node accepted and does not know
   * any more.
   *
   * @default false
   */
  toAll?: boolean | undefined
}

/** Options of {@link Algod.transaction}. */
export type LookupOptions = {
  /**
   * Whether further nodes are asked while the transaction is only pending, as they are where it is unknown: a node can hold
   * a transaction without passing it on.
   *
   * @default false
   */
  untilConfirmed?: boolean | undefined
}

/**
 * The result of a submission. `isAmbiguous` is true if an earlier node may have accepted the group without an answer
 * reaching the client, or fewer nodes refused it than the quorum: then a refusal does not mean that the group is not in the
 * ledger.
 */
export type SubmitResult =
  | { readonly type: 'accepted' }
  | { readonly type: 'refused'; readonly reason: string; readonly code: RejectionCode; readonly isAmbiguous: boolean }
  | { readonly type: 'unanswered'; readonly reason: string; readonly isAmbiguous: boolean }
