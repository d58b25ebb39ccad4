/** Evaluates a group without changing the ledger. */
import type { Submission } from '@latchkey/algorand'
import type { CallGroup, Evaluation, SimulationLimits } from '@latchkey/avm'
import { errors } from '../errors.js'
import type { Outcome } from './apply/index.js'
import * as Evaluate from './Evaluate.js'
import * as IncomingTransaction from './IncomingTransaction.js'
import { LedgerError, simulateText } from './LedgerError.js'
import * as MapKey from './MapKey.js'
import type { ProgramChain } from './programs/ApplicationHost.js'
import { CallRecorder, type InitialState } from './programs/CallRecorder.js'
import { logicTracer, ProgramRecorder, type TraceOptions, TraceSize, type TransactionTrace } from './programs/Trace.js'
import { StateOverlay } from './StateOverlay.js'
import type { StateReader } from './StateReader.js'

export type SimulationOptions = {
  allowsEmptySignatures: boolean
  /** Unsigned transactions count as authorized by the account that may authorize them at that point of the group. */
  fixesSigners: boolean
  /** Records what programs do. @default undefined */
  trace?: TraceOptions | undefined
  /** Relaxes the limits of application calls. @default undefined */
  limits?: SimulationLimits | undefined
}

export type SimulationContext = {
  readonly chain: Evaluate.Chain
  readonly round: bigint
  readonly state: StateReader
  /** The chain as programs read it. */
  readonly programs: ProgramChain
}

export type SimulationResult = {
  /** The outcomes of all members, or up to the failed one, whose outcome is partial. */
  readonly outcomes: readonly Outcome[]
  /** The signers used instead of the named ones, where they differ. */
  readonly fixedSigners: ReadonlyMap<number, MapKey.MapKey>
  readonly failure: SimulationFailure | undefined
  /** The application calls, if there are any. */
  readonly calls: SimulatedCalls | undefined
  /** The cost of each logic signature that ran, by the index of its transaction. */
  readonly logicCosts: ReadonlyMap<number, number>
  /** The traces of transactions with programs, if they were asked for. */
  readonly traces: ReadonlyMap<number, TransactionTrace>
}

export type SimulatedCalls = {
  readonly group: CallGroup
  readonly initialStates: ReadonlyMap<bigint, InitialState>
  /** The usage of inner transactions, in millionths of a minimum fee. */
  readonly innerUsage: bigint
  /** The fees of the inner transactions of each transaction, by its index. */
  readonly innerFees: ReadonlyMap<number, bigint>
  /** The cost of each transaction that ran a program, by its index. */
  readonly costs: ReadonlyMap<number, number>
}

export type SimulationFailure = {
  readonly message: string
  /** The index of the transaction, then those of inner transactions. */
  readonly path: readonly number[]
  /** Whether the failure is in the form or the signatures of the group, before the evaluation. */
  readonly isStateless: boolean
}

