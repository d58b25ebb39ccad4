/**
 * Calls fetch handlers. Their `Request` and `Response` are cheap: commonly used members come directly from the raw
 * message, and a real one is built only for the rest. Building one for every request takes longer than everything else
 * the host does.
 */
import { BodyError } from './BodyReader.js'
import {
  type BodySource,
  type ConnectionInfo,
  dropConnection,
  type FetchHandler,
  type HostHandler,
  type HostResponse,
  type RawRequest,
  type RawResponse,
} from './Message.js'
import { rawHandlerOf } from './toFetch.js'

/** The dependencies for serving a fetch handler. */
export type FetchHost = {
  errorResponse: (status: number, message: string) => RawResponse
  onError: (error: unknown) => void
}

/** Returns the form in which a connection calls a fetch handler. An error of the handler becomes a response. */
export function fromFetch(fetch: FetchHandler, host: FetchHost): HostHandler {
  const rawHandler = rawHandlerOf(fetch)
  if (rawHandler !== undefined) return rawHandler
  return (raw) => callFetch(fetch, () => toRequest(raw), infoOf(raw), host)
}

/** Calls a fetch handler for any host. */
export async function callFetch(
  fetch: FetchHandler,
  makeRequest: () => Request,
  info: ConnectionInfo,
  { errorResponse, onError }: FetchHost,
): Promise<HostResponse> {
  let request: Request
  try {
    request = makeRequest()
  } catch (error) {
    return errorResponse(400, `invalid HTTP request: ${(error as Error).message}`)
  }
  try {
    return await fromResponse(await fetch(request, info), request.method === 'HEAD')
  } catch (error) {
    if (error instanceof BodyError) return errorResponse(error.status, error.message)
    // Usually thrown by code that waited on `request.signal`.
    if ((error as Error | undefined)?.name !== 'AbortError') onError(error)
    return errorResponse(500, 'internal server error')
  }
}

/** The default of `errorResponse`. */
export function jsonError(status: number, message: string): RawResponse {
  return { status, headers: ['Content-Type', 'application/json'], body: `${JSON.stringify({ message })}\n` }
}

/** Looked up on access, because most handlers never need it. */
function infoOf(raw: RawRequest): ConnectionInfo {
  const { localAddress, remoteAddress, authenticated, id, matched, concerns, body } = raw
  return {
    authenticated,
    requestId: id,
    matched,
    concerns,
    readBody: body,
    textResponse,
    get localAddress() {
      return localAddress?.()
    },
    get remoteAddress() {
      return remoteAddress?.()
    },
  }
}

/** The host controls framing: headers that a handler forwards from another server may no longer fit the body. */
const framingHeaders = new Set(['connection', 'keep-alive', 'transfer-encoding', 'upgrade'])

async function fromResponse(response: Response, isHead: boolean): Promise<HostResponse> {
  const unread = isHead ? undefined : unreadResponse(response)
  if (unread !== undefined) return unread
  if (response.type === 'error') return dropConnection
  const { status } = response
  const headers: string[] = []
  // RFC 9110, section 8.6: a 204 has no length.
  const hasLength = isHead && status !== 204
  // Iterates over each set-cookie separately.
  for (const [name, value] of response.headers) {
    if (!framingHeaders.has(name) && (hasLength || name !== 'content-length')) headers.push(name, value)
  }
  if (isHead) {
    // Fails if the stream is locked, or if its source fails.
    response.body?.cancel().catch(() => {})
    return { status, headers, body: undefined }
  }
  if (response.body === null) return { status, headers, body: '' }
  return { status, headers, body: await readOrStream(response.body) }
}

/** Enough for a stream with available bytes to deliver them and close. */
const closingTicks = 8

/** Returns the whole body if its bytes are already available, as for texts and byte arrays. */
async function readOrStream(stream: ReadableStream<Uint8Array>): Promise<Uint8Array | string | BodySource> {
  const reader = stream.getReader()
  const first = reader.read()
  // Waits no longer, because the head of a stream is sent before its first piece.
  const start = (await settled(first)) ?? (await Promise.race([first, nextTurn()]))
  if (start === undefined) return toSource(reader, [first])
  if (start.done) return ''
  const second = reader.read()
  const end = await settled(second).catch(() => undefined)
  return end?.done === true ? start.value : toSource(reader, [first, second])
}

type Read = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>>

/** Returns the result of a read if it is available within a few ticks. */
async function settled(read: Promise<Read>): Promise<Read | undefined> {
  let result: Read | undefined
  let isFailed = false
  read.then(
    (value) => {
      result = value
    },
    () => {
      isFailed = true
    },
  )
  for (let i = 0; i < closingTicks && result === undefined && !isFailed; i++) await undefined
  return isFailed ? read : result
}

