/** One after the other by key: no two calls pay for the same thing at the same time. */
import { McpError } from '../errors.js'

/** More are a fault of the caller; each holds a promise. */
const maxWaiting = 1_000

export class KeyedQueue {
  /** The last in each queue; gone when it has left. */
  readonly #last = new Map<string, Promise<void>>()
  #waiting = 0

  /**
   * Waits until those that entered before have left.
   *
   * @returns what leaves the queue, and whether another was before it
   * @throws McpError if too many wait
   * @throws the reason of the signal, if it aborts before
   */
  async enter(key: string, signal?: AbortSignal | undefined): Promise<{ leave: () => void; hasWaited: boolean }> {
    signal?.throwIfAborted()
    const before = this.#last.get(key)
    if (before !== undefined && this.#waiting >= maxWaiting) {
      throw new McpError('too_many_tool_calls', `${maxWaiting} calls wait for others already`)
    }
    let end = (): void => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    // One that gives up is left when those before it have, so that the next one does not overtake them.
    const own = before === undefined ? ended : before.then(() => ended)
    this.#last.set(key, own)
    const leave = (): void => {
      end()
      void own.then(() => {
        if (this.#last.get(key) === own) this.#last.delete(key)
      })
    }
    if (before === undefined) return { leave, hasWaited: false }
    this.#waiting++
    try {
      await orAborted(before, signal)
    } catch (error) {
      leave()
      throw error
    } finally {
      this.#waiting--
    }
    return { leave, hasWaited: true }
  }
}

async function orAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return promise
  let onAbort = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  await Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', onAbort))
}
