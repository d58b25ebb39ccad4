/**
 * 32 bytes (an address, a digest, a lease) as the key of a map: a string of one character per byte. Much cheaper to make
 * than the text of an address, which is computed only where one is shown.
 */
import { Address } from '@latchkey/algorand'

export type MapKey = string

export const zero: MapKey = '\0'.repeat(32)

export function of(bytes: Uint8Array): MapKey {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

/** The key of an optional field: an absent one is the zero address. */
export function ofField(bytes: Uint8Array | undefined): MapKey {
  return bytes === undefined ? zero : of(bytes)
}

export function bytes(key: MapKey): Uint8Array {
  return new Uint8Array(Buffer.from(key, 'latin1'))
}

export function address(key: MapKey): string {
  return Address.encode(bytes(key))
}

export function fromAddress(text: string): MapKey {
  return of(Address.decode(text))
}
