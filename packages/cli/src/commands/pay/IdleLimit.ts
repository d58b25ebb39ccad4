import { CommandError } from '../../errors.js'

/** Gives up when nothing arrives for a while, and on Ctrl-C. A payment that was sent is then still reported. */
export class IdleLimit {
  readonly #controller = new AbortController()
  readonly #seconds: number
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #onInterrupt = (): void => this.#controller.abort(new CommandError('interrupted', ''))

  constructor(seconds: number) {
    this.#seconds = seconds
    // The second signal ends the process immediately.
    process.once('SIGINT', this.#onInterrupt)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The reason for giving up, or undefined. */
  get interruption(): CommandError | undefined {
    return this.signal.aborted ? (this.signal.reason as CommandError) : undefined
  }

  /** Restarts the time limit after data arrived, or when waiting begins. */
  restart(): void {
    clearTimeout(this.#timer)
    const message = `the server sent no data for ${this.#seconds} s`
    this.#timer = setTimeout(() => {
      this.#controller.abort(new CommandError('response_timeout', message, { hint: 'try again, or raise --timeout' }))
    }, this.#seconds * 1000)
  }

  /** Nothing is awaited. */
  stop(): void {
    clearTimeout(this.#timer)
  }
}
