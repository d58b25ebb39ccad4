/** Sends one request to the daemon. */
import { Json } from '@latchkey/algorand'
import { ConsoleError, DaemonError } from './errors.js'
import { type JsonObject, string } from './fields.js'

export type RequestOptions = {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  body?: object
  token: string | undefined
  /** Lets the request outlive the page. */
  keepalive?: boolean
  /** Cancels the request. */
  signal?: AbortSignal | undefined
  /** @default 60 s */
  timeoutMs?: number | undefined
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

export async function request(options: RequestOptions): Promise<JsonObject> {
  const { method, path, body, token, keepalive, signal, timeoutMs = defaultTimeoutMs } = options
  const headers: { [name: string]: string } = {}
  if (token !== undefined) headers['X-KMD-API-Token'] = token
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  let response: Response
  let content: JsonObject
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      keepalive: keepalive ?? false,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]),
    })
    content = parse(await response.text())
  } catch {
    throw new ConsoleError('daemon_unreachable')
  }
  if (response.ok) return content
  throw toError(response, content)
}

function toError(response: Response, content: JsonObject): Error {
  const { status } = response
  const message = string(content, 'message') || `the daemon responded with status ${status}`
  const code = response.headers.get('Latchkey-Error') ?? 'unknown'
  if (code === 'invalid_token') return new ConsoleError('session_ended')
  if (handleCodes.has(code)) return new ConsoleError('wallet_locked')
  const retryAfter = Number(response.headers.get('Retry-After') ?? Number.NaN)
  const retryAfterSeconds = Number.isFinite(retryAfter) ? retryAfter : undefined
  return new DaemonError({ code, message, status, retryAfterSeconds })
}

function parse(body: string): JsonObject {
  if (body === '') return {}
  try {
    const json: unknown = JSON.parse(body)
    return Json.isObject(json) ? json : {}
  } catch {
    return {}
  }
}