function nextTurn(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(resolve, undefined))
}

/** `ahead` contains the reads that have begun. */
function toSource(reader: ReadableStreamDefaultReader<Uint8Array>, ahead: Promise<Read>[]): BodySource {
  return {
    next: async () => {
      const { value } = await (ahead.shift() ?? reader.read())
      return value
    },
    cancel: () => void reader.cancel().catch(() => {}),
  }
}

/** Methods that `Request` does not allow. */
const forbiddenMethods = new Set(['CONNECT', 'TRACE', 'TRACK'])
/** Targets and hosts that URL parsing does not change: no dot segments, no other notation of a number. */
const plainTarget = /^(?:\/(?![./]|%2e)|[\w!$&()*+,;=:@~?.-]|%(?!2e))*$/i
const plainHost =
  /^(?:(?:(?!xn--)[a-z0-9-]+\.)*(?!xn--)[a-z][a-z0-9-]*|127\.0\.0\.1)(?::(?!80$)[1-9][0-9]{0,3}|:[1-5][0-9]{4})?$/
const decoder = new TextDecoder()

/**
 * Node's own `Request` stores its state in properties under these symbols. On Node 20 and 22, a light request therefore
 * passes every check of `new Request(request)` and `fetch(request)`. Elsewhere a real one is used.
 */
let canBeLight: boolean | undefined

/**
 * Deferred to the first request, because loading Node's `Request` takes 30 ms, which would delay the start of a daemon.
 */
function prepare(): boolean {
  const symbols = Object.getOwnPropertySymbols(new Request('http://localhost'))
  LightRequest.inherit(symbols)
  return symbols.some(({ description }) => description === 'state')
}

/**
 * The request for a fetch handler.
 *
 * @throws TypeError if method or target cannot be represented as a `Request`.
 */
function toRequest(raw: RawRequest): Request {
  if (forbiddenMethods.has(raw.method)) throw new TypeError(`the method ${raw.method} is not supported`)
  const url = urlOf(raw.target, raw.header('host'))
  canBeLight ??= prepare()
  return canBeLight ? (new LightRequest(raw, url) as unknown as Request) : toRealRequest(raw, url, signalOf(raw))
}

