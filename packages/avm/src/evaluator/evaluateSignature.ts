/** Evaluates logic signatures. */
import type { Transaction } from '@latchkey/algorand'
import { Budget } from './Budget.js'
import { type ConsensusParameters, defaultParameters } from './ConsensusParameters.js'
import { Context } from './Context.js'
import { EvaluationError } from './EvaluationError.js'
import type { Ledger } from './Ledger.js'
import { Machine, type Tracer } from './Machine.js'
import { openProgram } from './openProgram.js'
import { run } from './run.js'
import type { Value } from './Value.js'

/** A logic signature and its environment. */
export type SignatureOptions = {
  readonly program: Uint8Array
  readonly args?: readonly Uint8Array[]
  readonly group: readonly Transaction.Transaction[]
  /** The index of the transaction with the logic signature. */
  readonly index: number
  readonly ledger: Ledger
  /** The parameters of the consensus protocol. @default defaultParameters */
  readonly parameters?: ConsensusParameters
  /** The budget that the logic signatures of the group share. @default the budget of the whole group */
  readonly budget?: Budget
  readonly tracer?: Tracer
}

/** The result of an evaluation. */
export type Evaluation = {
  readonly isAccepted: boolean
  /** Why the program failed, or undefined if it ran to its end. */
  readonly error: EvaluationError | undefined
  /** The instruction that failed, or the end. */
  readonly pc: number
  readonly cost: number
  /** The stack at the end or at the failure. */
  readonly stack: readonly Value[]
  readonly scratch: readonly Value[]
}

/**
 * Evaluates a logic signature. Failures of the program are part of the result. Check a program before its first run.
 *
 * @throws RangeError if the group has no such transaction, and errors of the ledger.
 *
 * @example
 * const program = Uint8Array.of(10, 0x81, 1)
 * const blockHeader = () => {
 *   throw new RangeError('the program reads no block')
 * }
 * const ledger = { genesisHash: new Uint8Array(32), blockHeader }
 * const group = [{ type: 'pay', snd: new Uint8Array(32) }]
 * evaluateSignature({ program, group, index: 0, ledger }).isAccepted // true
 */
export function evaluateSignature(options: SignatureOptions): Evaluation {
  const { program, group, args = [], parameters = defaultParameters } = options
  if (group[options.index] === undefined) throw new RangeError(`the group has no transaction ${options.index}`)
  const opened = openProgram(program, group, parameters)
  const machine = new Machine({
    program,
    version: opened.version,
    start: opened.start,
    mode: 'signature',
    args,
    context: new Context(group, options.ledger, parameters),
    index: options.index,
    budget: options.budget ?? new Budget(parameters.signatureBudget * group.length),
  })
  let isAccepted = false
  let error = opened.error
  try {
    if (error === undefined) isAccepted = run(machine, options.tracer) !== 0n
  } catch (thrown) {
    if (!(thrown instanceof EvaluationError)) throw thrown
    error = thrown
  }
  const { pc, cost, stack, scratch } = machine
  return { isAccepted, error, pc, cost, stack, scratch }
}

/** The text with which a node rejects the transaction, or undefined if the program accepted it. */
export function rejectionOf({ isAccepted, error, pc }: Evaluation): string | undefined {
  if (error !== undefined) return `rejected by logic err=${error.message}. Details: pc=${pc}`
  return isAccepted ? undefined : 'rejected by logic'
}
