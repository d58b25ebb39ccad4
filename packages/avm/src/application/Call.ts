/** An application call: one run of an approval or clear state program. */
import type { Transaction } from '@latchkey/algorand'
import { instructionsBefore } from '../disassembler/disassemble.js'
import { LimitedBudget } from '../evaluator/Budget.js'
import { EvaluationError } from '../evaluator/EvaluationError.js'
import { Machine } from '../evaluator/Machine.js'
import { openProgram } from '../evaluator/openProgram.js'
import { run } from '../evaluator/run.js'
import type { Application } from './ApplicationLedger.js'
import type { CallGroup } from './CallGroup.js'
import * as Effects from './Effects.js'
import { callBudget, sharedResourcesVersion } from './limits.js'
import type { Resources } from './Resources.js'

/** A transaction that is being built. */
export type Draft = { -readonly [name in keyof Transaction.Transaction]: Transaction.Transaction[name] }

/** The program that a call runs. */
export type ProgramKind = 'approval' | 'clearState'

/** A running application call. */
export class Call {
  readonly group: CallGroup
  /** The index of the transaction in its group. */
  readonly index: number
  readonly appId: bigint
  readonly application: Application
  readonly kind: ProgramKind
  readonly delta: Effects.EvalDelta = Effects.emptyDelta()
  readonly machine: Machine
  /** The transactions of the inner group that the program builds. */
  building: Draft[] | undefined
  /** The inner group that was submitted last. */
  submitted: CallGroup | undefined
  logBytes = 0
  readonly #problem: EvaluationError | undefined

  constructor(group: CallGroup, index: number, appId: bigint, application: Application, kind: ProgramKind) {
    this.group = group
    this.index = index
    this.appId = appId
    this.application = application
    this.kind = kind
    const { pool, context, transactions } = group
    const program = kind === 'approval' ? application.approvalProgram : application.clearStateProgram
    const { version, start, error } = openProgram(program, transactions, pool.parameters)
    this.#problem = error
    if (error === undefined && version < sharedResourcesVersion && this.transaction.al !== undefined) {
      this.#problem = new EvaluationError('pre-sharedResources program cannot be invoked with tx.Access')
    }
    this.machine = new Machine({
      program,
      version,
      start: this.#problem === undefined ? start : 0,
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

  /**
   * Runs the program. Returns whether it accepted the transaction.
   *
   * @throws EvaluationError with the place of the failure.
   */
  run(): boolean {
    const { observer, unnamed } = this.group.pool
    unnamed?.enter(this)
    let isAccepted = false
    let failure: EvaluationError | undefined
    observer?.beforeProgram?.(this)
    try {
      if (this.#problem !== undefined) throw this.#problem
      isAccepted = run(this.machine, observer) !== 0n
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error
      failure = this.#located(error)
    }
    observer?.afterProgram?.(this, isAccepted, failure)
    if (failure !== undefined) throw failure
    return isAccepted
  }

  #located({ message }: EvaluationError): EvaluationError {
    const { pc, program } = this.machine
    const opcodes = this.group.pool.showsOpcodes ? `, opcodes=${instructionsBefore(program, pc)}` : ''
    return new EvaluationError(`logic eval error: ${message}. Details: app=${this.appId}, pc=${pc}${opcodes}`, this)
  }
}
