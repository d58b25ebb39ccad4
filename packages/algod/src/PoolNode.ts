/** One node of a pool: its address, and what its responses have shown. */
import { Server } from '@latchkey/http-client'
import { AlgodError } from './AlgodError.js'

/** Where a node listens, and its API token. */
export type NodeAddress = {
  /** An http or https URL. Its path is prepended to the paths of the API. */
  readonly url: string
  /**
   * The API token.
   *
   * @default none is sent
   */
  readonly token?: string | undefined
}

/** The status of a node, derived from its responses. */
export type NodeStatus = {
  /** The host and port, without the path, which may contain the key of a provider. */
  readonly name: string
  /** Whether the node is considered working. False for a while after a failure. */
  readonly isUp: boolean
  /** Whether others are preferred because the node is slow, behind or failed. */
  readonly isAvoided: boolean
  /** The last round that the node reported; undefined before its first report. */
  readonly round: bigint | undefined
  /** How many rounds the node was behind the best of the others when it reported its round. */
  readonly roundsBehind: bigint
  /** The response time as a moving average; undefined before the first response. */
  readonly latencyMs: number | undefined
  /** The share of failed requests, as a moving average from 0 to 1. */
  readonly errorRate: number
  /** The number of requests sent to the node, and of those that failed. */
  readonly calls: number
  readonly failures: number
}

/** How long a failed node is used only if all others failed too. */
const restMs = 5_000
/** How long no request waits for a block on a node that does not support it. */
const noWaitMs = 60_000
/** The weight of the newest response in the moving averages. */
const weight = 0.3

export class PoolNode {
  readonly url: URL
  readonly server: Server.Server
  /** The URL without a trailing slash, for messages. */
  readonly address: string
  /** Host and port, unique in the pool. */
  readonly name: string
  /** Prepended to the paths of the API. */
  readonly basePath: string
  readonly headers: { readonly [name: string]: string }
  latencyMs: number | undefined
  /** The number of latency observations. */
  observations = 0
  errorRate = 0
  calls = 0
  failures = 0
  round: bigint | undefined
  roundsBehind = 0n
  /** When the latest request was sent to the node. */
  askedMs = performance.now()
  #restsUntilMs = 0
  #waitsFromMs = 0

  /**
   * @param others the earlier nodes of the pool
   * @throws AlgodError `invalid_options`
   */
  constructor({ url: text, token = '' }: NodeAddress, others: readonly PoolNode[]) {
    this.url = parseUrl(text)
    this.server = Server.fromUrl(this.url)
    if (!/^[\x21-\x7e]*$/.test(token)) {
      throw new AlgodError('invalid_options', "the node's token has characters that cannot be sent")
    }
    this.headers = token === '' ? {} : { 'X-Algo-API-Token': token }
    this.basePath = this.url.pathname.replace(/\/+$/, '')
    this.address = this.url.href.replace(/\/+$/, '')
    const sameHost = others.filter(({ url }) => url.host === this.url.host).length
    this.name = sameHost === 0 ? this.url.host : `${this.url.host}#${sameHost + 1}`
  }

  isResting(nowMs: number): boolean {
    return this.#restsUntilMs > nowMs
  }

  /** Whether requests may wait for a block on the node. */
  canWait(nowMs: number): boolean {
    return this.#waitsFromMs <= nowMs
  }

  responded(latencyMs: number): void {
    this.#restsUntilMs = 0
    this.errorRate *= 1 - weight
    this.observeLatency(latencyMs)
  }

  /** Also called for a response that has not arrived, whose latency is at least this long. */
  observeLatency(latencyMs: number): void {
    this.observations++
    this.latencyMs = this.latencyMs === undefined ? latencyMs : this.latencyMs * (1 - weight) + latencyMs * weight
  }

  failed(): void {
    this.failures++
    this.errorRate = this.errorRate * (1 - weight) + weight
    this.#restsUntilMs = performance.now() + restMs
  }

  refusedToWait(): void {
    this.#waitsFromMs = performance.now() + noWaitMs
  }
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new AlgodError('invalid_options', 'the node must be an http or https URL')
  }
  const { username, password, search, hash } = url
  // The message does not repeat the URL, because the rejected part may be a secret.
  if (username !== '' || password !== '' || search !== '' || hash !== '') {
    const message = 'the URL of the node may contain only a host, port and path; pass its token as a separate option'
    throw new AlgodError('invalid_options', message)
  }
  return url
}
