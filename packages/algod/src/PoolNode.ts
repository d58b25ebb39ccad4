/**
 * One node of a pool: its address, what its responses have shown, and one request to it with its response: sent,
 * traced, checked for coming from a node, and read.
 */
import { Address, Json } from '@latchkey/algorand'
import {
  Server,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '@latchkey/http-client'
import { AlgodError } from './AlgodError.js'
import * as Tracing from './Tracing.js'

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

export type PoolRequest = {
  method: 'GET' | 'POST'
  path: string
  body?: Uint8Array<ArrayBuffer> | undefined
  contentType?: string | undefined
  /** Must not reach the same node twice. */
  once?: boolean
}

export type ExchangeOptions = Pick<TransportRequest, 'timeoutMs' | 'maxResponseBytes' | 'onStart'> & {
  transport: Transport
}

const maxReasonLength = 300

/** @throws AlgodError */
export async function exchange(
  node: PoolNode,
  { path, contentType, once = false, ...request }: PoolRequest,
  { transport, ...limits }: ExchangeOptions,
): Promise<NodeResponse> {
  const headers = contentType === undefined ? node.headers : { ...node.headers, 'Content-Type': contentType }
  const where = { server: node.server, path: node.basePath + path, headers }
  try {
    const response = await transport.send({ ...request, ...where, ...limits, repeatsStale: !once })
    return checkStatus(node, response.status, response.text())
  } catch (error) {
    throw error instanceof TransportError ? explain(error, node, limits.timeoutMs) : error
  }
}

/** Only 200, 404 and a 400 in the format of a node answer the request. Others come from a proxy or a faulty node. */
function checkStatus({ address }: PoolNode, status: number, text: string): NodeResponse {
  const response = new NodeResponse(address, status, text)
  if (status === 200 || status === 404 || (status === 400 && response.reason() !== undefined)) return response
  if (status === 401 || status === 403) {
    const message = `the node at ${address} does not accept the token (status ${status})`
    throw new AlgodError('refused_token', message, { status, mayHaveArrived: false })
  }
  // Browsers report the status of a redirect as 0.
  if (status < 200 || (status >= 300 && status < 400)) {
    const message = `the node at ${address} returned status ${status}, a redirect, which is not followed`
    throw new AlgodError('redirected', message, { status })
  }
  const reason = response.reason()?.slice(0, maxReasonLength) ?? ''
  const message = `the node at ${address} returned status ${status}${reason === '' ? '' : `: ${reason}`}`
  throw new AlgodError('unexpected_status', message, { status, mayHaveArrived: status >= 500 })
}

function explain(error: TransportError, { address }: PoolNode, timeoutMs: number): AlgodError {
  const { code, systemCode, cause, mayHaveArrived } = error
  if (code === 'timeout') {
    return new AlgodError('timeout', `the node at ${address} did not respond within ${timeoutMs} ms`, {
      cause,
      mayHaveArrived,
    })
  }
  if (code === 'too_large') {
    return new AlgodError('too_large', `the node at ${address} sent a response that is too long`, { cause })
  }
  const detail = systemCode === undefined ? '' : ` (${systemCode})`
  const message = `the node at ${address} cannot be reached${detail}`
  return new AlgodError('unreachable', message, { cause, mayHaveArrived })
}

/** A response that is too long or missing depends on the request. */
export function isFaultOfNode({ code }: AlgodError): boolean {
  return code !== 'too_large' && code !== 'not_found' && code !== 'rejected'
}

/** Wraps a transport, adding spans while an SDK is registered. */
export function tracedTransport(transport: Transport): Transport {
  return {
    ...transport,
    send: (request) => (Tracing.isOn() ? sendTraced(transport, request) : transport.send(request)),
  }
}

function sendTraced(transport: Transport, request: TransportRequest): Promise<TransportResponse> {
  const { method, server, path } = request
  const template = templateOf(path)
  const attributes = {
    'http.request.method': method,
    'url.template': template,
    'server.address': server.host,
    'server.port': server.port,
  }
  return Tracing.span(`${method} ${template}`, { kind: 'client', attributes }, async (span) => {
    const headers = { ...request.headers }
    Tracing.inject((name, value) => {
      headers[name] = value
    })
    const response = await transport.send({ ...request, headers })
    span.set({ 'http.response.status_code': response.status })
    return response
  })
}

/**
 * Maps all paths to a few names. Omits rounds, ids and addresses, and any prefix of the API's path, such as a
 * provider's key.
 */
export function templateOf(path: string): string {
  return (
    path
      .split('?', 1)[0]!
      // Uses the last match, because provider URLs may also have such a part before the key.
      .replace(/^.*(?=\/(?:v2|devnet)(?:\/|$))/, '')
      .replaceAll(/\/[0-9]+(?=\/|$)/g, '/{number}')
      .replaceAll(/\/[A-Z2-7]{52,58}(?=\/|$)/g, '/{id}')
  )
}

const maxTextLength = 256
const maxQuotedReason = 500

/** A response of a node, with validated members: the program at the address may not be a node. */
export class NodeResponse {
  readonly status: number
  readonly #node: string
  readonly #value: unknown

  constructor(node: string, status: number, text: string) {
    this.#node = node
    this.status = status
    this.#value = parse(text)
  }

  /** The node's own reason for rejecting the request, or undefined if the response is not in a node's format. */
  reason(): string | undefined {
    const value = this.#value
    const message = Json.isObject(value) ? value['message'] : undefined
    return typeof message === 'string' ? message.slice(0, maxQuotedReason) : undefined
  }

  /** The members of a successful response. */
  members(): Members {
    if (this.status === 400) {
      const message = `the node at ${this.#node} returned status 400: ${this.reason() ?? ''}`
      throw new AlgodError('rejected', message, { status: 400 })
    }
    if (this.status !== 200) throw this.unexpected()
    const value = this.#value
    if (!Json.isObject(value)) throw notANode(this.#node)
    return new Members(this.#node, value)
  }

  /** The error for a status that has no meaning for the request. */
  unexpected(): AlgodError {
    const { status } = this
    const message = `the node at ${this.#node} returned status ${status}`
    return new AlgodError('unexpected_status', message, { status, mayHaveArrived: status >= 500 })
  }

  notFound(path: string): AlgodError {
    return new AlgodError('not_found', `the node at ${this.#node} does not have ${path}`, { status: 404 })
  }
}

/** Undefined for anything that is not JSON. Errors do not quote the text, because it may be any page. */
function parse(text: string): unknown {
  try {
    return Json.parse(text)
  } catch {
    return undefined
  }
}

/** The members of an object in a response. Each reader throws `not_a_node` for a value that a node would not send. */
export class Members {
  readonly #node: string
  readonly #members: Json.Members

  constructor(node: string, members: Json.Members) {
    this.#node = node
    this.#members = members
  }

  has(name: string): boolean {
    return this.#members[name] !== undefined
  }

  /** A member as it was sent, for a custom reader. */
  value(name: string): unknown {
    return this.#members[name]
  }

  text(name: string): string {
    const value = this.#members[name]
    if (typeof value !== 'string' || value.length > maxTextLength) throw notANode(this.#node)
    return value
  }

  /** A text that some nodes omit; undefined if it is absent or not a text. */
  optionalText(name: string): string | undefined {
    const value = this.#members[name]
    return typeof value === 'string' ? value : undefined
  }

  uint(name: string): bigint {
    return this.uintOf(this.#members[name])
  }

  /** An element of a list of integers. */
  uintOf(element: unknown): bigint {
    const value = Json.uint64(element)
    if (value === undefined) throw notANode(this.#node)
    return value
  }

  /** An integer that fits a number, such as a count or a round. */
  integer(name: string): number {
    const value = Number(this.uint(name))
    if (!Number.isSafeInteger(value)) throw notANode(this.#node)
    return value
  }

  isTrue(name: string): boolean {
    return this.#members[name] === true
  }

  /** An address, or undefined if it is absent. */
  address(name: string): string | undefined {
    const value = this.#members[name]
    if (value === undefined || value === '') return undefined
    if (typeof value !== 'string' || !Address.isValid(value)) throw notANode(this.#node)
    return value
  }

  list(name: string): readonly unknown[] {
    const value = this.#members[name]
    if (!Array.isArray(value)) throw notANode(this.#node)
    return value
  }

  object(name: string): Members {
    return this.objectOf(this.#members[name])
  }

  /** An element of a list of objects. */
  objectOf(value: unknown): Members {
    if (!Json.isObject(value)) throw notANode(this.#node)
    return new Members(this.#node, value)
  }

  invalid(): AlgodError {
    return notANode(this.#node)
  }
}

function notANode(node: string): AlgodError {
  return new AlgodError('not_a_node', `the server at ${node} is not an Algorand node`)
}
