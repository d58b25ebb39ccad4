/**
 * The parts of application calls that know each other: the host's interface, groups, calls, and their observers.
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
 *   for clear state programs only. The host rolls a failed group back completely. Several changes of one record
 *   after the same mark need only one entry in the log: a program can change a box of 32 kB 100,000 times.
 *
 * Rejections of the host (an overspend in an inner payment) are thrown as `LatchkeyError` with the reason in the words
 * of algod as the message. The evaluator adds `inner tx 0 failed: ` and its own details. Other errors are bugs, and pass
 * through unchanged.
 */
import { Hash, Transaction } from '@latchkey/algorand'
import { Budget, LimitedBudget } from '../evaluator/Budget.js'
import { type ConsensusParameters, defaultParameters } from '../evaluator/ConsensusParameters.js'
import { Context } from '../evaluator/Context.js'
import type { EvaluationError } from '../evaluator/EvaluationError.js'
import type { Ledger } from '../evaluator/Ledger.js'
import { Machine, type Tracer } from '../evaluator/Machine.js'
import { openProgram } from '../evaluator/openProgram.js'
import { encodeUint64, type Value } from '../evaluator/Value.js'
import { BoxAccess } from './BoxAccess.js'
import type { ByteKey } from './ByteKey.js'
import { type Effects, type EvalDelta, emptyDelta } from './Effects.js'
import * as Fees from './Fees.js'
import { callBudget, maxInnerTransactions, maxLogBytes, maxLogCalls } from './limits.js'
import { Resources } from './Resources.js'
import { UnnamedResources } from './UnnamedResources.js'

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

/** A place in the state of applications. */
export type StatePlace =
  | { readonly kind: 'global'; readonly appId: bigint; readonly key: ByteKey }
  | { readonly kind: 'local'; readonly appId: bigint; readonly key: ByteKey; readonly account: ByteKey }
  | { readonly kind: 'box'; readonly appId: bigint; readonly key: ByteKey }

/**
 * Hooks around programs, instructions and inner transactions. Hooks must not change their arguments. Calls are nested:
 * an inner group begins and ends between `beforeInstruction` and `afterInstruction` of its `itxn_submit`.
 */
export type Observer = Tracer & {
  /** Called before an approval or clear state program. `call.machine` runs it. */
  readonly beforeProgram?: (call: Call) => void
  /** Called after a program, with the error if it failed. A rejection has no error. */
  readonly afterProgram?: (call: Call, isAccepted: boolean, error: EvaluationError | undefined) => void
  readonly beforeInnerGroup?: (group: Group) => void
  readonly afterInnerGroup?: (group: Group, error: unknown) => void
  readonly beforeInnerTransaction?: (group: Group, index: number) => void
  readonly afterInnerTransaction?: (group: Group, index: number, effects: Effects, error: unknown) => void
  /** Called before a value is read or changed, with its value. */
  readonly onStateAccess?: (place: StatePlace, value: Value | undefined) => void
  /** Called after a value was changed, with the new value, or undefined if it was deleted. */
  readonly onStateChange?: (place: StatePlace, value: Value | undefined) => void
}

/** Limits that a simulation relaxes. */
export type SimulationLimits = {
  /** Added once to the budget of the top-level group. @default 0 */
  readonly extraBudget?: number
  /** @default 32 */
  readonly maxLogCalls?: number
  /** @default 1024 */
  readonly maxLogBytes?: number
  /** Whether programs can use resources that the group does not name. @default false */
  readonly allowsUnnamedResources?: boolean
  /** Whether errors show the instructions around the failure. @default false */
  readonly showsOpcodes?: boolean
}

/** A top-level group and its environment. */
export type CallGroupOptions = {
  readonly transactions: readonly Transaction.Transaction[]
  readonly ledger: ApplicationLedger
  /**
   * The usage of the group in millionths of a minimum fee, surcharges for logic signatures included. Fees above it are
   * credit of inner transactions.
   */
  readonly feeUsage: bigint
  /** The parameters of the consensus protocol. @default defaultParameters */
  readonly parameters?: ConsensusParameters
  readonly observer?: Observer | undefined
  readonly limits?: SimulationLimits | undefined
}

