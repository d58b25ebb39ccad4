/**
 * The schema of requests and responses. Both wires, their types, the client and /swagger.json follow from it.
 */
import type { Code } from './apiErrors.js'

/** The form of responses: as documented by the Go daemon, or as actually sent by it. */
export type Wire = 'documented' | 'reference'

/** Every {@link Wire}. */
export const wires: readonly Wire[] = ['documented', 'reference']

/**
 * The type of a request member. `text` is bytes, because names and passwords need not be UTF-8; `ascii` is for
 * identifiers. `name` and `privateKey` are a text and bytes that the reference wire reads differently.
 */
export type Kind =
  | { readonly type: 'text' }
  | { readonly type: 'name' }
  | { readonly type: 'ascii' }
  | { readonly type: 'bool' }
  | { readonly type: 'uint' }
  | { readonly type: 'uint8' }
  | { readonly type: 'bytes' }
  | { readonly type: 'fixed'; readonly length: number }
  | { readonly type: 'publicKey' }
  | { readonly type: 'privateKey' }
  | List
  | { readonly type: 'object'; readonly fields: readonly Field[] }

/**
 * A list longer than `max` is rejected with `tooLong` while it is read, and with `tooLongText` if the code has no text
 * for it.
 */
export type List = {
  readonly type: 'list'
  readonly of: Kind
  readonly max: number
  readonly tooLong: Code
  readonly tooLongText?: string
}

/**
 * A request member. Some have a different name in the reference than in its documentation: then both are fields, each
 * marked with its wire. Either name is read on either wire, but not both in one object, because it would be unclear
 * which one counts. Only the reference's fields count for positions. `ignored` fields are sent by some client and never
 * read.
 */
export type Field = {
  readonly name: string
  readonly kind: Kind
  readonly about: string
  readonly wire?: Wire
  readonly ignored?: true
}

/** The value of a request member, with `B` for bytes. A member that was not sent has the zero of its kind. */
export type ValueOf<K extends Kind, B extends Uint8Array = Uint8Array> = K extends {
  type: 'text' | 'name' | 'bytes' | 'fixed' | 'publicKey' | 'privateKey'
}
  ? B
  : K extends { type: 'ascii' }
    ? string
    : K extends { type: 'bool' }
      ? boolean
      : K extends { type: 'uint' | 'uint8' }
        ? number
        : K extends { type: 'list'; of: infer E extends Kind }
          ? ValueOf<E, B>[]
          : K extends { type: 'object'; fields: infer F extends readonly Field[] }
            ? FieldsOf<F, B>
            : never

/** The values of request members by name. */
export type FieldsOf<F extends readonly Field[], B extends Uint8Array = Uint8Array> = {
  [E in F[number] as E['name']]: ValueOf<E['kind'], B>
}

/** The values of request members by name, as a client passes them. An absent member has the zero of its kind. */
export type RequestOf<F extends readonly Field[]> = {
  readonly [E in F[number] as E extends { ignored: true } | { wire: 'documented' } ? never : E['name']]?:
    | SentOf<E['kind']>
    | undefined
}

/** The value of a request member, as a client passes it. */
export type SentOf<K extends Kind> = K extends { type: 'text' | 'name' | 'ascii' }
  ? string
  : K extends { type: 'list'; of: infer E extends Kind }
    ? readonly SentOf<E>[]
    : K extends { type: 'object'; fields: infer F extends readonly Field[] }
      ? RequestOf<F>
      : ValueOf<K>

/**
 * The type of a response member. `key` bytes are integers on the documented wire; `base64` bytes never are. `json` is
 * written unchanged, for values without fixed members. `integer` is decimal text, because it may exceed 2^53. `oneOf`
 * lists every text that the daemon writes. Clients pass an object to its `convert` function after they have read it.
 */
export type Shape =
  | { readonly type: 'string'; readonly oneOf?: readonly string[] }
  | { readonly type: 'text' }
  | { readonly type: 'bool' }
  | { readonly type: 'integer' }
  | { readonly type: 'uint'; readonly format: 'uint8' | 'uint32' | 'int64' }
  | { readonly type: 'base64' }
  | { readonly type: 'json' }
  | { readonly type: 'key'; readonly name: string }
  | { readonly type: 'list'; readonly of: Shape }
  | {
      readonly type: 'object'
      readonly name: string
      readonly members: readonly Member[]
      readonly convert?: (read: never) => unknown
    }

/**
 * A response member. An `optional` member is omitted if it is undefined. Clients accept that a `blank` text is absent:
 * the reference wire omits blank members of the outermost object, and an older daemon omits newer members.
 */
export type Member = {
  readonly name: string
  readonly shape: Shape
  readonly about?: string
  readonly optional?: true
  readonly blank?: true
}

/** The value of a response member, as the daemon writes it. */
export type OutputOf<S extends Shape> = S extends { type: 'string'; oneOf: readonly (infer T)[] }
  ? T
  : S extends { type: 'string' | 'integer' }
    ? string
    : S extends { type: 'text' | 'base64' | 'key' }
      ? Uint8Array
      : S extends { type: 'bool' }
        ? boolean
        : S extends { type: 'uint' }
          ? number
          : S extends { type: 'json' }
            ? Json
            : S extends { type: 'list'; of: infer E extends Shape }
              ? readonly OutputOf<E>[]
              : S extends { type: 'object'; members: infer M extends readonly Member[] }
                ? MembersOf<M>
                : never

/** A JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** The values of response members by name, as the daemon writes them. */
export type MembersOf<M extends readonly Member[]> = {
  [E in M[number] as E['name']]: OutputOf<E['shape']> | (E extends { optional: true } ? undefined : never)
}

/** The value of a response member, as a client reads it. */
export type ReadOf<S extends Shape> = S extends { convert: (read: never) => infer T }
  ? T
  : S extends { type: 'text' }
    ? string
    : S extends { type: 'integer' }
      ? bigint
      : S extends { type: 'list'; of: infer E extends Shape }
        ? ReadOf<E>[]
        : S extends { type: 'object'; members: infer M extends readonly Member[] }
          ? ResponseOf<M>
          : OutputOf<S>

/** The values of response members by their names in camel case, as a client reads them. */
export type ResponseOf<M extends readonly Member[]> = {
  [E in M[number] as CamelCase<E['name']>]: ReadOf<E['shape']> | (E extends { optional: true } ? undefined : never)
}

/** A name such as `wallet_id` in camel case. */
export type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name
