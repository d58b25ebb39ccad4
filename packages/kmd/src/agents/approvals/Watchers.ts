/** Requests that wait for a change: long polls of owners and agents. */
import { randomBytes } from 'node:crypto'
import { KmdError } from '../../errors.js'

/** Per agent, and for the owner. A disconnected client keeps waiting until its time is over. */
const maxOfOne = 50
/** One agent cannot use up the slots of other agents, and all agents together cannot use up the owner's. */
const maxOfAgents = 1_000

/** The waiting party: an agent id, or undefined for the owner. */
export type Waiter = string | undefined

export class Watchers {
  /** Changes at a restart, so that a client with an old revision is notified at once. */
  readonly #start = randomBytes(6).toString('hex')
  readonly #waiting = new Set<() => void>()
  readonly #counts = new Map<Waiter, number>()
  #number = 0
  #isClosed = false

  get revision(): string {
    return `${this.#start}-${this.#number}`
  }

  /** Whether every wait ends at once. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  notify(): void {
    this.#number++
    for (const wake of [...this.#waiting]) wake()
  }

  /**
   * Resolves after a change since the revision, or after the time.
   *
   * @throws KmdError `too_many_approvals` if too many requests are waiting.
   */
  changed(revision: string, waitMs: number, waiter?: Waiter): Promise<void> {
    if (revision !== this.revision || waitMs <= 0 || this.#isClosed) return Promise.resolve()
    const count = this.#counts.get(waiter) ?? 0
    const ofAgents = this.#waiting.size - (this.#counts.get(undefined) ?? 0)
    if (count >= maxOfOne || (waiter !== undefined && ofAgents >= maxOfAgents)) {
      return Promise.reject(
        new KmdError('too_many_approvals', { message: 'too many requests are waiting for approvals' }),
      )
    }
    this.#counts.set(waiter, count + 1)
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(wake)
        this.#uncount(waiter)
        resolve()
      }
      const timer = setTimeout(wake, waitMs)
      this.#waiting.add(wake)
    })
  }

  /** Ends all current and future waits, because the daemon is stopping. */
  close(): void {
    this.#isClosed = true
    for (const wake of [...this.#waiting]) wake()
  }

  #uncount(waiter: Waiter): void {
    const count = this.#counts.get(waiter)! - 1
    if (count === 0) this.#counts.delete(waiter)
    else this.#counts.set(waiter, count)
  }
}
