/**
 * Undoes writes to maps. Nothing is logged before the first mark, and a record that is written often after the same mark
 * is logged once: a nested call costs nothing until it changes something.
 */
type Entry = { readonly type: 'write'; readonly undo: () => void } | { readonly type: 'mark'; readonly count: bigint }

export class UndoLog {
  readonly #entries: Entry[] = []
  /** The keys that were logged since the last mark, by map. */
  #logged: Map<unknown, Set<unknown>> | undefined
  #epoch: object = {}

  /** Changes with each mark and each rollback. Objects created since then may be changed in place. */
  get epoch(): object {
    return this.#epoch
  }

  set<K, V>(map: Map<K, V>, key: K, value: V): void {
    if (this.#logged !== undefined) this.#log(map, key, this.#logged)
    map.set(key, value)
  }

  #log<K, V>(map: Map<K, V>, key: K, logged: Map<unknown, Set<unknown>>): void {
    const keys = logged.get(map)
    if (keys === undefined) logged.set(map, new Set([key]))
    else if (keys.has(key)) return
    else keys.add(key)
    const before = map.get(key)
    const undo = map.has(key) ? () => map.set(key, before as V) : () => map.delete(key)
    this.#entries.push({ type: 'write', undo })
  }

  /** Returns a position. `count` is returned when the changes are undone to it. */
  mark(count: bigint): number {
    this.#entries.push({ type: 'mark', count })
    this.#begin()
    return this.#entries.length - 1
  }

  rollback(mark: number): bigint {
    let count = 0n
    while (this.#entries.length > mark) {
      const entry = this.#entries.pop()!
      if (entry.type === 'mark') count = entry.count
      else entry.undo()
    }
    this.#begin()
    return count
  }

  #begin(): void {
    this.#logged = new Map()
    this.#epoch = {}
  }
}