/** Dot segments, which URL parsing would resolve, and backslashes, which it would turn into slashes. */
const ambiguousPath = /\\|(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i

/**
 * Returns the URL of a request target (RFC 9112, section 3.2).
 *
 * Rejects a path with dot segments or backslashes: a proxy that does not resolve them would see another path than the
 * handler, and let through requests that it is configured to block.
 *
 * @throws TypeError if there is none.
 */
export function urlOf(target: string, hostHeader = ''): string {
  const host = hostHeader === '' ? 'localhost' : hostHeader
  if (target.startsWith('/') && plainTarget.test(target) && plainHost.test(host)) return `http://${host}${target}`
  if (ambiguousPath.test(target.split('?', 1)[0]!)) throw new TypeError('the path has dot segments or backslashes')
  if (/^https?:\/\//i.test(target)) return new URL(target).href
  if (!target.startsWith('/')) throw new TypeError('the request target is not a path')
  if (!/^[^/?#@\\]*$/.test(host)) throw new TypeError('the Host header is not a host')
  // A fragment is not part of a request target.
  return new URL(`http://${host}${target.replaceAll('#', '%23')}`).href
}

function signalOf(raw: RawRequest): AbortSignal {
  const controller = new AbortController()
  raw.onClose?.(() => controller.abort())
  return controller.signal
}

function toRealRequest(raw: RawRequest, url: string, signal: AbortSignal): Request {
  const init: RequestInit = { method: raw.method, headers: toHeaders(raw), signal }
  if (!hasBody(raw)) return new Request(url, init)
  return new Request(url, { ...init, body: toStream(raw), duplex: 'half' } as RequestInit)
}

function toHeaders(raw: RawRequest): Headers {
  return new Headers([...(raw.headers ?? [])])
}

/** `Request` does not allow a body for `GET` and `HEAD`; the host skips one that was sent. */
function hasBody({ method, header }: RawRequest): boolean {
  if (method === 'GET' || method === 'HEAD') return false
  return header('transfer-encoding') !== undefined || !/^0*$/.test(header('content-length') ?? '')
}

function toStream(raw: RawRequest): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await raw.body()
        if (bytes.length > 0) controller.enqueue(takeCopy(bytes))
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

/** The received bytes may contain a password, and only the host can wipe them. */
function takeCopy(received: Uint8Array): Uint8Array<ArrayBuffer> {
  const copy = Uint8Array.from(received)
  received.fill(0)
  return copy
}

class LightRequest {
  readonly #raw: RawRequest
  readonly url: string
  #headers: Headers | undefined
  #signal: AbortSignal | undefined
  #real: Request | undefined
  #isRead = false

  static inherit(stateSymbols: readonly symbol[]): void {
    Object.setPrototypeOf(LightRequest.prototype, Request.prototype)
    for (const symbol of stateSymbols) {
      Object.defineProperty(LightRequest.prototype, symbol, {
        get(this: LightRequest) {
          return Reflect.get(this.#toReal(), symbol)
        },
      })
    }
  }

  constructor(raw: RawRequest, url: string) {
    this.#raw = raw
    this.url = url
  }

  get method(): string {
    return this.#raw.method
  }

  get headers(): Headers {
    if (this.#real !== undefined) return this.#real.headers
    this.#headers ??= toHeaders(this.#raw)
    return this.#headers
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#raw)
    return this.#signal
  }

  get body(): ReadableStream<Uint8Array> | null {
    return hasBody(this.#raw) ? this.#toReal().body : null
  }

  get bodyUsed(): boolean {
    return this.#isRead || this.#real?.bodyUsed === true
  }

  async text(): Promise<string> {
    const received = await this.#read()
    const text = decoder.decode(received)
    received.fill(0)
    return text
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text())
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return takeCopy(await this.#read()).buffer
  }

  async bytes(): Promise<Uint8Array> {
    return takeCopy(await this.#read())
  }

  blob(): Promise<Blob> {
    return this.#toReal().blob()
  }

  formData(): Promise<FormData> {
    return this.#toReal().formData()
  }

  clone(): Request {
    return this.#toReal().clone()
  }

  async #read(): Promise<Uint8Array> {
    if (this.#real !== undefined) return new Uint8Array(await this.#real.arrayBuffer())
    if (this.#isRead) throw new TypeError('Body is unusable: Body has already been read')
    if (!hasBody(this.#raw)) return new Uint8Array()
    this.#isRead = true
    return this.#raw.body()
  }

  #toReal(): Request {
    if (this.#real !== undefined) return this.#real
    if (this.#isRead) {
      this.#real = new Request(this.url, { method: this.method, headers: this.headers, signal: this.signal, body: '' })
      this.#real.text().catch(() => {})
    } else this.#real = toRealRequest(this.#raw, this.url, this.signal)
    return this.#real
  }
}

let canBeLightResponse: boolean | undefined

/**
 * As with a light request, Node's own `Response` stores its state under symbols on Node 20 and 22. Elsewhere a real one
 * is used.
 */
function prepareResponse(): boolean {
  const symbols = Object.getOwnPropertySymbols(new Response())
  LightResponse.inherit(symbols)
  return symbols.some(({ description }) => description === 'state')
}

/** Creates a text response. Its headers have lower-case names. */
function textResponse(status: number, headers: readonly string[], body: string): Response {
  canBeLightResponse ??= prepareResponse()
  const raw = { status, headers: [...headers], body }
  return canBeLightResponse ? (new LightResponse(raw) as unknown as Response) : toRealResponse(raw)
}

/**
 * Returns the parts of a light response, or undefined for any other response, and for one that was read or may have
 * changed.
 */
function unreadResponse(response: Response): RawResponse | undefined {
  return canBeLightResponse === true && response instanceof LightResponse ? response.unread : undefined
}

function toRealResponse({ status, headers, body }: RawResponse): Response {
  const pairs: [string, string][] = []
  for (let i = 0; i < headers.length; i += 2) pairs.push([headers[i]!, headers[i + 1]!])
  return new Response(body, { status, headers: pairs })
}

/**
 * A `Response` whose text the host already has. A real one, with its stream, is built only if something reads it.
 * Building and reading one takes longer than many handlers.
 */
class LightResponse {
  readonly #raw: RawResponse
  #real: Response | undefined

  /** Every member of `Response` reads its state through these. */
  static inherit(stateSymbols: readonly symbol[]): void {
    Object.setPrototypeOf(LightResponse.prototype, Response.prototype)
    for (const symbol of stateSymbols) {
      Object.defineProperty(LightResponse.prototype, symbol, {
        get(this: LightResponse) {
          this.#real ??= toRealResponse(this.#raw)
          return Reflect.get(this.#real, symbol)
        },
      })
    }
  }

  constructor(raw: RawResponse) {
    this.#raw = raw
  }

  get unread(): RawResponse | undefined {
    return this.#real === undefined ? this.#raw : undefined
  }
}
