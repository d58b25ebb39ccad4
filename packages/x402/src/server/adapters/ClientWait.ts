/**
 * The time for which a streamed response has waited for its client to read. A handler that is not read from may break
 * off, and one that copies from another service learns only later, when the client reads again, that it has broken off.
 */

/** Time limits of services are longer. */
const longMs = 1_000

export class ClientWait {
  #totalMs = 0
  #sinceMs: number | undefined

  begin(): void {
    this.#sinceMs ??= performance.now()
  }

  end(): void {
    this.#totalMs = this.#untilNow()
    this.#sinceMs = undefined
  }

  /** Whether a handler that breaks off may have done so because of its client. */
  get isLong(): boolean {
    return this.#untilNow() >= longMs
  }

  #untilNow(): number {
    return this.#totalMs + (this.#sinceMs === undefined ? 0 : performance.now() - this.#sinceMs)
  }
}
