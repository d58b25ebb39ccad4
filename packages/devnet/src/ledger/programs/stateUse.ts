/** The application state that an instruction uses, for traces: found before it runs, so that a failed one has it too. */
import type { Call, Machine, StateReference } from '@latchkey/avm'
import * as MapKey from '../MapKey.js'
import * as avm from './avm.js'

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
  /** Empty if the program cannot use the account. */
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
  return { kind, use, key: MapKey.of(key), ...referenceOf(place, machine) }
}

function referenceOf(place: Place, { call, stack }: Machine): StateReference {
  const app = place.app === undefined ? undefined : (stack.at(-place.app) ?? 0n)
  // A node reports the value on the stack for boxes, even if it is no id.
  if (place.kind === 'box' && app !== undefined)
    return { appId: typeof app === 'bigint' ? app : 0n, account: undefined }
  if (call === undefined) return { appId: 0n, account: undefined }
  const account = place.account === undefined ? undefined : (stack.at(-place.account) ?? 0n)
  return avm.get().stateReference(call as Call, { app, account, isWritten: place.use !== 'read' })
}
