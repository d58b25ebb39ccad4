/**
 * 32 bytes (an address, a digest, a lease) as the key of a map: a string of one character per byte. Much cheaper to
 * create than the text of an address, which is computed only for display.
 */
import { Address } from '@latchkey/algorand'

export type MapKey = string

export const zero: MapKey = '\0'.repeat(32)

// Called on plain arrays, because creating a Buffer first costs more than the rest.
const { latin1Slice } = Buffer.prototype as unknown as {
  latin1Slice(this: Uint8Array, start: number, end: number): string
}

export function of(bytes: Uint8Array): MapKey {
  return latin1Slice.call(bytes, 0, bytes.length)
}

/** The key of an optional field: an absent one is the zero address. */
export function ofField(bytes: Uint8Array | undefined): MapKey {
  return bytes === undefined ? zero : of(bytes)
}

export function bytes(key: MapKey): Uint8Array {
  const bytes = new Uint8Array(key.length)
  for (let index = 0; index < key.length; index++) bytes[index] = key.charCodeAt(index)
  return bytes
}

export function address(key: MapKey): string {
  return Address.encode(bytes(key))
}

export function fromAddress(text: string): MapKey {
  return of(Address.decode(text))
}

/** Adds an id to those of a key, such as an asset to those of its holder. */
export function addId(index: Map<MapKey, Set<bigint>>, key: MapKey, id: bigint): void {
  const ids = index.get(key)
  if (ids === undefined) index.set(key, new Set([id]))
  else ids.add(id)
}

/** Removes an id, and the key with its last id. */
export function removeId(index: Map<MapKey, Set<bigint>>, key: MapKey, id: bigint): void {
  const ids = index.get(key)
  ids?.delete(id)
  if (ids?.size === 0) index.delete(key)
}
