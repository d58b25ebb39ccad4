/** The requests to several nodes on behalf of one request. */
import { AlgodError } from './AlgodError.js'
import type { ExchangeOptions } from './exchange.js'
import type { PoolNode } from './PoolNode.js'

export type EachOptions = {
  /** Whether two nodes may have the request at the same time. */
  readonly mayHedge?: boolean
  /** Called for every node that fails. */
  readonly onFailure?: (error: AlgodError) => void
}

/** Per-request overrides, and whether the response is still needed. */
export type Control = Partial<Pick<ExchangeOptions, 'timeoutMs' | 'onStart'>> & { readonly isCancelled?: () => boolean }

type Ask = (node: PoolNode, control: Control) => Promise<boolean | AlgodError>

/**
 * The requests to nodes on behalf of one request. The next one starts when the previous ones have failed or were
 * insufficient, or in parallel with a slow one. The latter happens once, so there are never more than twice the
 * requests.
 */
export class Attempts {
  hasResponse = false
  readonly #ask: Ask
  readonly #options: EachOptions
  readonly #running = new Map<PoolNode, Promise<boolean>>()
  readonly #cancels = new Map<PoolNode, () => void>()
  #hasHedged = false
  #isOver = false

  constructor(ask: Ask, options: EachOptions) {
    this.#ask = ask
    this.#options = options
  }

  start(node: PoolNode): void {
    const onStart = (cancel: () => void): void => {
      this.#cancels.set(node, cancel)
      if (this.#isOver) cancel()
    }
    // A request that must not be sent twice is not cancelled either.
    const control = this.#options.mayHedge ? { onStart, isCancelled: () => this.#isOver } : {}
    this.#running.set(node, this.#run(node, control))
  }

  /** Cancels the requests that are no longer needed, because a program would wait for them before it exits. */
  end(): void {
    this.#isOver = true
    for (const node of this.#running.keys()) this.#cancels.get(node)?.()
  }

  async #run(node: PoolNode, control: Control): Promise<boolean> {
    const result = await this.#ask(node, control)
    this.#running.delete(node)
    if (!(result instanceof AlgodError)) {
      this.hasResponse = true
      return result
    }
    if (!this.#isOver) this.#options.onFailure?.(result)
    return false
  }

  /** Waits until the first running request has ended or one is slow. Returns whether a response suffices. */
  async next(limitMs: number): Promise<boolean> {
    const result = await this.#race(this.hasResponse || !this.#hasHedged ? limitMs : 0)
    if (result !== 'late') return result
    this.#hasHedged = true
    return false
  }

  /**
   * Returns whether one of the running requests suffices. They may take as long as they need, unless another has
   * responded.
   */
  async anyOfRest(limitMs: number): Promise<boolean> {
    while (this.#running.size > 0) {
      const result = await this.#race(this.hasResponse ? limitMs : 0)
      if (result === 'late') return false
      if (result) return true
    }
    return false
  }

  async #race(limitMs: number): Promise<boolean | 'late'> {
    const first = Promise.race(this.#running.values())
    if (limitMs === 0) return first
    let timer: ReturnType<typeof setTimeout> | undefined
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, limitMs, 'late')
    })
    const result = await Promise.race([first, late]).finally(() => clearTimeout(timer))
    if (result === 'late') for (const node of this.#running.keys()) node.observeLatency(limitMs)
    return result
  }
}
