// The types of msgpack values. One table of them drives decoding, encoding, the check for canonical form and the JSON
// form, so that all four agree about every field.

export type Kind =
  | { readonly kind: 'uint'; readonly bits: 8 | 16 | 32 | 64; readonly max: number }
  | { readonly kind: 'bool' }
  | { readonly kind: 'fixed'; readonly size: number; readonly fillsShort: boolean; readonly isAddress: boolean }
  | { readonly kind: 'bytes'; readonly max: number; readonly isNilRead: boolean }
  | { readonly kind: 'utf8'; readonly max: number }
  | { readonly kind: 'text'; readonly max: number }
  | List
  | UintMap
  | Struct

export type List = {
  readonly kind: 'list'
  readonly of: Kind
  readonly max: number
  /** Bound on the sum of the lengths of byte strings in the list. */
  readonly maxTotal: number
}

export type UintMap = { readonly kind: 'uintMap'; readonly of: Kind; readonly max: number }

export type Struct = {
  readonly kind: 'struct'
  /** In the order of the keys' bytes, which is the order of the wire format. */
  readonly fields: readonly Field[]
  readonly byName: ReadonlyMap<string, Field>
  readonly requiredCount: number
  /** Written even without members, if it was given. */
  readonly keepEmpty: boolean
  /** Names in the order of the array form, as far as that form is supported. */
  readonly positional: readonly string[]
}

export type Field = {
  readonly name: string
  readonly of: Kind
  readonly presence: Presence
  readonly index: number
  /** The encoded key: header and name. */
  readonly key: Uint8Array
  /** The length and bytes of the name, packed into integers to compare keys without a loop. */
  readonly keyLength: number
  readonly keyHigh: number
  readonly keyLow: number
}

/** `required`: rejected if zero or missing. `always`: the zero value if zero or missing. */
export type Presence = 'optional' | 'required' | 'always'

/** A kind with the type of its values, which only the compiler uses. */
export type Typed<T> = Kind & { readonly valueType?: T }

export type Member<T, P extends Presence> = { readonly of: Typed<T>; readonly presence: P }

type Members = Record<string, Typed<unknown> | Member<unknown, Presence>>

/** The type of the values of a kind. */
export type ValueOf<K> = K extends { readonly valueType?: infer T } ? T : never

/** Values are read-only, because decoded ones are kept with the bytes they came from. */
type StructOf<M extends Members> = Simplify<
  {
    readonly [N in keyof M as M[N] extends Member<unknown, Presence> ? N : never]: M[N] extends Member<
      infer T,
      Presence
    >
      ? T
      : never
  } & {
    readonly [N in keyof M as M[N] extends Member<unknown, Presence> ? never : N]?: ValueOf<M[N]> | undefined
  }
>

type Simplify<T> = { [N in keyof T]: T[N] }

export const uint64: Typed<bigint> = { kind: 'uint', bits: 64, max: 0 }
export const uint32: Typed<number> = { kind: 'uint', bits: 32, max: 0xffffffff }
export const uint16: Typed<number> = { kind: 'uint', bits: 16, max: 0xffff }
export const uint8: Typed<number> = { kind: 'uint', bits: 8, max: 0xff }
export const bool: Typed<boolean> = { kind: 'bool' }

/** Bytes of a fixed length. In JSON an address has its text form, other bytes are base64. */
export function fixed(size: number, options: { fillsShort?: boolean; isAddress?: boolean } = {}): Typed<Uint8Array> {
  return { kind: 'fixed', size, fillsShort: options.fillsShort ?? false, isAddress: options.isAddress ?? false }
}

/** In a list, nil and empty bytes are two values with two encodings. With `isNilRead`, nil is read as empty bytes. */
export function bytes(max: number, options: { isNilRead?: boolean } = {}): Typed<Uint8Array> {
  return { kind: 'bytes', max, isNilRead: options.isNilRead ?? false }
}

export function utf8(max: number): Typed<string> {
  return { kind: 'utf8', max }
}

/** Text that need not be UTF-8 on the ledger. If it is not, its value is the bytes. */
export function text(max: number): Typed<string | Uint8Array> {
  return { kind: 'text', max }
}

export function list<T>(of: Typed<T>, max: number, maxTotal = Number.MAX_SAFE_INTEGER): Typed<readonly T[]> {
  return { kind: 'list', of, max, maxTotal }
}

export function uintMap<T>(of: Typed<T>, max: number): Typed<ReadonlyMap<bigint, T>> {
  return { kind: 'uintMap', of, max }
}

export function required<T>(of: Typed<T>): Member<T, 'required'> {
  return { of, presence: 'required' }
}

export function always<T>(of: Typed<T>): Member<T, 'always'> {
  return { of, presence: 'always' }
}

export function struct<const M extends Members>(
  members: M,
  options: { keepEmpty?: boolean; positional?: readonly (keyof M & string)[] } = {},
): Struct & Typed<StructOf<M>> {
  const names = Object.keys(members).sort((a, b) => (a < b ? -1 : 1))
  if (names.length > 64) throw new RangeError('the decoder marks the fields it has seen in 64 bits')
  const fields = names.map((name, index) => field(name, index, members[name]!))
  return {
    kind: 'struct',
    fields,
    byName: new Map(fields.map((entry) => [entry.name, entry])),
    requiredCount: fields.filter((entry) => entry.presence === 'required').length,
    keepEmpty: options.keepEmpty ?? false,
    positional: options.positional ?? [],
  }
}

function field(name: string, index: number, member: Members[string]): Field {
  const of = 'presence' in member ? member.of : member
  const presence = 'presence' in member ? member.presence : 'optional'
  if (name.length > 7) throw new RangeError('names of fields are packed and compared as at most seven bytes')
  const key = new Uint8Array(1 + name.length)
  key[0] = 0xa0 | name.length
  let keyHigh = 0
  let keyLow = 0
  for (let position = 0; position < name.length; position++) {
    const code = name.charCodeAt(position)
    key[position + 1] = code
    if (position < 4) keyHigh = (keyHigh << 8) | code
    else keyLow = (keyLow << 8) | code
  }
  return { name, of, presence, index, key, keyLength: name.length, keyHigh, keyLow }
}
