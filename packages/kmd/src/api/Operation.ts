/**
 * The type of an operation. One list of operations drives routing, request bodies, response bodies and /swagger.json,
 * so that all four always agree.
 */
import type { Code } from '../errors.js'
import type { Field, FieldsOf, Kind } from '../wire/JsonBody.js'
import type { Member, MembersOf, Shape, Wire } from '../wire/Wire.js'
import type { Caller } from './Caller.js'
import type { Context } from './Context.js'

export type Method = 'GET' | 'POST' | 'DELETE'

export type Operation<
  F extends readonly Field[] = readonly Field[],
  M extends readonly Member[] = readonly Member[],
> = {
  id: string
  method: Method
  path: string
  about: string
  /** Not idempotent: clients must not repeat a request that may have arrived. */
  once?: true
  /** Served without a token: on the reference wire, or on both. */
  open?: 'reference' | 'always'
  /** The members of the body, in the order used by array bodies. GET operations read no body. */
  request: F
  response: M
  /** The name of the response in /swagger.json. */
  responseName: string
  /** Error codes in addition to those implied by its fields (see `errorsOf`). */
  errors?: readonly Code[]
  /** The status for failures of the wallet and its file, which differs by operation. @default the registry's status */
  walletFailure?: 400 | 401 | 500
  /** The operation waits for an event, and pages send it automatically, so it does not count as use of the console. */
  waits?: true
  /**
   * Whether `run` returns the same object for the same output. The object is then serialized once and must not be
   * changed.
   */
  reusesOutput?: true
  run: (context: Context, input: FieldsOf<F>, caller: Caller) => MembersOf<M> | Promise<MembersOf<M>>
}

export function isOpen({ open }: Operation, wire: Wire): boolean {
  return open !== undefined && (open === 'always' || wire === 'reference')
}

/** Failures of the wallet, not of the request. */
export const walletFailures: ReadonlySet<Code> = new Set<Code>([
  'wrong_password',
  'key_not_found',
  'key_exists',
  'key_mismatch',
  'multisig_not_found',
  'wrong_plaintext_type',
  'damaged_blob',
  'bad_scrypt_parameters',
  'scrypt_ceiling',
  'database',
  'database_locked',
  'wrong_driver_name',
  'wrong_driver_version',
  'wallets_directory',
  'too_many_keys',
])

/** Checks an operation against the types of its fields, and erases the types for the list. */
export function define<const F extends readonly Field[], const M extends readonly Member[]>(
  operation: Operation<F, M>,
): Operation {
  return operation as unknown as Operation
}

export const text = { type: 'text' } as const satisfies Kind
export const name = { type: 'name' } as const satisfies Kind
export const ascii = { type: 'ascii' } as const satisfies Kind
export const bool = { type: 'bool' } as const satisfies Kind
export const uint = { type: 'uint' } as const satisfies Kind
export const uint8 = { type: 'uint8' } as const satisfies Kind
export const bytes = { type: 'bytes' } as const satisfies Kind
export const bytes32 = { type: 'fixed', length: 32 } as const satisfies Kind
export const publicKey = { type: 'publicKey' } as const satisfies Kind
export const privateKey = { type: 'privateKey' } as const satisfies Kind
export const bytes64 = { type: 'fixed', length: 64 } as const satisfies Kind

export const handleToken = {
  name: 'wallet_handle_token',
  kind: ascii,
  about: 'The handle that unlocking the wallet returned',
} as const satisfies Field

export const password = {
  name: 'wallet_password',
  kind: text,
  about: 'The password of the wallet; absent is the blank password',
} as const satisfies Field

export const address = { name: 'address', kind: ascii, about: 'An address of 58 characters' } as const satisfies Field

export const wallet = {
  type: 'object',
  name: 'APIV1Wallet',
  members: [
    { name: 'driver_name', shape: { type: 'string' } },
    { name: 'driver_version', shape: { type: 'uint', format: 'uint32' } },
    { name: 'id', shape: { type: 'text' } },
    { name: 'mnemonic_ux', shape: { type: 'bool' } },
    { name: 'name', shape: { type: 'text' } },
    { name: 'supported_txs', shape: { type: 'list', of: { type: 'string' } } },
  ],
} as const satisfies Shape

export const addressMember = { name: 'address', shape: { type: 'string' } } as const satisfies Member
export const addressesMember = {
  name: 'addresses',
  shape: { type: 'list', of: { type: 'string' } },
} as const satisfies Member

export const publicKeyShape = { type: 'key', name: 'PublicKey' } as const satisfies Shape
