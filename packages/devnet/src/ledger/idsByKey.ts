/** Ids of assets by their holder or creator. */
import type { MapKey } from './MapKey.js'

/** Adds an id to those of a key. */
export function addTo(index: Map<MapKey, Set<bigint>>, key: MapKey, id: bigint): void {
  const ids = index.get(key)
  if (ids === undefined) index.set(key, new Set([id]))
  else ids.add(id)
}

/** Removes an id, and the key with its last id. */
export function removeFrom(index: Map<MapKey, Set<bigint>>, key: MapKey, id: bigint): void {
  const ids = index.get(key)
  ids?.delete(id)
  if (ids?.size === 0) index.delete(key)
}
