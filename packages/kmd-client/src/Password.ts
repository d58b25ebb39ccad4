/**
 * Obtains passwords when they are needed and wipes them after use. The client keeps at most a function that returns
 * one.
 */
import { KmdClientError } from './KmdClientError.js'

/** A password as text or as bytes. */
export type PasswordValue = string | Uint8Array

/** Returns the password; called each time one is needed. */
export type PasswordProvider = () => PasswordValue | Promise<PasswordValue>

/**
 * A password that is used once and not kept, or a function that returns it. The caller remains responsible for wiping
 * bytes.
 */
export type Password = PasswordValue | PasswordProvider

/** The part of a password that the client keeps after unlocking the wallet. */
export type StoredPassword = PasswordProvider | 'blank' | 'none'

export function store(given: Password, used: Uint8Array): StoredPassword {
  if (typeof given === 'function') return given
  return used.length === 0 ? 'blank' : 'none'
}

/** The password as a new byte array that the caller must wipe. */
export async function obtain(password: Password, operation: string): Promise<Uint8Array> {
  const value: unknown = typeof password === 'function' ? await password() : password
  if (typeof value === 'string') return new TextEncoder().encode(value)
  if (value instanceof Uint8Array) return new Uint8Array(value)
  const message = 'a password must be a string or bytes, or a function that returns one'
  throw new KmdClientError('invalid_argument', message, { operation })
}

/** The bytes of the stored password; undefined if none is stored. */
export async function recall(stored: StoredPassword, operation: string): Promise<Uint8Array | undefined> {
  if (stored === 'none') return undefined
  return obtain(stored === 'blank' ? '' : stored, operation)
}
