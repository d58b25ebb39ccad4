/** The place where an application call failed, and the state of its program, in the data of the error. */
import type { Call, EvaluationError } from '@latchkey/avm'
import type { LedgerError } from '../ledger/LedgerError.js'
import type { Value } from './ResponseValue.js'
import { avmValue } from './traceValue.js'

export function failureData({ cause, index }: LedgerError): { [name: string]: Value | undefined } | undefined {
  const call = (cause as EvaluationError | undefined)?.call as Call | undefined
  if (call === undefined) return undefined
  const { pc, stack, scratch } = call.machine
  // Slots after the last one that was used are left out.
  const used = scratch.findLastIndex((value) => value !== 0n) + 1
  const { logs } = call.delta
  return {
    'app-index': call.appId,
    'eval-states': [
      {
        logs: logs.length === 0 ? undefined : logs,
        scratch: used === 0 ? undefined : scratch.slice(0, used).map(avmValue),
        stack: stack.length === 0 ? undefined : stack.map(avmValue),
      },
    ],
    'group-index': index,
    pc,
  }
}
