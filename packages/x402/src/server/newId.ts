/** A random id of 32 hexadecimal digits. Node makes those of 128 calls at a time, and bytes by themselves for each. Not a secret. */
export function newId(): string {
  return crypto.randomUUID().replaceAll('-', '')
}
