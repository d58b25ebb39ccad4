/**
 * Sends requests to one daemon. If the endpoint comes from a data directory, the connection follows a daemon that
 * restarted on another port or changed its token.
 */

import { Json } from '@latchkey/algorand'
import { type Fetch, TransportError, type TransportResponse } from '@latchkey/http-client'
import { readingOf, readResponse } from '@latchkey/kmd-api'
import { examiner, readDataDirectory } from '#data-directory'
import { readRefusal } from './agentWire.js'
import * as Endpoint from './Endpoint.js'
import { daemonErrorCode } from './errors.js'
import { invalidResponse, KmdClientError, type KmdClientErrorOptions } from './KmdClientError.js'
import {
  isLatchkeyOnly,
  isRepeatable,
  type Operation,
  type RequestName,
  type ResponseTo,
  type Route,
  routes,
} from './operations.js'
import * as RequestBody from './RequestBody.js'
import {
  createDaemonTransport,
  type DaemonTransport,
  type Doubt,
  UnprovenPeerError,
} from './transport/DaemonTransport.js'

/** Options of every call. */
export type CallOptions = {
  /** Aborts the call, which then rejects with the signal's reason. The daemon may still complete the operation. */
  signal?: AbortSignal | undefined
  /**
   * The time limit of each request of this call, in milliseconds.
   *
   * @default the client's `timeoutMs`
   */
  timeoutMs?: number | undefined
}

/** The members of a request, by the names that the description of the operation has. */
export type CallRequest<Id extends Operation = Operation> = CallOptions & {
  members?: { readonly [Name in RequestName<Id>]?: RequestBody.Json | undefined }
  secrets?: { readonly [Name in RequestName<Id>]?: Uint8Array | undefined }
}

export type ConnectionOptions = {
  endpoint: Endpoint.Endpoint
  /** The directory to read again if the endpoint no longer works. */
  dataDir: string | undefined
  /** Used instead of the token in the data directory. */
  agentToken?: string | undefined
  timeoutMs: number
  maxResponseBytes: number
  fetch: Fetch | undefined
}

/** A response whose body has been parsed and wiped. */
type Received = {
  status: number
  members: Json.Members | undefined
  errorCode: string | undefined
  retryAfter: string | undefined
  refusal: string | undefined
  approvalId: string | undefined
}

const maxMessageLength = 1024
const maxTimeoutMs = 2 ** 31 - 1

export class Connection {
  readonly #options: ConnectionOptions
  readonly #transport: DaemonTransport
  #endpoint: Endpoint.Endpoint

  constructor(options: ConnectionOptions) {
    this.#options = options
    this.#endpoint = options.endpoint
    const { dataDir, fetch } = options
    // An address and token passed by the caller are trusted; those read from a data directory may be stale.
    const examine = dataDir === undefined ? undefined : examiner(dataDir)
    this.#transport = createDaemonTransport(examine, fetch)
  }

  get address(): string {
    return this.#endpoint.address
  }