/** The origin of an inner group. */
export type Origin = {
  /** The call that made the group. */
  readonly call: Call
  /** The number of inner transactions that the call made before. */
  readonly firstIndex: number
}

/** A group whose transactions are applied in order. `CallGroup` performs its calls. */
export abstract class Group {
  readonly transactions: readonly Transaction.Transaction[]
  /** The effects of the transactions that were applied so far. */
  readonly effects: Effects[] = []
  /** The scratch space that each call left. */
  readonly scratches: (readonly Value[])[] = []
  /** The origin of an inner group. */
  readonly origin: Origin | undefined
  readonly pool: Pool
  readonly context: Context

  /** @param origin the origin of an inner group, which shares the environment of its parent. */
  constructor(options: CallGroupOptions, origin?: Origin) {
    const { transactions } = options
    this.transactions = transactions
    this.origin = origin
    this.pool = origin?.call.group.pool ?? createPool(options)
    this.context =
      origin === undefined
        ? new Context(transactions, options.ledger, this.pool.parameters)
        : new InnerContext(transactions, this.pool, origin)
    this.pool.addBudget(callBudget * transactions.filter(({ type }) => type === 'appl').length)
  }

  /** The call that made the group, or undefined for a top-level group. */
  get parent(): Call | undefined {
    return this.origin?.call
  }

  get ledger(): ApplicationLedger {
    return this.pool.ledger
  }

  /** The budget of application calls that the top-level group and its inner groups received so far. */
  get budgetAdded(): number {
    return this.pool.budgetAdded
  }

  /** The cost of all programs so far, those of inner groups included. */
  get budgetConsumed(): number {
    return this.pool.budgetAdded - this.pool.budget.remaining
  }

  /** The resources that were used without being named, if a simulation permits them. */
  get unnamed(): UnnamedResources | undefined {
    return this.pool.unnamed
  }

  /**
   * Performs an application call: everything after fee and rekeying, such as creating the application, running its
   * program, and its inner transactions. Takes the place of {@link record} for application calls.
   *
   * @param effects receives the effects as they become known: the id of a created application, then the delta.
   * @throws EvaluationError with the reason in the words of algod, without the id of the transaction.
   */
  abstract call(index: number, effects: Effects): void

  /** Creates a group of inner transactions. */
  abstract createInner(transactions: readonly Transaction.Transaction[], origin: Origin): Group

  /** Records the effects of another transaction, which the programs of later transactions can read. */
  record(index: number, effects: Effects): void {
    this.effects[index] = effects
    if (effects.createdAssetId !== undefined) this.pool.resources.createdAssets.add(effects.createdAssetId)
  }

  /** The id of a transaction, as 32 bytes. Inner transactions have ids that depend on their parent. */
  transactionId(index: number): Uint8Array {
    return this.context.transactionId(index)
  }
}

/** The parts of a pool. */
export type PoolOptions = {
  readonly transactions: readonly Transaction.Transaction[]
  readonly ledger: ApplicationLedger
  readonly parameters: ConsensusParameters
  readonly resources: Resources
  /** In millionths of a microAlgo. */
  readonly feeCredit: bigint
  readonly observer: Observer | undefined
  readonly limits: SimulationLimits
}

/** Budgets and resources of a top-level group. */
export class Pool {
  readonly ledger: ApplicationLedger
  readonly parameters: ConsensusParameters
  readonly resources: Resources
  readonly boxes: BoxAccess
  readonly budget: Budget
  readonly observer: Observer | undefined
  readonly unnamed: UnnamedResources | undefined
  readonly maxLogCalls: number
  readonly maxLogBytes: number
  readonly showsOpcodes: boolean
  /** The amount paid above the required fees so far, in millionths of a microAlgo. */
  feeCredit: bigint
  innersLeft = maxInnerTransactions
  budgetAdded = 0

