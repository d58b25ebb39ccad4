/** Sends operations to the daemon and reads its responses, both by the description of the API. */
import { Bytes, Json, TimeLimit } from '@latchkey/algorand'
import { type Description, type RequestOf, type ResponseOf, readingOf, readResponse } from '@latchkey/kmd-api'
import { ConsoleError, DaemonError, hasCode } from './errors.js'

/** The parts of a description that a page needs. */
export type Operation = Pick<Description, 'method' | 'path' | 'request' | 'response'>
export type RequestFor<O extends Operation> = RequestOf<O['request']>
export type ResponseFor<O extends Operation> = ResponseOf<O['response']>

export type CallOptions = {
  /** Lets the request outlive the page. */
  keepalive?: boolean
  /** Cancels the request. */
  signal?: AbortSignal
  /** @default 60 s */
  timeoutMs?: number
}

/** Longer than the daemon's delay after wrong passwords. */
const defaultTimeoutMs = 60_000

/** The daemon's codes for a handle that it no longer accepts. */
const handleCodes: ReadonlySet<string> = new Set([
  'wrong_token_parts',
  'bad_handle_id',
  'bad_handle_secret',
  'handle_unknown',
  'handle_wrong_secret',
  'handle_expired',
])

/** The daemon, for the session of this page. */
export class Daemon {
  readonly #token: string
  readonly #onSessionEnded: () => void

  constructor(options: { token: string; onSessionEnded: () => void }) {
    this.#token = options.token
    this.#onSessionEnded = options.onSessionEnded
  }

  /** Calls an operation. If the session has ended, the whole page is told, regardless of the operation. */
  async call<O extends Operation>(
    operation: O,
    request: RequestFor<O> = {} as RequestFor<O>,
    options: CallOptions = {},
  ): Promise<ResponseFor<O>> {
    try {
      return await call(operation, request, { ...options, token: this.#token })
    } catch (error) {
      if (hasCode(error, 'session_ended')) this.#onSessionEnded()
      throw error
    }
  }
}

/** Calls an operation, with a session token or without one. */
export async function call<O extends Operation>(
  { method, path, response: members }: O,
  request: RequestFor<O>,
  { token, keepalive = false, signal, timeoutMs = defaultTimeoutMs }: CallOptions & { token?: string },
): Promise<ResponseFor<O>> {
  const headers: { [name: string]: string } = {}
  if (token !== undefined) headers['X-KMD-API-Token'] = token
  if (method !== 'GET') headers['Content-Type'] = 'application/json'
  let response: Response
  let content: Json.Members
  try {
    response = await fetch(path, {
      method,
      headers,
      body: method === 'GET' ? null : JSON.stringify(request, encodeBytes),
      keepalive,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: TimeLimit.signal(timeoutMs, signal),
    })
    content = Json.parseObject(await response.text()) ?? {}
  } catch {
    throw new ConsoleError('daemon_unreachable')
  }
  if (!response.ok) throw toError(response, content)
  return readResponse(readingOf(members), content, rejectMember) as ResponseFor<O>
}

function encodeBytes(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? Bytes.toBase64(value) : value
}

/** Only another program responds without a member of the description. */
function rejectMember(): never {
  throw new ConsoleError('daemon_unreachable')
}

function toError({ status, headers }: Response, { message }: Json.Members): Error {
  const code = headers.get('Latchkey-Error') ?? 'unknown'
  if (code === 'invalid_token') return new ConsoleError('session_ended')
  if (handleCodes.has(code)) return new ConsoleError('wallet_locked')
  const retryAfter = Number(headers.get('Retry-After') ?? Number.NaN)
  return new DaemonError({
    code,
    message: typeof message === 'string' && message !== '' ? message : `the daemon responded with status ${status}`,
    status,
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
  })
}
