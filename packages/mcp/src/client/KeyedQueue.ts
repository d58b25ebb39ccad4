/** A queue per key, so that two calls never pay for the same thing at the same time. */
import { McpError } from '../errors.js'

/** Limits the number of waiting calls, each of which holds a promise. Exceeding it is a bug in the caller. */
const maxWaiting = 1_000

export class KeyedQueue {
  /** The last entry of each queue, removed once it has left. */
  readonly #last = new Map<string, Promise<void>>()
  #waiting = 0

  /**
   * Waits until every earlier entry with the same key has left.
   *
   * @returns a function that leaves the queue, and whether the call had to wait
   * @throws McpError if too many calls are waiting
   * @throws the reason of the signal, if it aborts while waiting
   */
  async enter(key: string, signal?: AbortSignal | undefined): Promise<{ leave: () => void; hasWaited: boolean }> {
    signal?.throwIfAborted()
    const before = this.#last.get(key)
    if (before !== undefined && this.#waiting >= maxWaiting) {
      throw new McpError('too_many_tool_calls', `${maxWaiting} calls are already waiting`)
    }
    let end = (): void => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    // An entry that gives up leaves only after the entries before it, so that the next one cannot overtake them.
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
