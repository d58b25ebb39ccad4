/** The results of a dry run in the form of nodes. */
import type { Value as ProgramValue } from '@latchkey/avm'
import * as Consensus from '../ledger/Consensus.js'
import * as avm from '../ledger/programs/avm.js'
import type { DryrunResult, ProgramRun, Step } from '../ledger/programs/Dryrun.js'
import { deltaMembers } from './effectsValue.js'
import type { Value } from './HttpResponse.js'

export function responseOf(results: readonly DryrunResult[]): Value {
  return { error: '', 'protocol-version': Consensus.version, txns: results.map(resultValue) }
}

function resultValue({ signed, logic, call, callError, effects, budgetAdded, budgetConsumed }: DryrunResult): Value {
  const delta = effects.delta === undefined ? {} : deltaMembers(effects.delta, signed.txn)
  const ran = call === undefined ? undefined : traceOf(call)
  const isCall = signed.txn.type === 'appl'
  return {
    'app-call-messages': isCall ? callMessages(call, callError) : undefined,
    'app-call-trace': ran?.trace,
    'budget-added': isCall ? budgetAdded : undefined,
    'budget-consumed': isCall ? budgetConsumed : undefined,
    disassembly: ran?.disassembly ?? [],
    'global-delta': delta['global-state-delta'],
    'local-deltas': delta['local-state-delta'],
    'logic-sig-disassembly': logic && traceOf(logic).disassembly,
    'logic-sig-messages': logic && verdict(logic.isAccepted, logic.error),
    'logic-sig-trace': logic && traceOf(logic).trace,
    logs: delta['logs'],
  }
}

function verdict(isAccepted: boolean, error: string | undefined): Value[] {
  return [isAccepted ? 'PASS' : 'REJECT', ...(error === undefined ? [] : [error])]
}

function callMessages(call: DryrunResult['call'], error: string | undefined): Value[] {
  if (call === undefined) return error === undefined ? [] : ['REJECT', error]
  const name = call.kind === 'approval' ? 'ApprovalProgram' : 'ClearStateProgram'
  return [name, ...verdict(call.isAccepted, call.error)]
}

function traceOf({ program, steps }: ProgramRun): { readonly disassembly: Value[]; readonly trace: Value } {
  const { text, lines } = avm.get().disassemble(program)
  const disassembly = text.split('\n')
  const trace = steps.map((step) => stepValue(step, lines.get(step.pc) ?? disassembly.length - 1))
  return { disassembly, trace }
}

function stepValue({ pc, stack, scratch, error }: Step, line: number): Value {
  return {
    error,
    line,
    pc,
    scratch: scratch.length === 0 ? undefined : scratch.map(programValue),
    stack: stack.map(programValue),
  }
}

/** All three members are present. */
function programValue(value: ProgramValue): Value {
  return typeof value === 'bigint' ? { bytes: '', type: 2, uint: value } : { bytes: value, type: 1, uint: 0 }
}
