/** The listeners for the end of a connection during one request. */
export class CloseListeners {
  #listeners: (() => void)[] | undefined

  add(listener: () => void): void {
    if (this.#listeners === undefined) this.#listeners = [listener]
    else this.#listeners.push(listener)
  }

  clear(): void {
    this.#listeners = undefined
  }

  /** Calls each listener once. */
  tell(): void {
    const listeners = this.#listeners
    this.#listeners = undefined
    for (const listener of listeners ?? []) listener()
  }
}
