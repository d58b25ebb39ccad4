/**
 * Runs the programs of a group on a state that the request contains, instead of that of the ledger. Fees, signatures and
 * balances are not checked, and transactions of other types have no effect.
 */
import { LatchkeyError, type Submission } from '@latchkey/algorand'
import type { Effects, Machine, Value } from '@latchkey/avm'
import { errors } from '../../errors.js'
import * as Fees from '../Fees.js'
import type { Chain } from '../IncomingTransaction.js'
import { LedgerError } from '../LedgerError.js'
import type { State } from '../State.js'
import { StateOverlay } from '../StateOverlay.js'
import { applicationHost, type ProgramChain } from './ApplicationHost.js'
import * as avm from './avm.js'
import { TraceSize } from './Trace.js'

/** The transactions and the state on which they run. */
export type DryrunInput = {
  readonly transactions: readonly Submission.Submitted[]
  readonly state: State
  readonly round: bigint | undefined
  readonly latestTimestamp: bigint | undefined
}

/** The machine before an instruction, or at the end. */
export type Step = {
  readonly pc: number
  readonly stack: readonly Value[]
  readonly scratch: readonly Value[]
  readonly error: string | undefined
}

export type ProgramRun = {
  readonly program: Uint8Array
  readonly steps: readonly Step[]
  readonly isAccepted: boolean
  readonly error: string | undefined
}

export type DryrunResult = {
  readonly signed: Submission.Submitted
  readonly logic: ProgramRun | undefined
  readonly call: (ProgramRun & { readonly kind: 'approval' | 'clearState' }) | undefined
  /** Why the application could not be called. */
  readonly callError: string | undefined
  readonly effects: Effects
  readonly budgetAdded: number
  readonly budgetConsumed: number
}

type Host = {
  readonly genesis: { readonly chain: Chain }
  readonly last: { readonly round: bigint }
  readonly programs: ProgramChain
}

/** @throws LedgerError if the traces are too large. */
export function run(
  { transactions, state, round, latestTimestamp }: DryrunInput,
  { genesis, last, programs }: Host,
): DryrunResult[] {
  const { CallGroup } = avm.get()
  const group = transactions.map(({ txn }) => txn)
  const recorder = new Recorder()
  const chain = latestTimestamp === undefined ? programs : { ...programs, latestTimestamp: () => latestTimestamp }
  const overlay = new StateOverlay(state)
  const calls = new CallGroup({
    transactions: group,
    ledger: applicationHost({ chain: genesis.chain, round: round ?? last.round + 1n, overlay, programs: chain }),
    feeUsage: Fees.groupUsage(transactions),
    observer: recorder,
  })
  const results = transactions.map((signed, index): DryrunResult => {
    const logic = runLogic(transactions, index, programs, recorder)
    const effects: Effects = {}
    const before = calls.budgetConsumed
    recorder.begin()
    let callError: string | undefined
    if (signed.txn.type !== 'appl') calls.record(index, effects)
    else {
      try {
        calls.call(index, effects)
      } catch (error) {
        if (!(error instanceof LatchkeyError)) throw error
        callError = error.message
      }
      overlay.addInnerTransaction()
    }
    const { budgetAdded } = calls
    return {
      signed,
      logic,
      call: recorder.call,
      callError,
      effects,
      budgetAdded,
      budgetConsumed: calls.budgetConsumed - before,
    }
  })
  if (recorder.size.isExceeded) {
    const { message, hint } = errors.trace_too_large
    throw new LedgerError('trace_too_large', message, { hint })
  }
  return results
}

function runLogic(
  transactions: readonly Submission.Submitted[],
  index: number,
  ledger: ProgramChain,
  recorder: Recorder,
): ProgramRun | undefined {
  const program = transactions[index]!.lsig?.l
  if (program === undefined) return undefined
  const { evaluateSignature } = avm.get()
  const steps: Step[] = []
  const group = transactions.map(({ txn }) => txn)
  const evaluation = evaluateSignature({
    program,
    args: transactions[index]!.lsig?.arg ?? [],
    group,
    index,
    ledger,
    tracer: { beforeInstruction: (machine) => recorder.add(steps, machine) },
  })
  const { pc, stack, scratch, isAccepted } = evaluation
  const error = evaluation.error?.message
  steps.push({ pc, stack, scratch: usedSlots(scratch), error })
  return { program, steps, isAccepted, error }
}

/** Records the programs of top-level calls. Inner calls are not shown. */
class Recorder {
  readonly size = new TraceSize()
  #depth = 0
  #steps: Step[] = []
  call: DryrunResult['call']

  begin(): void {
    this.#depth = 0
    this.#steps = []
    this.call = undefined
  }

  add(steps: Step[], { pc, stack, scratch }: Machine): void {
    if (this.size.isExceeded) return
    const shown = usedSlots(scratch)
    steps.push({ pc, stack: [...stack], scratch: shown, error: undefined })
    this.size.addUnit()
    for (const value of stack) this.size.addValue(value)
    for (const value of shown) this.size.addValue(value)
  }

  beforeInnerGroup = (): void => {
    this.#depth++
  }

  afterInnerGroup = (): void => {
    this.#depth--
  }

  beforeInstruction = (machine: Machine): void => {
    if (this.#depth === 0) this.add(this.#steps, machine)
  }

  afterProgram = (
    call: { readonly machine: Machine; readonly kind: 'approval' | 'clearState' },
    isAccepted: boolean,
    error: Error | undefined,
  ): void => {
    if (this.#depth > 0) return
    const { machine, kind } = call
    const { pc, stack, scratch, program } = machine
    const message = error?.message
    const last = { pc, stack: [...stack], scratch: usedSlots(scratch), error: message }
    this.call = { kind, program, steps: [...this.#steps, last], isAccepted, error: message }
  }
}

/** The scratch space up to the last slot that is not zero. */
function usedSlots(scratch: readonly Value[]): Value[] {
  return scratch.slice(0, scratch.findLastIndex((value) => value !== 0n) + 1)
}