  constructor(options: PoolOptions) {
    this.ledger = options.ledger
    this.parameters = options.parameters
    this.resources = options.resources
    this.feeCredit = options.feeCredit
    this.observer = options.observer
    this.unnamed = options.limits.allowsUnnamedResources ? new UnnamedResources(options.transactions) : undefined
    this.maxLogCalls = options.limits.maxLogCalls ?? maxLogCalls
    this.maxLogBytes = options.limits.maxLogBytes ?? maxLogBytes
    this.showsOpcodes = options.limits.showsOpcodes ?? false
    this.boxes = new BoxAccess(options.resources, this.unnamed)
    this.budget = new Budget(0)
    this.addBudget(options.limits.extraBudget ?? 0)
  }

  /** Adds to the budget of all application calls. */
  addBudget(cost: number): void {
    this.budgetAdded += cost
    this.budget.add(cost)
  }
}

/** A transaction that is being built. */
export type Draft = { -readonly [name in keyof Transaction.Transaction]: Transaction.Transaction[name] }

/** The program that a call runs. */
export type ProgramKind = 'approval' | 'clearState'

/** A running application call. */
export class Call {
  readonly group: Group
  /** The index of the transaction in its group. */
  readonly index: number
  readonly appId: bigint
  readonly application: Application
  readonly kind: ProgramKind
  readonly delta: EvalDelta = emptyDelta()
  readonly machine: Machine
  /** The transactions of the inner group that the program builds. */
  building: Draft[] | undefined
  /** The inner group that was submitted last. */
  submitted: Group | undefined
  logBytes = 0
  /** The last instruction that logged. */
  loggedAt: number | undefined
  /** Why the program cannot run. */
  readonly problem: EvaluationError | undefined

  constructor(group: Group, index: number, appId: bigint, application: Application, kind: ProgramKind) {
    this.group = group
    this.index = index
    this.appId = appId
    this.application = application
    this.kind = kind
    const { pool, context, transactions } = group
    const program = kind === 'approval' ? application.approvalProgram : application.clearStateProgram
    const hasAccessList = this.transaction.al !== undefined
    const { version, start, error } = openProgram(program, transactions, pool.parameters, hasAccessList)
    this.problem = error
    this.machine = new Machine({
      program,
      version,
      start: this.problem === undefined ? start : 0,
      mode: 'application',
      args: [],
      context,
      index,
      budget: kind === 'approval' ? pool.budget : new LimitedBudget(pool.budget, callBudget),
      call: this,
    })
  }

  get transaction(): Transaction.Transaction {
    return this.group.transactions[this.index]!
  }

  get version(): number {
    return this.machine.version
  }

  get resources(): Resources {
    return this.group.pool.resources
  }
}

function createPool(options: CallGroupOptions): Pool {
  const { transactions, ledger, feeUsage, parameters = defaultParameters, observer, limits = {} } = options
  return new Pool({
    transactions,
    ledger,
    parameters,
    resources: new Resources(transactions),
    feeCredit: Fees.surplus(Fees.paid(transactions), feeUsage, parameters.minTxnFee),
    observer,
    limits,
  })
}

/** The ids of inner transactions depend on the outer transaction and on their number. */
class InnerContext extends Context {
  readonly #origin: Origin
  readonly #innerIds: Uint8Array[] = []

  constructor(transactions: readonly Transaction.Transaction[], { ledger, parameters }: Pool, origin: Origin) {
    super(transactions, ledger, parameters)
    this.#origin = origin
  }

  override transactionId(index: number): Uint8Array {
    this.#innerIds[index] ??= innerId(this.#origin, index, this.group[index]!)
    return this.#innerIds[index]
  }
}

/** Returns the id of a transaction that a call makes. */
export function innerId({ call, firstIndex }: Origin, index: number, txn: Transaction.Transaction): Uint8Array {
  return Hash.hash(
    Hash.domains.transaction,
    call.group.transactionId(call.index),
    encodeUint64(BigInt(firstIndex + index)),
    Transaction.encode(txn),
  )
}

/** Returns why values do not fit a schema, or undefined. */
export function schemaProblem(counts: StateSchema, schema: StateSchema): string | undefined {
  if (counts.integers > schema.integers) {
    return `store integer count ${counts.integers} exceeds schema integer count ${schema.integers}`
  }
  if (counts.byteStrings > schema.byteStrings) {
    return `store bytes count ${counts.byteStrings} exceeds schema bytes count ${schema.byteStrings}`
  }
  return undefined
}