/** Throws a LedgerError only if no single transaction is at fault, for which nodes send an error response. */
export function run(
  group: readonly Submission.Decoded[],
  { allowsEmptySignatures, fixesSigners, trace, limits }: SimulationOptions,
  { chain, round, state, programs }: SimulationContext,
): SimulationResult {
  const outcomes: Outcome[] = []
  const fixedSigners = fixesSigners ? fixSigners(group, state) : new Map<number, MapKey.MapKey>()
  const logicCosts = new Map<number, number>()
  const traces = new Map<number, TransactionTrace>()
  const overlay = new StateOverlay(state)
  const size = new TraceSize()
  const recorder = new CallRecorder(trace, size)
  const costs = new Map<number, number>()
  let calls: CallGroup | undefined
  let consumed = 0
  let current = -1
  const finish = (): void => {
    const cost = (calls?.budgetConsumed ?? 0) - consumed
    if (cost > 0) costs.set(current, cost)
    consumed += cost
  }
  const results = () => {
    if (size.isExceeded) throw traceTooLarge()
    finish()
    const { initialStates, innerUsage, innerFees } = recorder
    const simulated = calls && { group: calls, initialStates, costs, innerUsage, innerFees }
    return { outcomes, fixedSigners, logicCosts, traces, calls: simulated }
  }
  try {
    const transactions = IncomingTransaction.prepare(group, chain)
    const empty = allowsEmptySignatures ? { fixesSigners } : undefined
    const context = {
      chain: programs,
      showsOpcodes: true,
      tracer: (index: number, program: Uint8Array) => {
        if (trace === undefined) return undefined
        const recorder = new ProgramRecorder(program, trace, size)
        traces.set(index, { logic: recorder.trace, inners: [] })
        return logicTracer(recorder)
      },
      onEvaluated: (index: number, { cost }: Evaluation) => logicCosts.set(index, cost),
    }
    IncomingTransaction.checkSignatures(transactions, context, empty)
    Evaluate.group(
      transactions,
      {
        chain,
        round,
        overlay,
        programs,
        fixedSigners,
        limits: { ...limits, showsOpcodes: true },
        observer: recorder,
        onCallGroup: (group) => {
          calls = group
        },
        beforeTransaction: (index) => {
          finish()
          current = index
          const ofTransaction = traces.get(index) ?? { inners: [] }
          if (trace !== undefined && transactions[index]!.txn.type === 'appl') traces.set(index, ofTransaction)
          recorder.begin(index, ofTransaction)
          if (fixesSigners) fixSigner(transactions, index, overlay, fixedSigners)
        },
      },
      outcomes,
    )
    return { ...results(), failure: fixesSigners ? placeholderFailure(transactions, fixedSigners) : undefined }
  } catch (error) {
    if (!(error instanceof LedgerError) || error.index === undefined) throw error
    return { ...results(), failure: failureOf(error, recorder.failedAt ?? [error.index]) }
  }
}

function traceTooLarge(): LedgerError {
  const { message, hint } = errors.trace_too_large
  return new LedgerError('trace_too_large', message, { hint })
}

function failureOf(error: LedgerError, path: readonly number[]): SimulationFailure {
  return { message: simulateText(error), path, isStateless: error.code !== 'rule_violation' }
}

function placeholderFailure(
  transactions: readonly IncomingTransaction.IncomingTransaction[],
  fixedSigners: ReadonlyMap<number, MapKey.MapKey>,
): SimulationFailure | undefined {
  const problem = IncomingTransaction.placeholderProblem(transactions, fixedSigners)
  return problem && { message: problem.reason, path: [problem.index], isStateless: false }
}

/**
 * Returns the signers of unsigned members that name another one. As on a node they are determined before the
 * evaluation, from the state and from the rekeying in the group: a member after the failed one has its signer too, and
 * an account that is closed in the group keeps its own. An application call may rekey, so the members after one are
 * fixed when they are evaluated.
 */
function fixSigners(group: readonly Submission.Decoded[], state: StateReader): Map<number, MapKey.MapKey> {
  const fixed = new Map<number, MapKey.MapKey>()
  const rekeyed = new Map<MapKey.MapKey, MapKey.MapKey>()
  for (const [index, { signed }] of group.entries()) {
    const { txn } = signed
    const sender = MapKey.ofField(txn.snd)
    if (IncomingTransaction.needsSigner(signed)) {
      const signer = rekeyed.get(sender) ?? state.account(sender).authorizer ?? sender
      const named = signed.sgnr === undefined ? sender : MapKey.of(signed.sgnr)
      if (signer !== named) fixed.set(index, signer)
    }
    if (txn.type === 'appl') break
    if (txn.rekey !== undefined) rekeyed.set(sender, MapKey.of(txn.rekey))
  }
  return fixed
}

/** Fixes the signer of an unsigned member after an application call. */
function fixSigner(
  transactions: readonly IncomingTransaction.IncomingTransaction[],
  index: number,
  overlay: StateOverlay,
  fixed: Map<number, MapKey.MapKey>,
): void {
  const { sender, authorizer, signed } = transactions[index]!
  if (!IncomingTransaction.needsSigner(signed) || !transactions.slice(0, index).some(({ txn }) => txn.type === 'appl'))
    return
  const signer = overlay.account(sender).authorizer ?? sender
  if (signer !== authorizer) fixed.set(index, signer)
}