  async call<Id extends Operation>(operation: Id, request: CallRequest<Id> = {}): Promise<ResponseTo<Id>> {
    const { method } = routes[operation]
    const body = method === 'GET' ? undefined : RequestBody.encode(request.members ?? {}, request.secrets)
    try {
      return read(operation, await this.#send(operation, body, request)) as ResponseTo<Id>
    } finally {
      body?.fill(0)
    }
  }

  /** Closes idle connections. Later calls open new ones. */
  close(): void {
    this.#transport.close()
  }

  /** Retries at most once, with the daemon's new endpoint or token. */
  async #send(
    operation: Operation,
    body: Uint8Array<ArrayBuffer> | undefined,
    options: CallOptions,
  ): Promise<Received> {
    const used = this.#endpoint
    try {
      const received = await this.#exchange(used, operation, body, options)
      if (!isWrongToken(received) || !(await this.#hasMoved(used))) return received
    } catch (error) {
      const isUnsent = error instanceof KmdClientError && unsentCodes.has(error.code)
      if (!isUnsent || !(await this.#hasMoved(used))) throw error
    }
    return this.#exchange(this.#endpoint, operation, body, options)
  }

  async #exchange(
    endpoint: Endpoint.Endpoint,
    operation: Operation,
    body: Uint8Array<ArrayBuffer> | undefined,
    { signal, timeoutMs = this.#options.timeoutMs }: CallOptions,
  ): Promise<Received> {
    checkTimeout(timeoutMs, operation)
    const { method, path, once = false }: Route = routes[operation]
    const { server, token } = endpoint
    const content = body === undefined ? {} : { 'Content-Type': 'application/json' }
    const headers = { Accept: 'application/json', 'X-KMD-API-Token': token, ...content }
    const { maxResponseBytes } = this.#options
    const limits = { signal, timeoutMs, maxResponseBytes, once, repeatable: isRepeatable(operation) }
    try {
      return parse(await this.#transport.send({ server, path, method, headers, body, ...limits }))
    } catch (error) {
      if (error instanceof UnprovenPeerError) {
        const { reason, message } = error.doubt
        throw new KmdClientError(doubtCodes[reason], message, { operation })
      }
      if (!(error instanceof TransportError)) throw error
      throw this.#explain(error, { endpoint, operation, timeoutMs })
    }
  }

  /** Whether the endpoint differs from the one that was used. Concurrent calls share the first call's read. */
  async #hasMoved(used: Endpoint.Endpoint): Promise<boolean> {
    if (this.#endpoint !== used) return true
    const { dataDir, agentToken } = this.#options
    if (dataDir === undefined) return false
    const found = await readEndpoint(dataDir, agentToken).catch(() => undefined)
    if (found === undefined || Endpoint.isSame(found, used)) return false
    this.#endpoint = found
    return true
  }

  #explain(error: TransportError, { endpoint: { address }, operation, timeoutMs }: Attempt): KmdClientError {
    const { dataDir, maxResponseBytes } = this.#options
    const { code, cause } = error
    const options = { operation, ...(cause === undefined ? {} : { cause }) }
    const detail = error.systemCode === undefined ? '' : ` (${error.systemCode})`
    if (code === 'refused') {
      const sent = error.wasSentBefore ? 'an earlier attempt may have reached it' : 'nothing was sent'
      const hint =
        dataDir === undefined
          ? `start the daemon, or check the address; ${sent}`
          : `start the daemon: the one that wrote kmd.net in ${dataDir} has ended; ${sent}`
      return new KmdClientError('daemon_not_running', `no key daemon responds at ${address}${detail}`, {
        ...options,
        hint,
      })
    }
    const hint = nextStep(operation)
    if (code === 'timeout') {
      const message = `${address} did not respond to ${operation} within ${timeoutMs} ms`
      return new KmdClientError('timeout', message, { ...options, hint })
    }
    if (code === 'too_large') {
      const message = `the response to ${operation} is longer than ${maxResponseBytes} bytes`
      return new KmdClientError('response_too_large', message, options)
    }
    const message = `the connection to ${address} broke before the response to ${operation}${detail}`
    return new KmdClientError('connection_lost', message, { ...options, hint })
  }
}

/** Codes of failures before anything was sent. The daemon may have moved. */
const unsentCodes: ReadonlySet<string> = new Set(['daemon_not_running', 'foreign_listener'])
const doubtCodes = {
  foreign: 'foreign_listener',
  stale: 'daemon_not_running',
  unproven: 'data_directory_unsupported',
} as const satisfies { [Reason in Doubt['reason']]: string }

type Attempt = { endpoint: Endpoint.Endpoint; operation: Operation; timeoutMs: number }

/**
 * The endpoint of the daemon running in a data directory. If an agent token is given, the owner's token is not read.
 */
export async function readEndpoint(dataDir: string, agentToken?: string): Promise<Endpoint.Endpoint> {
  const { address, token } = await readDataDirectory(dataDir, agentToken)
  return Endpoint.parse(address, token)
}

/** Wipes the bytes, because they may hold a key. */
function parse(response: TransportResponse): Received {
  const members = Json.parseObject(response.text())
  response.body.fill(0)
  return {
    status: response.status,
    members,
    errorCode: response.header('latchkey-error'),
    retryAfter: response.header('retry-after'),
    refusal: response.header('latchkey-refusal'),
    approvalId: response.header('latchkey-approval'),
  }
}

/** Reads a successful response, or throws the daemon's error. */
function read(operation: Operation, received: Received): Json.Members {
  const { status, members, errorCode, retryAfter } = received
  const isWaiting = status === 202 && errorCode !== undefined
  if ((status === 200 || status === 202) && !isWaiting && members !== undefined && members['error'] !== true) {
    const { response }: Route = routes[operation]
    // The message does not quote the value, because it may be a key.
    return response === undefined
      ? members
      : readResponse(readingOf(response), members, (name) => invalidResponse(operation, name))
  }
  const retryAfterSeconds = retryAfter !== undefined && /^[0-9]{1,9}$/.test(retryAfter) ? Number(retryAfter) : undefined
  const details = { operation, status, retryAfterSeconds, ...refusalOf(received) }
  const message = isWaiting ? waitingText(members) : members?.['message']
  if (typeof message === 'string' && message !== '') {
    throw new KmdClientError(daemonErrorCode(errorCode, message), message.slice(0, maxMessageLength), details)
  }
  if (isLatchkeyOnly(operation) && (status === 404 || status === 405)) {
    const missing = `this daemon does not have ${operation}, an operation of Latchkey that the Go daemon does not have`
    throw new KmdClientError('operation_not_supported', missing, details)
  }
  const invalid = `the response to ${operation} (status ${status}) is not from a key daemon`
  throw new KmdClientError('invalid_response', invalid, details)
}

/** Why a signature is waiting for the owner. */
function waitingText(members: Json.Members | undefined): string {
  const approval = members?.['approval']
  const reason = Json.isObject(approval) ? approval['reason'] : undefined
  return typeof reason === 'string' && reason !== '' ? reason : "this payment needs the owner's approval"
}

/** The daemon sends no longer header values. */
const maxHeaderLength = 4_096

function refusalOf({ refusal, approvalId }: Received): Pick<KmdClientErrorOptions, 'refusal' | 'approvalId'> {
  return {
    refusal:
      refusal === undefined || refusal.length > maxHeaderLength ? undefined : readRefusal(Json.parseObject(refusal)),
    approvalId: approvalId !== undefined && /^[A-Za-z0-9_-]{1,64}$/.test(approvalId) ? approvalId : undefined,
  }
}

function isWrongToken({ status, errorCode, members }: Received): boolean {
  const message = members?.['message']
  return status === 401 && typeof message === 'string' && daemonErrorCode(errorCode, message) === 'invalid_token'
}

function nextStep(operation: Operation): string {
  return isRepeatable(operation)
    ? 'check that the daemon is running, and repeat the call'
    : 'the operation may have taken effect: check before you repeat it'
}

function checkTimeout(timeoutMs: number, operation: Operation): void {
  if (timeoutMs > 0 && timeoutMs <= maxTimeoutMs) return
  const message = `timeoutMs must be more than 0 and at most ${maxTimeoutMs}`
  throw new KmdClientError('invalid_argument', message, { operation })
}
