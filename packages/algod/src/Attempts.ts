/** The requests to several nodes on behalf of one. */
import { AlgodError } from './AlgodError.js'
import type { ExchangeOptions } from './exchange.js'
import type { PoolNode } from './PoolNode.js'

export type EachOptions = {
  /** Whether the request may be with two nodes at the same time. */
  readonly mayHedge?: boolean
  /** Called for every node that fails. */
  readonly onFailure?: (error: AlgodError) => void
}

/** How one request differs from the others of the pool, and whether its response is not needed any more. */
export type Control = Partial<Pick<ExchangeOptions, 'timeoutMs' | 'onStart'>> & { readonly isCancelled?: () => boolean }

type Ask = (node: PoolNode, control: Control) => Promise<boolean | AlgodError>

/**
 * The requests to nodes on behalf of one: the next one starts when those before have failed or did not suffice, or beside
 * one that takes long. The latter happens once, so that there are never more than twice the requests.
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
    // What must not be sent twice is not cancelled either.
    const control = this.#options.mayHedge ? { onStart, isCancelled: () => this.#isOver } : {}
    this.#running.set(node, this.#run(node, control))
  }

  /** Those that still run are not needed any more: a program would wait for them before it ends. */
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

  /** Whether one suffices. Waits until the first of those that run has ended, or one takes long. */
  async next(limitMs: number): Promise<boolean> {
    const result = await this.#race(this.hasResponse || !this.#hasHedged ? limitMs : 0)
    if (result !== 'late') return result
    this.#hasHedged = true
    return false
  }

  /** Whether one suffices of those that run. They have as long as they take, unless another has responded. */
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
