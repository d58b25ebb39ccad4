/** Closes resources in the reverse order of opening: requests before handles, handles before files, the lock last. */
export class Closers {
  readonly #closers: (() => unknown)[] = []

  add(close: () => unknown): void {
    this.#closers.push(close)
  }

  /** Adds a resource and returns it. */
  use<T extends { close: () => unknown }>(resource: T): T {
    this.add(() => resource.close())
    return resource
  }

  /**
   * Closes every resource, also after one fails: a lock that stays would keep the next daemon from starting.
   *
   * @throws the first failure.
   */
  async close(): Promise<void> {
    const failures: unknown[] = []
    for (let close = this.#closers.pop(); close !== undefined; close = this.#closers.pop()) {
      try {
        await close()
      } catch (error) {
        failures.push(error)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}
