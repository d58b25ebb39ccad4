/**
 * Several nodes of one network. Requests go to the first node that is fast, up to date and did not fail recently. If it
 * is slow, the next one is queried in parallel. Unused nodes are checked at intervals while there are requests.
 */
import type { Transport } from '@latchkey/http-client'
import { AlgodError } from './AlgodError.js'
import {
  type ExchangeOptions,
  exchange,
  isFaultOfNode,
  type NodeAddress,
  type NodeResponse,
  type NodeStatus,
  PoolNode,
  type PoolRequest,
} from './PoolNode.js'

export type PoolOptions = {
  nodes: readonly NodeAddress[]
  transport: Transport
  timeoutMs: number
  maxResponseBytes: number
  maxWaiting: number
  /** After this long without a response the next node is queried too; 0 disables this. */
  hedgeMs: number
}

type Read<T> = (response: NodeResponse, node: PoolNode) => T

/** Slower nodes are avoided if another one is at least three times as fast. */
const slowMs = 300
const slowFactor = 3
/** The first connection takes longer than later requests. */
const minObservations = 3
/** A node that is further behind is avoided. Blocks reach the nodes of a network at different times. */
const maxRoundsBehind = 5n
/** How often an unused node is checked. */
const checkEveryMs = 10_000
const checkTimeoutMs = 5_000
const maxHedgeMs = 2_000

export class NodePool {
  readonly #options: PoolOptions
  readonly nodes: readonly PoolNode[]
  #waiting = 0

  /** @throws AlgodError `invalid_options` */
  constructor(options: PoolOptions) {
    if (options.nodes.length === 0) {
      throw new AlgodError('invalid_options', 'an Algorand network needs at least one node')
    }
    this.#options = options
    const nodes: PoolNode[] = []
    for (const address of options.nodes) nodes.push(new PoolNode(address, nodes))
    this.nodes = nodes
  }

  status(): NodeStatus[] {
    const now = performance.now()
    const quickestMs = this.#quickestMs(now)
    return this.nodes.map((node) => {
      const { name, round, roundsBehind, latencyMs, errorRate, calls, failures } = node
      const isAvoided = this.nodes.length > 1 && rank(node, now, quickestMs) > 0
      return {
        ...{ name, isUp: !node.isResting(now), isAvoided, round, roundsBehind },
        ...{ latencyMs, errorRate, calls, failures },
      }
    })
  }

  /** Records the last round that a node reported. */
  observeRound(node: PoolNode, round: bigint): void {
    node.round = round
    if (this.nodes.length === 1) return
    const rounds = this.nodes.flatMap((one) => (one.round === undefined ? [] : [one.round])).sort(descending)
    // A single node cannot make all others look late: with three nodes, the second highest round counts.
    const best = rounds[Math.min(this.nodes.length > 2 ? 1 : 0, rounds.length - 1)]!
    node.roundsBehind = best > round ? best - round : 0n
  }

  /** Returns the result of the first node whose response `read` accepts. */
  async request<T>(request: PoolRequest, read: Read<T>): Promise<T> {
    let result: { value: T } | undefined
    let lastError: AlgodError | undefined
    const isDone: Read<boolean> = (response, node) => {
      const value = read(response, node)
      result ??= { value }
      return true
    }
    const onFailure = (error: AlgodError): void => {
      lastError = error
    }
    await this.#counted(() => this.#inTurn(request, isDone, { mayHedge: request.once !== true, onFailure }))
    if (result === undefined) throw lastError!
    return result.value
  }

  /**
   * Queries one node after the other until `read` returns true for a response. Once a node has responded, recently
   * failed nodes are skipped, and the others have no longer than the delay before the next one is queried in parallel.
   *
   * @throws AlgodError if none responds
   */
  async each(request: PoolRequest, read: Read<boolean>, options: EachOptions = {}): Promise<void> {
    let lastError: AlgodError | undefined
    const onFailure = (error: AlgodError): void => {
      options.onFailure?.(error)
      lastError = error
    }
    const hasResponse = await this.#counted(() => this.#inTurn(request, read, { ...options, onFailure }))
    if (!hasResponse) throw lastError!
  }

