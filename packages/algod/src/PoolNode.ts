/** One node of a pool: where it is, and what its responses have shown of it. */
import { AlgodError } from './AlgodError.js'

/** Where a node listens, and its API token. */
export type NodeAddress = {
  /** An http or https URL. A path is put before the paths of the API. */
  readonly url: string
  /**
   * The API token.
   *
   * @default none is sent
   */
  readonly token?: string | undefined
}

/** What is known of a node from its responses. */
export type NodeStatus = {
  /** Its host and port, without the path: that may hold the key of a provider. */
  readonly name: string
  /** Whether it is used as a node that works: false for a while after it failed. */
  readonly isUp: boolean
  /** Whether others are preferred, because it is slow, behind or failed. */
  readonly isAvoided: boolean
  /** The last round that it reported; undefined before its first. */
  readonly round: bigint | undefined
  /** How many rounds it was behind the best of the others when it reported its round. */
  readonly roundsBehind: bigint
  /** How long it takes to respond, as a moving average; undefined before its first response. */
  readonly latencyMs: number | undefined
  /** The share of requests that it fails, as a moving average from 0 to 1. */
  readonly errorRate: number
  /** Requests sent to it, and those of them that failed. */
  readonly calls: number
  readonly failures: number
}

/** How long a node that failed is used only if all others failed too. */
const restMs = 5_000
/** How long no request waits for a block on a node that does not let it. */
const noWaitMs = 60_000
/** The weight of the newest response in the moving averages. */
const weight = 0.3

export class PoolNode {
  readonly url: URL
  /** The URL without a slash at its end, for messages. */
  readonly address: string
  /** Host and port, unique in the pool. */
  readonly name: string
  /** Put before the paths of the API. */
  readonly basePath: string
  readonly headers: { readonly [name: string]: string }
  latencyMs: number | undefined
  /** How many times its latency was observed. */
  observations = 0
  errorRate = 0
  calls = 0
  failures = 0
  round: bigint | undefined
  roundsBehind = 0n
  /** When the latest request was sent to it. */
  askedMs = performance.now()
  #restsUntilMs = 0
  #waitsFromMs = 0

  /**
   * @param others those before it in the pool
   * @throws AlgodError `invalid_options`
   */
  constructor({ url: text, token = '' }: NodeAddress, others: readonly PoolNode[]) {
    this.url = parseUrl(text)
    if (!/^[\x21-\x7e]*$/.test(token)) {
      throw new AlgodError('invalid_options', 'the token of the node has characters that cannot be sent')
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

  /** Whether requests may wait for a block on it. */
  canWait(nowMs: number): boolean {
    return this.#waitsFromMs <= nowMs
  }

  responded(latencyMs: number): void {
    this.#restsUntilMs = 0
    this.errorRate *= 1 - weight
    this.observeLatency(latencyMs)
  }

  /** Also of a response that is not there yet: it takes at least this long. */
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
  // The message does not repeat it: what is too much may be a secret.
  if (username !== '' || password !== '' || search !== '' || hash !== '') {
    const message = 'the URL of the node has more than a host, port and path; its token is an option of its own'
    throw new AlgodError('invalid_options', message)
  }
  return url
}
