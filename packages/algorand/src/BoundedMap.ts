/**
 * A map with a limit on its entries: adding one more evicts the oldest. Use it for everything that untrusted peers can
 * make a program remember.
 *
 * @example
 * const seen = new BoundedMap<string, number>(1000)
 */
export class BoundedMap<Key, Value> extends Map<Key, Value> {
  readonly #limit: number
  readonly #onEvict: ((value: Value, key: Key) => void) | undefined

  /** @param onEvict called with each evicted entry, not with those deleted by `delete` or `clear`. */
  constructor(limit: number, onEvict?: (value: Value, key: Key) => void) {
    super()
    this.#limit = limit
    this.#onEvict = onEvict
  }

  /** Sets an entry. Setting it again does not make it newer; `touch` does. */
  override set(key: Key, value: Value): this {
    super.set(key, value)
    if (this.size > this.#limit) this.#evictOldest()
    return this
  }

  /**
   * Returns an entry and makes it the newest, so a map that is read with `touch` evicts the least recently used entry.
   */
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
