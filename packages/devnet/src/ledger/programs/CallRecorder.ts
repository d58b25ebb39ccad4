/** Records the application calls of a simulated group: traces, initial state, and where they failed. */
import type { ApplicationLedger, Call, CallGroup, EvaluationError, Observer, Value } from '@latchkey/avm'
import * as Fees from '../Fees.js'
import type { MapKey } from '../MapKey.js'
import * as avm from './avm.js'
import type { StateKind, StateUse } from './stateUse.js'
import { ProgramRecorder, type TraceOptions, type TraceSize, type TransactionTrace } from './Trace.js'

/** The values of an application before the simulation, as far as programs used them. */
export type InitialState = {
  readonly globals: Map<MapKey, Value | undefined>
  readonly locals: Map<MapKey, Map<MapKey, Value | undefined>>
  readonly boxes: Map<MapKey, Value | undefined>
}

type Level = {
  readonly trace: TransactionTrace
  /** Running or finished programs, the innermost last. */
  program: ProgramRecorder | undefined
  /** The number of inner transactions so far. */
  inners: number
}

export class CallRecorder implements Observer {
  readonly #trace: TraceOptions | undefined
  readonly #size: TraceSize
  readonly #seen = new Set<string>()
  readonly initialStates = new Map<bigint, InitialState>()
  /** The levels of calls, from the top-level transaction to the running one. */
  #levels: Level[] = []
  #path: number[] = []
  /** The usage of inner transactions, in millionths of a minimum fee. */
  innerUsage = 0n
  /** The fees of the inner transactions of each top-level transaction. */
  readonly innerFees = new Map<number, bigint>()
  /** The place of the failure: the index of the transaction, then of the inner ones. */
  failedAt: readonly number[] | undefined

  constructor(trace: TraceOptions | undefined, size: TraceSize) {
    this.#trace = trace
    this.#size = size
  }

  /** Begins with a top-level transaction. */
  begin(index: number, trace: TransactionTrace): void {
    this.#levels = [{ trace, program: undefined, inners: 0 }]
    this.#path = [index]
    this.failedAt = undefined
  }

  get #level(): Level {
    return this.#levels.at(-1)!
  }

  beforeProgram = (call: Call): void => {
    if (this.#trace === undefined) return
    const recorder = new ProgramRecorder(call.machine.program, this.#trace, this.#size)
    const level = this.#level
    level.program = recorder
    if (call.kind === 'approval') level.trace.approval = recorder.trace
    else level.trace.clearState = recorder.trace
  }

  afterProgram = (call: Call, isAccepted: boolean, error: EvaluationError | undefined): void => {
    if (call.kind === 'approval' || isAccepted) return
    this.#level.trace.rollback = { error: error && reasonOf(error.message) }
    // The failure of an inner transaction is undone with the clear state program.
    this.failedAt = undefined
  }

  beforeInstruction: NonNullable<Observer['beforeInstruction']> = (machine) => {
    const { program } = this.#level
    program?.before(machine)
    if (program?.use !== undefined && machine.call !== undefined) this.#recordInitial(program.use, machine.call as Call)
  }

  afterInstruction: NonNullable<Observer['afterInstruction']> = (machine, error) => {
    this.#level.program?.after(machine, error)
  }

  beforeInnerGroup = ({ transactions }: CallGroup): void => {
    const group = transactions.map((txn) => ({ txn }))
    this.innerUsage += Fees.groupUsage(group)
    const index = this.#path[0]!
    this.innerFees.set(index, (this.innerFees.get(index) ?? 0n) + Fees.paid(group))
  }

  beforeInnerTransaction = (): void => {
    const parent = this.#level
    const trace: TransactionTrace = { inners: [] }
    parent.trace.inners.push(trace)
    parent.program?.unit?.inners.push(parent.inners)
    this.#path.push(parent.inners)
    parent.inners++
    this.#levels.push({ trace, program: undefined, inners: 0 })
  }

  afterInnerTransaction = (_group: CallGroup, _index: number, _effects: unknown, error: unknown): void => {
    if (error !== undefined && (this.failedAt === undefined || this.failedAt.length <= this.#path.length)) {
      this.failedAt = [...this.#path]
    }
    this.#levels.pop()
    this.#path.pop()
  }

  /** A value that is written before it was read, and did not exist, is not part of the initial state. */
  #recordInitial({ kind, use, appId, key, account = '' }: StateUse, call: Call): void {
    const name = `${kind}:${appId}:${account}:${key}`
    // As on a node, the accesses of an application that was created in the group do not count.
    const isNew = call.resources.createdApps.has(call.appId)
    const { ledger } = call.group
    if (this.#seen.has(name) || isNew) return
    this.#seen.add(name)
    if (kind === 'local' && account === '') avm.get().useZeroAddress(call, use !== 'read')
    const state = this.initialStates.get(appId) ?? { globals: new Map(), locals: new Map(), boxes: new Map() }
    this.initialStates.set(appId, state)
    const value = currentValue(ledger, kind, appId, key, account)
    this.#size.addValue(value, name.length + key.length)
    if (value === undefined && use === 'write') return
    if (kind === 'global') state.globals.set(key, value)
    else if (kind === 'box') state.boxes.set(key, value)
    else {
      const values = state.locals.get(account) ?? new Map<MapKey, Value | undefined>()
      state.locals.set(account, values.set(key, value))
    }
  }
}

function currentValue(
  ledger: ApplicationLedger,
  kind: StateKind,
  appId: bigint,
  key: MapKey,
  account: MapKey,
): Value | undefined {
  if (kind === 'global') return ledger.globalValue(appId, key)
  return kind === 'box' ? ledger.box(appId, key) : ledger.localValue(account, appId, key)
}

/** Without the place, which the trace shows. */
function reasonOf(message: string): string {
  return /^logic eval error: (.*?)\. Details: app=/s.exec(message)?.[1] ?? message
}
