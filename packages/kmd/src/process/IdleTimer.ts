/** Calls back after a time without activity; never if the time is 0. */
export class IdleTimer {
  readonly #ms: number
  #timer: NodeJS.Timeout | undefined

  constructor(seconds: number) {
    this.#ms = seconds * 1000
  }

  start(onIdle: () => void): void {
    if (this.#ms > 0) this.#timer = setTimeout(onIdle, this.#ms)
  }

  restart(): void {
    this.#timer?.refresh()
  }

  cancel(): void {
    clearTimeout(this.#timer)
  }
}
