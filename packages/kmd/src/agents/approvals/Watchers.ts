/** Requests that wait for a change: long polls of owners and agents. */
import { randomBytes } from 'node:crypto'
import { KmdError } from '../../errors.js'

const maxWaiting = 1_000

export class Watchers {
  /** Another one after a restart: a client that shows an old revision is told at once. */
  readonly #start = randomBytes(6).toString('hex')
  readonly #waiting = new Set<() => void>()
  #number = 0

  get revision(): string {
    return `${this.#start}-${this.#number}`
  }

  notify(): void {
    this.#number++
    for (const wake of [...this.#waiting]) wake()
  }

  /**
   * Resolves when something changed since the revision, or after the time.
   *
   * @throws KmdError `too_many_approvals` if too many requests wait already.
   */
  changed(revision: string, waitMs: number): Promise<void> {
    if (revision !== this.revision || waitMs <= 0) return Promise.resolve()
    if (this.#waiting.size >= maxWaiting) {
      return Promise.reject(new KmdError('too_many_approvals', { message: 'too many requests wait for approvals' }))
    }
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        this.#waiting.delete(wake)
        resolve()
      }
      const timer = setTimeout(wake, waitMs)
      this.#waiting.add(wake)
    })
  }

  /** Ends every wait: the daemon is stopping. */
  close(): void {
    for (const wake of [...this.#waiting]) wake()
  }
}
