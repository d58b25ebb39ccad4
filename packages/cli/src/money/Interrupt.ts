import { exitCodes } from '../exitCodes.js'

/** After what is known is printed. */
const lingerMs = 500

/** Ctrl-C while a transaction is under way: what is known of it is still told. A second one ends the process at once. */
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
    // A request that is under way would keep the process for its whole time limit.
    if (this.#isInterrupted) setTimeout(() => process.exit(exitCodes.interrupted), lingerMs).unref()
  }
}
