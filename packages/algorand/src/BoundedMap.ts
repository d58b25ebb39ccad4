/**
 * A map that holds at most so many entries: one more pushes out the oldest. For everything that is remembered on behalf
 * of strangers.
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #limit: number
  readonly #onEvict: ((value: Value, key: Key) => void) | undefined

  /** @param onEvict called with what was pushed out, not with what was deleted. */
  constructor(limit: number, onEvict?: (value: Value, key: Key) => void) {
    super()
    this.#limit = limit
    this.#onEvict = onEvict
  }

  /** Sets an entry. One that is set again keeps its place, unless it is refreshed by `touch`. */
  override set(key: Key, value: Value): this {
    super.set(key, value)
    if (this.size > this.#limit) this.#evictOldest()
    return this
  }

  /** The entry, made the newest: a map that is read by `touch` pushes out what was used least recently. */
  touch(key: Key): Value | undefined {
    const value = this.get(key)
    if (value === undefined && !this.has(key)) return undefined
    this.delete(key)
    super.set(key, value as Value)
    return value
  }

  #evictOldest(): void {
    const [oldest] = this
    if (oldest === undefined) return
    this.delete(oldest[0])
    this.#onEvict?.(oldest[1], oldest[0])
  }
}
