/** Several nodes of one network, used in turn: a node that fails rests for a while and is used only if all others fail. */
import { AlgodError } from './AlgodError.js'
import { NodeResponse } from './NodeResponse.js'
import { type Transport, TransportError } from './transport/Transport.js'

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

export type PoolRequest = {
  method: 'GET' | 'POST'
  path: string
  body?: Uint8Array<ArrayBuffer> | undefined
  contentType?: string | undefined
  /** Must not reach the same node twice. */
  once?: boolean
}

export type PoolOptions = {
  nodes: readonly NodeAddress[]
  transport: Transport
  timeoutMs: number
  maxResponseBytes: number
  maxWaiting: number
}

type Read<T> = (response: NodeResponse) => T

type Node = {
  readonly url: URL
  /** The URL without a slash at its end, for messages. */
  readonly name: string
  /** Put before the paths of the API. */
  readonly basePath: string
  readonly headers: { readonly [name: string]: string }
  restsUntil: number
}

/** How long a node that failed is used only if all others failed too. */
const restMs = 5_000
const maxReasonLength = 300

export class NodePool {
  readonly #options: PoolOptions
  readonly #nodes: readonly Node[]
  #waiting = 0

  constructor(options: PoolOptions) {
    if (options.nodes.length === 0) {
      throw new AlgodError('invalid_options', 'an Algorand network needs at least one node')
    }
    this.#options = options
    this.#nodes = options.nodes.map(toNode)
  }

  /** The result of the first node whose response `read` accepts. `onFailure` is called for every node before it. */
  request<T>(request: PoolRequest, read: Read<T>, onFailure?: (error: AlgodError) => void): Promise<T> {
    return this.#counted(() => this.#inTurn(request, read, onFailure))
  }

  /**
   * Asks one node after the other until `read` returns true for a response. Nodes that failed lately are left out once
   * another has responded. `onFailure` is called for every node that fails.
   *
   * @throws AlgodError if none responds
   */
  each(request: PoolRequest, read: Read<boolean>, onFailure?: (error: AlgodError) => void): Promise<void> {
    return this.#counted(() => this.#ofEach(request, read, onFailure))
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

  async #inTurn<T>(request: PoolRequest, read: Read<T>, onFailure?: (error: AlgodError) => void): Promise<T> {
    let lastError: AlgodError | undefined
    for (const node of this.#inOrder()) {
      const result = await this.#ask(node, request, read)
      if (!(result instanceof AlgodError)) return result
      onFailure?.(result)
      lastError = result
    }
    throw lastError!
  }

  async #ofEach(request: PoolRequest, read: Read<boolean>, onFailure?: (error: AlgodError) => void): Promise<void> {
    let lastError: AlgodError | undefined
    let hasResponse = false
    for (const node of this.#inOrder()) {
      if (hasResponse && node.restsUntil > performance.now()) continue
      const result = await this.#ask(node, request, read)
      if (result === true) return
      hasResponse ||= result === false
      if (!(result instanceof AlgodError)) continue
      onFailure?.(result)
      lastError = result
    }
    if (!hasResponse) throw lastError!
  }

  /** The result, or the error of a node that failed. */
  async #ask<T>(node: Node, request: PoolRequest, read: Read<T>): Promise<T | AlgodError> {
    try {
      const result = read(await this.#exchange(node, request))
      node.restsUntil = 0
      return result
    } catch (error) {
      if (!(error instanceof AlgodError)) throw error
      if (isFaultOfNode(error)) node.restsUntil = performance.now() + restMs
      return error
    }
  }

  /** Nodes that did not fail lately first. */
  #inOrder(): Node[] {
    const now = performance.now()
    const isResting = (node: Node): number => Number(node.restsUntil > now)
    return this.#nodes.length === 1 ? [...this.#nodes] : [...this.#nodes].sort((a, b) => isResting(a) - isResting(b))
  }

  async #exchange(node: Node, { path, contentType, once = false, ...request }: PoolRequest): Promise<NodeResponse> {
    const { transport, timeoutMs, maxResponseBytes } = this.#options
    const headers = contentType === undefined ? node.headers : { ...node.headers, 'Content-Type': contentType }
    const where = { url: node.url, path: node.basePath + path, headers }
    try {
      const { status, text } = await transport.send({ ...request, ...where, timeoutMs, maxResponseBytes, once })
      return checkStatus(node, status, text)
    } catch (error) {
      throw error instanceof TransportError ? explain(error, node, timeoutMs) : error
    }
  }
}

/** Only 200, 404 and a 400 in the words of a node are responses to the request; others are of a proxy or a sick node. */
function checkStatus({ name }: Node, status: number, text: string): NodeResponse {
  const response = new NodeResponse(name, status, text)
  if (status === 200 || status === 404 || (status === 400 && response.reason() !== undefined)) return response
  if (status === 401 || status === 403) {
    const message = `the node at ${name} refuses the token (status ${status})`
    throw new AlgodError('refused_token', message, { status, mayHaveArrived: false })
  }
  // Browsers hide the status of a redirect behind 0.
  if (status < 200 || (status >= 300 && status < 400)) {
    const message = `the node at ${name} answered with status ${status}, a redirect, which is not followed`
    throw new AlgodError('redirected', message, { status })
  }
  const reason = response.reason()?.slice(0, maxReasonLength) ?? ''
  const message = `the node at ${name} answered with status ${status}${reason === '' ? '' : `: ${reason}`}`
  throw new AlgodError('unexpected_status', message, { status, mayHaveArrived: status >= 500 })
}

function explain(error: TransportError, { name }: Node, timeoutMs: number): AlgodError {
  const { code, systemCode, cause } = error
  if (code === 'timeout') {
    return new AlgodError('timeout', `the node at ${name} did not answer within ${timeoutMs} ms`, { cause })
  }
  if (code === 'too_large') {
    return new AlgodError('too_large', `the node at ${name} sends a response that is too long`, { cause })
  }
  const detail = systemCode === undefined ? '' : ` (${systemCode})`
  const message = `the node at ${name} cannot be reached${detail}`
  return new AlgodError('unreachable', message, { cause, mayHaveArrived: !error.isRefused })
}

/** A response that is too long, or not there, depends on the request. */
function isFaultOfNode({ code }: AlgodError): boolean {
  return code !== 'too_large' && code !== 'not_found' && code !== 'rejected'
}

function toNode({ url: text, token = '' }: NodeAddress): Node {
  const url = parseUrl(text)
  if (!/^[\x21-\x7e]*$/.test(token)) {
    throw new AlgodError('invalid_options', 'the token of the node has characters that cannot be sent')
  }
  const headers: { [name: string]: string } = token === '' ? {} : { 'X-Algo-API-Token': token }
  const basePath = url.pathname.replace(/\/+$/, '')
  return { url, name: url.href.replace(/\/+$/, ''), basePath, headers, restsUntil: 0 }
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
