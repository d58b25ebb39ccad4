/**
 * Notes whether a client kept its response waiting. Handlers and services in front of a gateway give up on slow clients,
 * perhaps after the client reads again, so a failure after a long wait may be the client's doing.
 */
export class Backpressure {
  readonly #longMs: number
  #sinceMs: number | undefined
  #wasLong = false

  constructor(longMs = 1_000) {
    this.#longMs = longMs
  }

  /** The client accepts no more data. */
  begin(): void {
    this.#sinceMs ??= performance.now()
  }

  /** The client accepts data. */
  end(): void {
    this.#wasLong = this.wasLong
    this.#sinceMs = undefined
  }

  /** Whether the client has accepted no data for a long time, earlier or until this moment. */
  get wasLong(): boolean {
    return this.#wasLong || (this.#sinceMs !== undefined && performance.now() - this.#sinceMs >= this.#longMs)
  }
}
