/**
 * Requests to one daemon. Connections are kept alive: on `node:http`, which takes a third of the time of `fetch` here.
 * Where the endpoint comes from a data directory, a daemon that moved or changed its token is found again.
 */
import { Agent, type IncomingMessage, request as startRequest } from 'node:http'
import { Answer, isObject } from './Answer.js'
import * as Body from './Body.js'
import * as Endpoint from './Endpoint.js'
import { KmdClientError } from './KmdClientError.js'
import { isExtra, type Operation, route } from './Operations.js'

export type CallOptions = {
  /** Gives up when it fires, with its reason. The daemon may still do what it was asked for. */
  signal?: AbortSignal | undefined
  /** For each request, instead of the connection's own. */
  timeoutMs?: number | undefined
}

export type Request = CallOptions & { members?: Body.Members; secrets?: Body.Secrets }

export type ConnectionOptions = {
  endpoint: Endpoint.Endpoint
  /** Where to look when the endpoint is no longer good. */
  dataDir?: string | undefined
  timeoutMs: number
  maxAnswerBytes: number
}

type Received = { status: number; retryAfter: string | undefined; body: Buffer }

const idleMs = 30_000
const maxConnections = 64
const longestMessage = 1024
const longestTimeoutMs = 2 ** 31 - 1

export class Connection {
  readonly #options: ConnectionOptions
  // Idle connections end here before they end at the daemon, and do not keep the process alive.
  readonly #agent = new Agent({ keepAlive: true, maxSockets: maxConnections, timeout: idleMs })
  #endpoint: Endpoint.Endpoint

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#endpoint = options.endpoint
  }

  get address(): string {
    return this.#endpoint.address
  }

  async call(operation: Operation, request: Request = {}): Promise<Answer> {
    const body = route(operation).method === 'GET' ? undefined : Body.write(request.members ?? {}, request.secrets)
    try {
      return readAnswer(operation, await this.#send(operation, body, request))
    } finally {
      body?.fill(0)
    }
  }

  /** Ends idle connections. Calls after that open new ones. */
  close(): void {
    this.#agent.destroy()
  }

  /** A second time at most: where the daemon is no longer, or where it has another token by now. */
  async #send(operation: Operation, body: Buffer | undefined, options: CallOptions): Promise<Received> {
    const used = this.#endpoint
    try {
      const received = await this.#attempt(used, operation, body, options)
      if (!isWrongToken(received) || !(await this.#hasMoved(used))) return received
    } catch (error) {
      if (!(error instanceof ConnectionFailure)) throw error
      if (!error.isRefused || !(await this.#hasMoved(used))) throw this.#explain(error, used, operation)
    }
    const current = this.#endpoint
    return this.#attempt(current, operation, body, options).catch((error: unknown) => {
      throw error instanceof ConnectionFailure ? this.#explain(error, current, operation) : error
    })
  }

  /**
   * The daemon closes idle connections, sometimes just as a request sets out on one. Repeating it is right unless it
   * may have been done already; operations that must not be done twice therefore get a connection of their own.
   */
  async #attempt(endpoint: Endpoint.Endpoint, operation: Operation, body: Buffer | undefined, options: CallOptions) {
    const timeoutMs = checkTimeout(options.timeoutMs ?? this.#options.timeoutMs, operation)
    const { maxAnswerBytes } = this.#options
    const exchangeOptions = { endpoint, operation, body, signal: options.signal, timeoutMs, maxAnswerBytes }
    if (route(operation).once) return exchange({ ...exchangeOptions, agent: false })
    try {
      return await exchange({ ...exchangeOptions, agent: this.#agent })
    } catch (error) {
      if (!(error instanceof ConnectionFailure && error.wasStale)) throw error
      return exchange({ ...exchangeOptions, agent: false })
    }
  }

  /** Whether there is another endpoint than the one that was used; whoever asks first reads the files. */
  async #hasMoved(used: Endpoint.Endpoint): Promise<boolean> {
    if (this.#endpoint !== used) return true
    const { dataDir } = this.#options
    if (dataDir === undefined) return false
    const found = await Endpoint.read(dataDir).catch(() => undefined)
    if (found === undefined || Endpoint.isSame(found, used)) return false
    this.#endpoint = found
    return true
  }

  #explain(failure: ConnectionFailure, { address }: Endpoint.Endpoint, operation: Operation): KmdClientError {
    const { dataDir } = this.#options
    const place = dataDir === undefined ? 'check the address' : `check kmd.net in ${dataDir}`
    const message = failure.isRefused
      ? `no daemon answers at ${address} (${failure.code}); start it, or ${place}`
      : `the connection to ${address} broke before ${operation} was answered (${failure.code}); ${afterwards(operation)}`
    return new KmdClientError(message, { operation, reason: 'connection', cause: failure.cause })
  }
}

type Exchange = {
  endpoint: Endpoint.Endpoint
  operation: Operation
  body: Buffer | undefined
  signal: AbortSignal | undefined
  timeoutMs: number
  maxAnswerBytes: number
  agent: Agent | false
}

/** One request, one answer. Rejects with `ConnectionFailure` where the network failed. */
function exchange({ endpoint, operation, body, signal, timeoutMs, maxAnswerBytes, agent }: Exchange) {
  const { method, path } = route(operation)
  return new Promise<Received>((resolve, reject) => {
    signal?.throwIfAborted()
    const headers: { [name: string]: string | number } = {
      Accept: 'application/json',
      'X-KMD-API-Token': endpoint.token,
    }
    if (body !== undefined) {
      headers['Content-Type'] = 'application/json'
      headers['Content-Length'] = body.length
    }
    let answered = false
    const request = startRequest({ host: endpoint.host, port: endpoint.port, method, path, headers, agent })
    const fail = (error: unknown): void => {
      settle(() => reject(error))
      request.destroy()
    }
    const settle = (finish: () => void): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
      finish()
    }
    const onAbort = (): void => fail(signal?.reason)
    const timer = setTimeout(() => {
      const message = `${endpoint.address} did not answer ${operation} within ${timeoutMs} ms; ${afterwards(operation)}`
      fail(new KmdClientError(message, { operation, reason: 'timeout' }))
    }, timeoutMs)
    signal?.addEventListener('abort', onAbort, { once: true })
    request.on('error', (error: NodeJS.ErrnoException) => {
      fail(new ConnectionFailure(error, request.reusedSocket && !answered))
    })
    request.on('response', (response) => {
      answered = true
      collect(response, maxAnswerBytes).then(
        (bytes) =>
          settle(() =>
            resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], body: bytes }),
          ),
        (error: unknown) => fail(error instanceof TooLarge ? tooLarge(operation, maxAnswerBytes) : error),
      )
    })
    request.end(body)
  })
}

