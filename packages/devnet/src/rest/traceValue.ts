/** Traces of programs in the form of the simulation's response. */
import type { Value as ProgramValue } from '@latchkey/avm'
import * as MapKey from '../ledger/MapKey.js'
import type { InitialState } from '../ledger/programs/CallRecorder.js'
import type { ProgramTrace, StateChange, TransactionTrace, Unit } from '../ledger/programs/Trace.js'
import type { Value } from './HttpResponse.js'

/** Absent and empty members are omitted, as on a node. */
export function traceValue({ logic, approval, clearState, rollback, inners }: TransactionTrace): Value {
  return {
    'approval-program-hash': approval?.hash,
    'approval-program-trace': unitsValue(approval),
    'clear-state-program-hash': clearState?.hash,
    'clear-state-program-trace': unitsValue(clearState),
    'clear-state-rollback': rollback && true,
    'clear-state-rollback-error': rollback?.error,
    'inner-trace': inners.length === 0 ? undefined : inners.map(traceValue),
    'logic-sig-hash': logic?.hash,
    'logic-sig-trace': unitsValue(logic),
  }
}

function unitsValue(trace: ProgramTrace | undefined): Value | undefined {
  return trace === undefined || trace.units.length === 0 ? undefined : trace.units.map(unitValue)
}

function unitValue({ pc, pops, additions, scratch, state, inners }: Unit): Value {
  return {
    pc: pc || undefined,
    'scratch-changes': listed(scratch, ({ slot, value }) => ({
      'new-value': avmValue(value),
      slot,
    })),
    'spawned-inners': listed(inners, (index) => index),
    'stack-additions': listed(additions, avmValue),
    'stack-pop-count': pops || undefined,
    'state-changes': listed(state, changeValue),
  }
}

function listed<T>(items: readonly T[], write: (item: T) => Value): Value | undefined {
  return items.length === 0 ? undefined : items.map(write)
}

const stateTypes = { global: 'g', local: 'l', box: 'b' } as const

function changeValue({ kind, key, account, value, isDeletion }: StateChange): Value {
  return {
    account: account ? MapKey.address(account) : undefined,
    'app-state-type': stateTypes[kind],
    key: MapKey.bytes(key),
    'new-value': value === undefined ? undefined : avmValue(value),
    operation: isDeletion ? 'd' : 'w',
  }
}

/** A value of a program: its type is 1 for bytes and 2 for integers, and zero values are omitted. */
export function avmValue(value: ProgramValue): Value {
  if (typeof value === 'bigint') return { type: 2, uint: value || undefined }
  return { bytes: value.length === 0 ? undefined : value, type: 1 }
}

/** The values of applications before the simulation. */
export function initialStatesValue(states: ReadonlyMap<bigint, InitialState> | undefined): Value {
  if (states === undefined || states.size === 0) return {}
  const sorted = [...states].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    'app-initial-states': sorted.map(([id, { globals, locals, boxes }]) => ({
      'app-boxes': boxes.size === 0 ? undefined : { kvs: pairs(boxes) },
      'app-globals': globals.size === 0 ? undefined : { kvs: pairs(globals) },
      'app-locals':
        locals.size === 0
          ? undefined
          : [...locals].map(([account, values]) => ({
              account: account === '' ? undefined : MapKey.address(account),
              kvs: pairs(values),
            })),
      id,
    })),
  }
}

function pairs(values: ReadonlyMap<MapKey.MapKey, ProgramValue | undefined>): Value {
  return [...values]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => ({ key: MapKey.bytes(key), value: value === undefined ? { type: 0 } : avmValue(value) }))
}
