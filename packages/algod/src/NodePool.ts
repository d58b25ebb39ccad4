/**
 * Several nodes of one network. Requests go to the first one that is quick, current and did not fail lately; one that takes
 * long is asked beside the next. Nodes that are not in use are checked now and then, as long as there are requests.
 */
import { AlgodError } from './AlgodError.js'
import { Attempts, type Control, type EachOptions } from './Attempts.js'
import { type ExchangeOptions, exchange, isFaultOfNode, type PoolRequest } from './exchange.js'
import type { NodeResponse } from './NodeResponse.js'
import { type NodeAddress, type NodeStatus, PoolNode } from './PoolNode.js'
import type { Transport } from './transport/Transport.js'

export type PoolOptions = {
  nodes: readonly NodeAddress[]
  transport: Transport
  timeoutMs: number
  maxResponseBytes: number
  maxWaiting: number
  /** After this long without a response the next node is asked too; 0 for never. */
  hedgeMs: number
}

type Read<T> = (response: NodeResponse, node: PoolNode) => T

/** Slower nodes are avoided, if another is at least three times as quick. */
const slowMs = 300
const slowFactor = 3
/** The first connection alone takes longer than what follows. */
const minObservations = 3
/** A node that is further behind than this is avoided: blocks reach the nodes of a network at different times. */
const maxRoundsBehind = 5n
/** How often a node that is not in use is checked. */
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

  /** A node reported its last round. */
  observeRound(node: PoolNode, round: bigint): void {
    node.round = round
    if (this.nodes.length === 1) return
    const rounds = this.nodes.flatMap((one) => (one.round === undefined ? [] : [one.round])).sort(descending)
    // One node alone cannot make all others look late: with three, the second highest round counts.
    const best = rounds[Math.min(this.nodes.length > 2 ? 1 : 0, rounds.length - 1)]!
    node.roundsBehind = best > round ? best - round : 0n
  }

  /** The result of the first node whose response `read` accepts. */
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
   * Asks one node after the other until `read` returns true for a response. Once a node has responded, nodes that failed
   * lately are left out, and others have no longer than it takes to ask the next one beside them.
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

  /** Asks all nodes at the same time, also those that are avoided. What a node fails is left out. */
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
   * A request that a node answers when something has happened, to the first node that lets it wait; undefined if the time is
   * up. Says nothing about how quick the node is.
   *
   * @throws AlgodError if no node lets it wait
   */
  async wait<T>(request: PoolRequest, read: Read<T>, limits: WaitLimits): Promise<T | undefined> {
    let lastError = new AlgodError('unexpected_status', 'no node lets a request wait for a block')
    for (const node of this.#inOrder()) {
      if (!node.canWait(performance.now())) continue
      node.calls++
      try {
        return read(await exchange(node, request, { ...this.#limits(), ...limits }), node)
      } catch (error) {
        if (!(error instanceof AlgodError)) throw error
        if (error.code === 'timeout') {
          // No block came, or the node never ends a wait: the next wait is on another one, as long as there is one.
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
      const message = 'too many requests wait for the node'
      throw new AlgodError('too_many_waiting', message, { mayHaveArrived: false })
    }
    this.#waiting++
    try {
      return await work()
    } finally {
      this.#waiting--
    }
  }

  /** Whether a node has responded. */
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

  /** The result, or the error of a node that failed. */
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

  /** The best first; among equals, in the order in which they were given. */
  #inOrder(): readonly PoolNode[] {
    if (this.nodes.length === 1) return this.nodes
    const now = performance.now()
    this.#checkUnused(now)
    const quickestMs = this.#quickestMs(now)
    return [...this.nodes].sort((a, b) => rank(a, now, quickestMs) - rank(b, now, quickestMs))
  }

  /** Of those that did not fail lately; 0 if one has not been asked yet, so that it gets its chance. */
  #quickestMs(now: number): number {
    const awake = this.nodes.filter((node) => !node.isResting(now))
    return awake.reduce((least, { latencyMs = 0 }) => Math.min(least, latencyMs), Number.POSITIVE_INFINITY)
  }

  /** By the time of the latest request, not by a flag: some runtimes end what no request waits for. */
  #checkUnused(now: number): void {
    for (const node of this.nodes) {
      if (now - node.askedMs < checkEveryMs) continue
      const limits = { timeoutMs: Math.min(checkTimeoutMs, this.#options.timeoutMs) }
      const read: Read<void> = (response) => this.observeRound(node, BigInt(response.members().integer('last-round')))
      // The outcome is in the state of the node.
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

/** What is wrong with a node: resting is worse than behind, which is worse than slow. */
function rank(node: PoolNode, now: number, quickestMs: number): number {
  if (node.isResting(now)) return 3
  if (node.roundsBehind > maxRoundsBehind) return 2
  const { latencyMs = 0 } = node
  return node.observations >= minObservations && latencyMs > slowMs && latencyMs > slowFactor * quickestMs ? 1 : 0
}

function descending(a: bigint, b: bigint): number {
  return a < b ? 1 : a > b ? -1 : 0
}
