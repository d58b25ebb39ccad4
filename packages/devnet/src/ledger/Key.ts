/**
 * 32 bytes as a map's key: one character a byte. Much cheaper to make than the address they are shown as, which is
 * what it is turned into only when somebody is going to read it.
 */
import { Address } from '@latchkey/algorand'

export type Key = string

export const zero: Key = '\0'.repeat(32)

export function of(bytes: Uint8Array): Key {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

/** The key of a field that may be absent: absent is the zero address. */
export function ofField(bytes: Uint8Array | undefined): Key {
  return bytes === undefined ? zero : of(bytes)
}

export function bytes(key: Key): Uint8Array {
  return new Uint8Array(Buffer.from(key, 'latin1'))
}

export function address(key: Key): string {
  return Address.encode(bytes(key))
}

export function fromAddress(text: string): Key {
  return of(Address.decode(text))
}