function collect(response: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    response.on('data', (chunk: Buffer) => {
      length += chunk.length
      if (length > limit) reject(new TooLarge())
      else chunks.push(chunk)
    })
    response.on('end', () => {
      const whole = Buffer.concat(chunks)
      for (const chunk of chunks) chunk.fill(0)
      resolve(whole)
    })
    response.on('error', (error) => reject(new ConnectionFailure(error, false)))
  })
}

/** What the daemon answered, or its refusal. The bytes are wiped: they may have held a key. */
function readAnswer(operation: Operation, { status, retryAfter, body }: Received): Answer {
  let json: unknown
  try {
    // Not with the cause: its text quotes what could not be read.
    json = JSON.parse(body.toString('utf8'))
  } catch {
    json = undefined
  }
  body.fill(0)
  const members = isObject(json) ? json : undefined
  if (status === 200 && members !== undefined && members['error'] !== true) return new Answer(operation, members)
  const retryAfterSeconds = retryAfter !== undefined && /^[0-9]{1,9}$/.test(retryAfter) ? Number(retryAfter) : undefined
  const details = { operation, status, retryAfterSeconds }
  const message = members?.['message']
  if (typeof message === 'string' && message !== '') {
    throw new KmdClientError(message.slice(0, longestMessage), { ...details, reason: 'daemon' })
  }
  const isMissing = isExtra(operation) && (status === 404 || status === 405)
  const what = isMissing
    ? `this daemon does not know ${operation}: it is an operation of Latchkey that the Go daemon does not have`
    : `the answer to ${operation} (status ${status}) is not the daemon's; is a kmd listening at the address?`
  throw new KmdClientError(what, { ...details, reason: 'answer' })
}

function isWrongToken({ status, body }: Received): boolean {
  return status === 401 && body.length < longestMessage && body.includes('invalid API token')
}

function afterwards(operation: Operation): string {
  return route(operation).once
    ? 'it may have been done all the same: look before you ask again'
    : 'ask again, and see whether the daemon runs'
}

function checkTimeout(timeoutMs: number, operation: Operation): number {
  if (timeoutMs > 0 && timeoutMs <= longestTimeoutMs) return timeoutMs
  const message = `timeoutMs must be more than 0 and at most ${longestTimeoutMs}`
  throw new KmdClientError(message, { operation, reason: 'argument' })
}

function tooLarge(operation: Operation, limit: number): KmdClientError {
  const message = `the answer to ${operation} is longer than ${limit} bytes; raise maxAnswerBytes if that is right`
  return new KmdClientError(message, { operation, reason: 'answer' })
}

class TooLarge extends Error {}

const refusals = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'])
const resets = new Set(['ECONNRESET', 'EPIPE'])

/** Between the socket and the caller, who gets it explained. */
class ConnectionFailure extends Error {
  readonly code: string
  /** Nobody took the connection: nothing was sent. */
  readonly isRefused: boolean
  /** The daemon had closed the connection, which lay idle, before it could have seen the request. */
  readonly wasStale: boolean

  constructor(cause: NodeJS.ErrnoException, onReusedSocket: boolean) {
    super(cause.message, { cause })
    this.code = cause.code ?? cause.message
    this.isRefused = refusals.has(this.code)
    this.wasStale = onReusedSocket && resets.has(this.code)
  }
}
