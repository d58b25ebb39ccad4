/** The state of programs at a failure, in the data of an error response. */
import type { Call, Evaluation, EvaluationError, Group, Value as ProgramValue } from '@latchkey/avm'
import type { LedgerError } from '../ledger/LedgerError.js'
import type { Value } from './HttpResponse.js'

type Members = { readonly [name: string]: Value | undefined }

/** The programs of a group can fill 134 MB of scratch space, which a node sends. */
const maxStateBytes = 8 * 1024 * 1024

/** The data of a group whose program failed, or undefined if none did. */
export function failureData(error: LedgerError): Members | undefined {
  const room = { bytes: maxStateBytes }
  const { index, signatures } = error
  if (signatures !== undefined) return index === undefined ? undefined : signatureAttributes(signatures, index, room)
  return callAttributes(error.cause, room)
}

/** The bytes that the values of a response may still have. */
type Room = { bytes: number }

function signatureAttributes(
  signatures: readonly (Evaluation | undefined)[],
  index: number,
  room: Room,
): Members | undefined {
  const failed = signatures[index]
  if (failed?.error === undefined) return undefined
  const states = Array.from({ length: index + 1 }, (_, place) => ({
    scratch: signatures[place]?.scratch,
    stack: place === index ? failed.stack : undefined,
  }))
  return { 'eval-states': statesValue(states, room), 'group-index': index, pc: failed.pc }
}

/** A program that ends with zero fails without an error of its own, and has no attributes. */
function callAttributes(error: unknown, room: Room): Members | undefined {
  const call = (error as EvaluationError | undefined)?.call as Call | undefined
  if (call === undefined) return undefined
  const inner = innerFailure(error as EvaluationError)
  return {
    'app-index': call.appId,
    'eval-states': statesValue(callStates(call), room),
    'group-index': call.index,
    'inner-attrs': inner && callAttributes(inner, room),
    'inner-msg': inner?.message,
    pc: call.machine.pc,
  }
}

/** The error of a call was caused by that of an instruction, and that of `itxn_submit` by the inner transaction. */
function innerFailure({ cause }: EvaluationError): Error | undefined {
  const { cause: inner } = cause as Error
  return inner as Error | undefined
}

type State = {
  readonly logs?: readonly Uint8Array[] | undefined
  readonly scratch?: readonly ProgramValue[] | undefined
  readonly stack?: readonly ProgramValue[] | undefined
}

/** Only the program that failed still has a stack. */
function callStates(call: Call): State[] {
  const { group, index, machine, delta } = call
  const earlier = Array.from({ length: index }, (_, place) => stateOf(group, place))
  return [...earlier, { logs: delta.logs, scratch: machine.scratch, stack: machine.stack }]
}

function stateOf({ effects, scratches }: Group, index: number): State {
  return { logs: effects[index]?.delta?.logs, scratch: scratches[index] }
}

/** Returns undefined if the values have more bytes than there is room for. */
function statesValue(states: readonly State[], room: Room): Value | undefined {
  for (const { logs = [], scratch = [], stack = [] } of states) {
    for (const value of [...logs, ...scratch, ...stack]) room.bytes -= typeof value === 'bigint' ? 8 : value.length
  }
  if (room.bytes < 0) return undefined
  return states.map(({ logs = [], scratch = [], stack = [] }) => ({
    logs: listed(logs),
    // Slots after the last one that was used are left out.
    scratch: listed(scratch.slice(0, scratch.findLastIndex((value) => value !== 0n) + 1)),
    stack: listed(stack),
  }))
}

function listed(values: readonly ProgramValue[]): Value | undefined {
  return values.length === 0 ? undefined : values
}
