/** A group of transactions with application calls: top-level, or made by an application. */
import { Hash, Transaction } from '@latchkey/algorand'
import { type ConsensusParameters, defaultParameters } from '../evaluator/ConsensusParameters.js'
import { Context } from '../evaluator/Context.js'
import { encodeUint64, type Value } from '../evaluator/Value.js'
import type { ApplicationLedger } from './ApplicationLedger.js'
import { applyCall } from './applyCall.js'
import type { Call } from './Call.js'
import type { Effects } from './Effects.js'
import * as Fees from './Fees.js'
import { callBudget } from './limits.js'
import type { Observer } from './Observer.js'
import { Pool } from './Pool.js'
import { Resources } from './Resources.js'
import type { UnnamedResources } from './UnnamedResources.js'

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

/** A group whose transactions are applied in order. */
export class CallGroup {
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
  call(index: number, effects: Effects): void {
    applyCall(this, index, effects)
    this.record(index, effects)
  }

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