  /** Queries all nodes at the same time, including avoided ones. Failed nodes are omitted. */
  async all<T>(ask: (send: Send, node: PoolNode) => Promise<T>): Promise<T[]> {
    const one = async (node: PoolNode): Promise<T[]> => {
      const send: Send = async (request, read) => {
        const result = await this.#ask(node, request, read)
        if (result instanceof AlgodError) throw result
        return result
      }
      try {
        return [await this.#counted(() => ask(send, node))]
      } catch (error) {
        if (error instanceof AlgodError) return []
        throw error
      }
    }
    return (await Promise.all(this.nodes.map(one))).flat()
  }

  /**
   * Sends a request that a node answers when something has happened to the first node that supports waiting. Returns
   * undefined on timeout. Does not affect the measured latency of the node.
   *
   * @throws AlgodError if no node supports waiting
   */
  async wait<T>(request: PoolRequest, read: Read<T>, limits: WaitLimits): Promise<T | undefined> {
    let lastError = new AlgodError('unexpected_status', 'no node supports waiting for a block')
    for (const node of this.#inOrder()) {
      if (!node.canWait(performance.now())) continue
      node.calls++
      try {
        return read(await exchange(node, request, { ...this.#limits(), ...limits }), node)
      } catch (error) {
        if (!(error instanceof AlgodError)) throw error
        if (error.code === 'timeout') {
          // No block came, or the node never ends a wait. The next wait is on another node if there is one.
          const now = performance.now()
          if (this.nodes.some((other) => other !== node && other.canWait(now))) node.refusedToWait()
          return undefined
        }
        if (limits.isCancelled()) throw error
        node.refusedToWait()
        lastError = error
      }
    }
    throw lastError
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= this.#options.maxWaiting) {
      const message = 'too many requests are waiting for the node'
      throw new AlgodError('too_many_waiting', message, { mayHaveArrived: false })
    }
    this.#waiting++
    try {
      return await work()
    } finally {
      this.#waiting--
    }
  }

  /** Returns whether a node has responded. */
  async #inTurn(request: PoolRequest, read: Read<boolean>, options: EachOptions): Promise<boolean> {
    if (this.nodes.length === 1) return this.#only(request, read, options)
    const attempts = new Attempts((node, control) => this.#ask(node, request, read, control), options)
    try {
      const nodes = this.#inOrder()
      for (const [index, node] of nodes.entries()) {
        if (attempts.hasResponse && node.isResting(performance.now())) continue
        attempts.start(node)
        const isLast = index === nodes.length - 1
        const limitMs = options.mayHedge ? this.#hedgeMs(node) : 0
        if (await (isLast ? attempts.anyOfRest(limitMs) : attempts.next(limitMs))) return true
      }
      return attempts.hasResponse
    } finally {
      attempts.end()
    }
  }

  async #only(request: PoolRequest, read: Read<boolean>, { onFailure }: EachOptions): Promise<boolean> {
    const result = await this.#ask(this.nodes[0]!, request, read)
    if (!(result instanceof AlgodError)) return true
    onFailure?.(result)
    return false
  }

  #hedgeMs({ latencyMs = 0 }: PoolNode): number {
    const { hedgeMs } = this.#options
    return hedgeMs === 0 ? 0 : Math.max(hedgeMs, Math.min(slowFactor * latencyMs, maxHedgeMs))
  }

  /** Returns the result, or the error of a node that failed. */
  async #ask<T>(
    node: PoolNode,
    request: PoolRequest,
    read: Read<T>,
    { isCancelled, ...limits }: Control = {},
  ): Promise<T | AlgodError> {
    const startedMs = performance.now()
    node.calls++
    node.askedMs = startedMs
    try {
      const result = read(await exchange(node, request, { ...this.#limits(), ...limits }), node)
      node.responded(performance.now() - startedMs)
      return result
    } catch (error) {
      if (!(error instanceof AlgodError)) throw error
      if (isFaultOfNode(error) && isCancelled?.() !== true) node.failed()
      return error
    }
  }

  #limits(): Limits {
    const { transport, timeoutMs, maxResponseBytes } = this.#options
    return { transport, timeoutMs, maxResponseBytes }
  }

  /** The best nodes first; equal ones in the given order. */
  #inOrder(): readonly PoolNode[] {
    if (this.nodes.length === 1) return this.nodes
    const now = performance.now()
    this.#checkUnused(now)
    const quickestMs = this.#quickestMs(now)
    return [...this.nodes].sort((a, b) => rank(a, now, quickestMs) - rank(b, now, quickestMs))
  }

  /**
   * The lowest latency of the nodes that did not fail recently. 0 if one has not been queried yet, so that it gets its
   * chance.
   */
  #quickestMs(now: number): number {
    const awake = this.nodes.filter((node) => !node.isResting(now))
    return awake.reduce((least, { latencyMs = 0 }) => Math.min(least, latencyMs), Number.POSITIVE_INFINITY)
  }

  /**
   * Uses the time of the latest request instead of a flag, because some runtimes stop work that no request waits for.
   */
  #checkUnused(now: number): void {
    for (const node of this.nodes) {
      if (now - node.askedMs < checkEveryMs) continue
      const limits = { timeoutMs: Math.min(checkTimeoutMs, this.#options.timeoutMs) }
      const read: Read<void> = (response) => this.observeRound(node, BigInt(response.members().integer('last-round')))
      // The outcome is recorded in the state of the node.
      this.#ask(node, { method: 'GET', path: '/v2/status' }, read, limits).catch(() => {})
    }
  }
}

type Limits = ExchangeOptions

export type WaitLimits = Required<Pick<ExchangeOptions, 'timeoutMs' | 'onStart'>> & {
  readonly isCancelled: () => boolean
}

/** A request to one node. */
export type Send = <T>(request: PoolRequest, read: Read<T>) => Promise<T>

/** The rank of a node's problem: resting is worse than behind, which is worse than slow. */
function rank(node: PoolNode, now: number, quickestMs: number): number {
  if (node.isResting(now)) return 3
  if (node.roundsBehind > maxRoundsBehind) return 2
  const { latencyMs = 0 } = node
  return node.observations >= minObservations && latencyMs > slowMs && latencyMs > slowFactor * quickestMs ? 1 : 0
}

function descending(a: bigint, b: bigint): number {
  return a < b ? 1 : a > b ? -1 : 0
}

type EachOptions = {
  /** Whether two nodes may have the request at the same time. */
  readonly mayHedge?: boolean
  /** Called for every node that fails. */
  readonly onFailure?: (error: AlgodError) => void
}

/** Per-request overrides, and whether the response is still needed. */
type Control = Partial<Pick<ExchangeOptions, 'timeoutMs' | 'onStart'>> & { readonly isCancelled?: () => boolean }

type Ask = (node: PoolNode, control: Control) => Promise<boolean | AlgodError>

/**
 * The requests to nodes on behalf of one request. The next one starts when the previous ones have failed or were
 * insufficient, or in parallel with a slow one. The latter happens once, so there are never more than twice the
 * requests.
 */
class Attempts {
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
