/** How long the handler of a paid request may take. */
export class HandlerTime {
  readonly #maxMs: number
  #endMs = 0
  #slowTimer: ReturnType<typeof setTimeout> | undefined
  #onEnd = (): void => {}

  constructor(maxMs: number) {
    this.#maxMs = maxMs
  }

  /** The handler begins. `onSlow` is called if it takes longer than it may. */
  begin(onSlow: (() => unknown) | undefined): void {
    this.#endMs = performance.now() + this.#maxMs
    if (onSlow === undefined) return
    this.#slowTimer = setTimeout(onSlow, this.#maxMs)
    this.#slowTimer.unref?.()
  }

  /** Whether the time is up. */
  get isOver(): boolean {
    return performance.now() > this.#endMs
  }

  /** The handler has ended. */
  end(): void {
    clearTimeout(this.#slowTimer)
    this.#onEnd()
  }

  /** Resolves when the handler has ended or its time is up. */
  async wait(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, this.#endMs - performance.now()))
      timer.unref?.()
      this.#onEnd = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
