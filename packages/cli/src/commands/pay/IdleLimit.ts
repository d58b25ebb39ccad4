import { CommandError } from '../../errors.js'

/** Gives up when nothing arrives for a while, and on Ctrl-C: a payment that was sent is then still reported. */
export class IdleLimit {
  readonly #controller = new AbortController()
  readonly #seconds: number
  #timer: ReturnType<typeof setTimeout> | undefined
  readonly #onInterrupt = (): void => this.#controller.abort(new CommandError('interrupted', ''))

  constructor(seconds: number) {
    this.#seconds = seconds
    // The second one ends the process at once.
    process.once('SIGINT', this.#onInterrupt)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Why it gave up; undefined if it did not. */
  get interruption(): CommandError | undefined {
    return this.signal.aborted ? (this.signal.reason as CommandError) : undefined
  }

  /** Something arrived, or is waited for from now on. */
  restart(): void {
    clearTimeout(this.#timer)
    const message = `the server sent nothing for ${this.#seconds} s`
    this.#timer = setTimeout(() => {
      this.#controller.abort(new CommandError('response_timeout', message, { hint: 'try again, or raise --timeout' }))
    }, this.#seconds * 1000)
  }

  /** Nothing is waited for. */
  stop(): void {
    clearTimeout(this.#timer)
  }
}
