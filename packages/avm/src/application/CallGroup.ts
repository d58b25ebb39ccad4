/** A group of transactions with application calls: top-level, or made by an application. */
import type { Transaction } from '@latchkey/algorand'
import type { ConsensusParameters } from '../evaluator/ConsensusParameters.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import type { ApplicationLedger } from './ApplicationLedger.js'
import type { Effects } from './Effects.js'
import type { Observer } from './Observer.js'

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

/** A group whose transactions are applied in order. */
export class CallGroup {
  readonly transactions: readonly Transaction.Transaction[]
  readonly ledger: ApplicationLedger
  /** The effects of the transactions that were applied so far. */
  readonly effects: Effects[] = []

  constructor(options: CallGroupOptions) {
    this.transactions = options.transactions
    this.ledger = options.ledger
  }

  /** The budget of application calls that the top-level group and its inner groups received so far. */
  get budgetAdded(): number {
    return 0
  }

  /** The cost of all programs so far, those of inner groups included. */
  get budgetConsumed(): number {
    return 0
  }

  /**
   * Performs an application call: everything after fee and rekeying, such as creating the application, running its
   * program, and its inner transactions. Takes the place of {@link record} for application calls.
   *
   * @param effects receives the effects as they become known: the id of a created application, then the delta.
   * @throws EvaluationError with the reason in the words of algod, without the id of the transaction.
   */
  call(index: number, effects: Effects): void {
    throw new EvaluationError(`application call ${index} is not supported ${effects}`)
  }

  /** Records the effects of another transaction, which the programs of later transactions can read. */
  record(index: number, effects: Effects): void {
    this.effects[index] = effects
  }
}
