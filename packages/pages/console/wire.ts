/** One request to the daemon, and the reading of its answers on either of its two wires. */
import { fromBase64 } from './model/bytes.js'

export type Answer = { [name: string]: unknown }

export type Call = {
  method: 'GET' | 'POST'
  path: string
  body?: object
  token: string | undefined
  /** The request outlives the page. */
  keepalive?: boolean
}

/** Longer than the daemon holds back an answer because of wrong passwords. */
const timeoutMs = 60_000

const handleMessages = new Set([
  'wrong number of token parts',
  'invalid wallet handle id',
  'invalid wallet handle secret',
  'handle does not exist',
  'invalid token',
  'handle expired',
])

export async function call({ method, path, body, token, keepalive }: Call): Promise<Answer> {
  const headers: { [name: string]: string } = {}
  if (token !== undefined) headers['X-KMD-API-Token'] = token
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  let response: Response
  let answer: Answer
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      keepalive: keepalive ?? false,
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    answer = toAnswer(await response.text())
  } catch {
    throw new UnreachableError()
  }
  if (response.ok) return answer
  throw failure(response, text(answer, 'message') || `the daemon answered with status ${response.status}`)
}

function failure(response: Response, message: string): Error {
  if (response.status === 401 && message === 'invalid API token') return new SessionLostError()
  if (response.status === 401 && handleMessages.has(message)) return new HandleLostError(message)
  const retryAfter = Number(response.headers.get('Retry-After') ?? Number.NaN)
  return new ApiError({
    status: response.status,
    message,
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
  })
}

function toAnswer(body: string): Answer {
  if (body === '') return {}
  try {
    const json: unknown = JSON.parse(body)
    return isAnswer(json) ? json : {}
  } catch {
    return {}
  }
}

function isAnswer(value: unknown): value is Answer {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// One of the wires leaves out whatever is empty: a member that is not there is blank, zero, false or an empty list.

export function text(answer: Answer, name: string): string {
  const value = answer[name]
  return typeof value === 'string' ? value : ''
}

export function number(answer: Answer, name: string): number {
  const value = answer[name]
  return typeof value === 'number' ? value : 0
}

export function flag(answer: Answer, name: string): boolean {
  return answer[name] === true
}

export function object(answer: Answer, name: string): Answer {
  const value = answer[name]
  return isAnswer(value) ? value : {}
}

export function objects(answer: Answer, name: string): Answer[] {
  return list(answer, name).filter(isAnswer)
}

export function texts(answer: Answer, name: string): string[] {
  return list(answer, name).filter((element) => typeof element === 'string')
}

/** Whole numbers that pass 2^53 come as text. */
export function units(answer: Answer, name: string): string {
  const value = text(answer, name)
  return /^\d{1,20}$/.test(value) ? value : '0'
}

/** Base64 on one wire, a list of integers on the other. */
export function bytes(value: unknown): Uint8Array {
  if (typeof value === 'string') return fromBase64(value)
  return Array.isArray(value) ? Uint8Array.from(value as number[]) : new Uint8Array()
}

export function list(answer: Answer, name: string): unknown[] {
  const value = answer[name]
  return Array.isArray(value) ? value : []
}

/** The daemon answered, and said no. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly retryAfterSeconds: number | undefined

  constructor(options: { status: number; message: string; retryAfterSeconds: number | undefined }) {
    super(options.message)
    this.status = options.status
    this.retryAfterSeconds = options.retryAfterSeconds
  }

  get isWrongPassword(): boolean {
    return this.message.includes('wrong password?')
  }
}

export class SessionLostError extends Error {
  override name = 'SessionLostError'

  constructor() {
    super('the session has ended')
  }
}

/** The wallet is locked: its handle expired or was ended. */
export class HandleLostError extends Error {
  override name = 'HandleLostError'
}

export class UnreachableError extends Error {
  override name = 'UnreachableError'

  constructor() {
    super('The daemon does not answer. If it was stopped, start it again and open the console anew.')
  }
}
