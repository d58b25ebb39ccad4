/** The environment that a top-level group shares with all of its inner groups. */

import type { Transaction } from '@latchkey/algorand'
import { Budget } from '../evaluator/Budget.js'
import type { ConsensusParameters } from '../evaluator/ConsensusParameters.js'
import type { ApplicationLedger } from './ApplicationLedger.js'
import { BoxAccess } from './BoxAccess.js'
import type { SimulationLimits } from './CallGroup.js'
import { maxInnerTransactions, maxLogBytes, maxLogCalls } from './limits.js'
import type { Observer } from './Observer.js'
import type { Resources } from './Resources.js'
import { UnnamedResources } from './UnnamedResources.js'

/** What a pool is made of. */
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
  /** What is paid above the required fees so far, in millionths of a microAlgo. */
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
