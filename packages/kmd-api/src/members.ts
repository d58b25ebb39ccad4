/** Kinds, fields and members that several operations have. */
import type { Field, Kind, Member, Shape } from './Schema.js'

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
  about: "The wallet's password; blank if absent",
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
