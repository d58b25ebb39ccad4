import { exitCodes } from '../exitCodes.js'

/** The delay after the known state is printed. */
const lingerMs = 500

/**
 * Handles Ctrl-C during a transaction: its known state is still reported. A second Ctrl-C ends the process immediately.
 */
export class Interrupt {
  #isInterrupted = false
  readonly promise: Promise<undefined>
  readonly #stop: () => void

  constructor() {
    let resolve: (value: undefined) => void
    this.promise = new Promise((settle) => {
      resolve = settle
    })
    const onSignal = (): void => {
      this.#isInterrupted = true
      resolve(undefined)
    }
    process.once('SIGINT', onSignal)
    this.#stop = () => process.off('SIGINT', onSignal)
  }

  get isInterrupted(): boolean {
    return this.#isInterrupted
  }

  stop(): void {
    this.#stop()
    // A running request would keep the process alive for its whole time limit.
    if (this.#isInterrupted) setTimeout(() => process.exit(exitCodes.interrupted), lingerMs).unref()
  }
}
