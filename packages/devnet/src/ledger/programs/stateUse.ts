/** The application state that an instruction uses, for traces: found before it runs, so that a failed one has it too. */
import type { Call, Machine, Value } from '@latchkey/avm'
import * as MapKey from '../MapKey.js'

export type StateKind = 'global' | 'local' | 'box'

/** The effect of an instruction on a key. */
type Use = 'read' | 'write' | 'delete'

/** Positions below the top of the stack. Without `app`, the state is that of the running application. */
type Place = {
  readonly kind: StateKind
  readonly use: Use
  readonly key: number
  readonly account?: number
  readonly app?: number
}

export type StateUse = {
  readonly kind: StateKind
  readonly use: Use
  readonly appId: bigint
  readonly key: MapKey.MapKey
  readonly account: MapKey.MapKey | undefined
}

const boxes: { readonly [name: string]: Place } = {
  box_create: { kind: 'box', use: 'write', key: 2 },
  box_del: { kind: 'box', use: 'delete', key: 1 },
  box_extract: { kind: 'box', use: 'read', key: 3 },
  box_get: { kind: 'box', use: 'read', key: 1 },
  box_len: { kind: 'box', use: 'read', key: 1 },
  box_put: { kind: 'box', use: 'write', key: 2 },
  box_replace: { kind: 'box', use: 'write', key: 3 },
  box_resize: { kind: 'box', use: 'write', key: 2 },
  box_splice: { kind: 'box', use: 'write', key: 4 },
}

const places = new Map<string, Place>(
  Object.entries({
    app_global_get: { kind: 'global', use: 'read', key: 1 },
    app_global_get_ex: { kind: 'global', use: 'read', key: 1, app: 2 },
    app_global_put: { kind: 'global', use: 'write', key: 2 },
    app_global_del: { kind: 'global', use: 'delete', key: 1 },
    app_local_get: { kind: 'local', use: 'read', key: 1, account: 2 },
    app_local_get_ex: { kind: 'local', use: 'read', key: 1, app: 2, account: 3 },
    app_local_put: { kind: 'local', use: 'write', key: 2, account: 3 },
    app_local_del: { kind: 'local', use: 'delete', key: 1, account: 2 },
    ...boxes,
    // The id of the application is below the name.
    ...Object.fromEntries(Object.entries(boxes).map(([name, box]) => [`app_${name}`, { ...box, app: box.key + 1 }])),
  } satisfies { [name: string]: Place }),
)

/** Returns the state that an instruction is about to use, or undefined. */
export function stateUse(name: string, machine: Machine): StateUse | undefined {
  const place = places.get(name)
  if (place === undefined) return undefined
  // A node reports an empty key if the value on the stack is none, and the instruction fails.
  const found = machine.stack.at(-place.key)
  const key = found instanceof Uint8Array ? found : new Uint8Array()
  const { kind, use } = place
  const current = (machine.call as Call | undefined)?.appId ?? 0n
  const appId = place.app === undefined ? current : appOf(machine.stack.at(-place.app), kind, machine, current)
  const account = place.account === undefined ? undefined : accountOf(machine.stack.at(-place.account), machine)
  return { kind, use, appId, key: MapKey.of(key), account }
}

/**
 * An id, or an index into the application itself and those that the transaction names. A node reports the value on the
 * stack for boxes, even if it is no id.
 */
function appOf(value: Value | undefined, kind: StateKind, { context, index }: Machine, current: bigint): bigint {
  if (kind === 'box') return typeof value === 'bigint' ? value : 0n
  if (typeof value !== 'bigint' || value === 0n) return current
  const { apfa = [] } = context.group[index]!
  return value <= BigInt(apfa.length) ? apfa[Number(value) - 1]! : value
}

/** An address, or an index into the sender and the accounts of the transaction. */
function accountOf(value: Value | undefined, { context, index }: Machine): MapKey.MapKey | undefined {
  if (value instanceof Uint8Array) return value.length === 32 ? MapKey.of(value) : undefined
  const { snd, apat = [], al = [] } = context.group[index]!
  if (value === undefined || value > 64n) return undefined
  if (value === 0n) return MapKey.of(snd)
  const named = apat[Number(value) - 1] ?? al[Number(value) - 1]?.d
  return named && MapKey.of(named)
}
