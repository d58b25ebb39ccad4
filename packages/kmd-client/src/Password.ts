/** Passwords: used when one is needed, and wiped after use. The client keeps at most a function that returns one. */
import { KmdClientError } from './KmdClientError.js'

/** A password as text or as bytes. */
export type PasswordValue = string | Uint8Array

/** Returns the password; called each time one is needed. */
export type PasswordProvider = () => PasswordValue | Promise<PasswordValue>

/** A password, used once and not kept, or a function that returns it. Bytes stay the caller's to wipe. */
export type Password = PasswordValue | PasswordProvider

/** What the client keeps of a password after the wallet was unlocked with it. */
export type StoredPassword = PasswordProvider | 'blank' | 'none'

export function store(given: Password, used: Uint8Array): StoredPassword {
  if (typeof given === 'function') return given
  return used.length === 0 ? 'blank' : 'none'
}

/** The bytes of a password, in memory of their own, for the caller to wipe. */
export async function obtain(password: Password, operation: string): Promise<Uint8Array> {
  const value: unknown = typeof password === 'function' ? await password() : password
  if (typeof value === 'string') return new TextEncoder().encode(value)
  if (value instanceof Uint8Array) return new Uint8Array(value)
  const message = 'a password must be a text or bytes, or a function that returns one'
  throw new KmdClientError('invalid_argument', message, { operation })
}

/** The bytes of the stored password; undefined where none is stored. */
export async function recall(stored: StoredPassword, operation: string): Promise<Uint8Array | undefined> {
  if (stored === 'none') return undefined
  return obtain(stored === 'blank' ? '' : stored, operation)
}
