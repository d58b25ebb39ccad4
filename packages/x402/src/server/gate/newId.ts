/**
 * A random id of 32 hexadecimal digits, not a secret. Node generates UUIDs for 128 calls at a time, but random bytes
 * for each call.
 */
export function newId(): string {
  return crypto.randomUUID().replaceAll('-', '')
}
