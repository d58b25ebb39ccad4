/** Applications and their state. Records are immutable once they are committed, so that copies of the state share them. */
import { Hash } from '@latchkey/algorand'
import type { Application, StateSchema, Value } from '@latchkey/avm'
import * as MapKey from '../MapKey.js'

/** An application with its global state. */
export type AppRecord = { readonly params: Application; readonly globals: StateValues }

/** The state of an account in an application. */
export type LocalState = { readonly schema: StateSchema; readonly values: StateValues }

/** Values by key. Their owner may change them in place: the layer of changes that created them. */
export class StateValues {
  readonly owner: object | undefined
  readonly #values: Map<MapKey.MapKey, Value>
  #integers: number
  #byteStrings: number

  constructor(owner?: object, from?: StateValues) {
    this.owner = owner
    this.#values = new Map(from?.entries())
    this.#integers = from?.counts.integers ?? 0
    this.#byteStrings = from?.counts.byteStrings ?? 0
  }

  get(key: MapKey.MapKey): Value | undefined {
    return this.#values.get(key)
  }

  entries(): IterableIterator<[MapKey.MapKey, Value]> {
    return this.#values.entries()
  }

  get size(): number {
    return this.#values.size
  }

  get counts(): StateSchema {
    return { integers: this.#integers, byteStrings: this.#byteStrings }
  }

  /** Sets a value, or deletes it. Only for the owner. */
  set(key: MapKey.MapKey, value: Value | undefined): void {
    this.#count(this.#values.get(key), -1)
    this.#count(value, 1)
    if (value === undefined) this.#values.delete(key)
    else this.#values.set(key, value)
  }

  #count(value: Value | undefined, change: number): void {
    if (typeof value === 'bigint') this.#integers += change
    else if (value !== undefined) this.#byteStrings += change
  }
}

const prefix = Buffer.from('appID')

/** The account of an application. */
export function appAddress(appId: bigint): MapKey.MapKey {
  const bytes = Buffer.alloc(prefix.length + 8)
  prefix.copy(bytes)
  bytes.writeBigUInt64BE(appId, prefix.length)
  return MapKey.of(Hash.sha512_256(bytes))
}
