/** Passwords: used when one is needed, wiped when it was used. What is kept is at most a way to ask again. */
import { KmdClientError } from './KmdClientError.js'

export type PasswordValue = string | Uint8Array

/** Asked each time a password is needed. */
export type PasswordProvider = () => PasswordValue | Promise<PasswordValue>

/** A text or its bytes, used once; or a function to ask. Bytes stay the caller's, to wipe. */
export type Password = PasswordValue | PasswordProvider

/** What is left of a password after the wallet was unlocked with it. */
export type StoredPassword = PasswordProvider | 'blank' | 'nothing'

export function keep(given: Password, used: Uint8Array): StoredPassword {
  if (typeof given === 'function') return given
  return used.length === 0 ? 'blank' : 'nothing'
}

/** The bytes of a password, in memory of their own: wipe them. */
export async function obtain(password: Password, operation: string): Promise<Buffer> {
  const value: unknown = typeof password === 'function' ? await password() : password
  if (typeof value === 'string') return Buffer.from(value, 'utf8')
  if (value instanceof Uint8Array) return Buffer.from(value)
  const message = 'a password must be a text or bytes, or a function that returns one'
  throw new KmdClientError(message, { operation, reason: 'argument' })
}

/** From what was kept; undefined when that is nothing. */
export async function recall(kept: StoredPassword, operation: string): Promise<Buffer | undefined> {
  if (kept === 'nothing') return undefined
  return obtain(kept === 'blank' ? '' : kept, operation)
}
