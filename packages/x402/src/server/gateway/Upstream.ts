/**
 * Forwards requests to an HTTP service that knows nothing of payments. Requests are written from what Node has parsed,
 * so that the service reads the same request as the gate did: one length, listed headers only, and no other method. A
 * request with a body is the last one on its connection, because a service that leaves a body unread would take it for
 * the next request.
 */
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp, STATUS_CODES } from 'node:http'
import { request as requestHttps, Agent as TlsAgent } from 'node:https'
import { connect, Socket } from 'node:net'
import type { Duplex, Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { OptionsError, PartyError } from '../../errors.js'
import type { NodeRequest, NodeResponse } from '../adapters/NodeMessage.js'
import { isGranted, paymentOf } from '../exchange/Payment.js'
import { overridesHeader } from '../exchange/Usage.js'
import { copyResponse, cut, disconnect, hasBody, MethodInBodyError, sendBody } from './bodies.js'
import { checkOwnHeaders, type HeaderPairs, PassingHeaders, responseHeaders } from './headers.js'
import { scannerFor, unreadable } from './methodInBody.js'

/** Options of {@link Upstream}. */
export type UpstreamOptions = {
  /** The address of the service. A path is put in front of the path of each request. */
  readonly url: string
  /**
   * Headers that each request to the service has, such as the key of the service. A client cannot set them.
   *
   * @default {}
   */
  readonly headers?: { readonly [name: string]: string } | undefined
  /**
   * Headers of clients to forward in addition to the common ones, such as `X-Acme-Version` or `X-Acme-*`. Others are
   * removed, because services trust some of them as those of a proxy.
   *
   * @default []
   */
  readonly passHeaders?: readonly string[] | undefined
  /**
   * How to treat a form or a JSON object with a member `_method`, which Rails, Laravel and others take for the method:
   * `refuse` responds with 400, and with 415 to one that is compressed, or in a charset such as UTF-16. Use `forward` only if the service reads no method from
   * bodies.
   *
   * @default 'refuse'
   */
  readonly methodInBody?: 'refuse' | 'forward' | undefined
  /**
   * How long the service may take to begin its response, and may then be silent: from 1 ms to a day.
   *
   * @default 60,000
   */
  readonly timeoutMs?: number | undefined
  /**
   * The connections to the service, at most 65,535, and as many again for requests that are not repeated: those with a
   * body or a method other than GET, HEAD and OPTIONS. Further requests wait for one, up to 40 times as many; others
   * are refused with 503. Paid and free requests have connections of their own, so that clients that pay nothing cannot
   * keep others waiting.
   *
   * @default 256
   */
  readonly maxConnections?: number | undefined
  /**
   * Called with the number of bytes of each part of a body, or of another protocol, that is forwarded in either
   * direction.
   */
  readonly onBytes?: ((bytes: number) => void) | undefined
}

const defaultTimeoutMs = 60_000
const defaultMaxConnections = 256
const maxTimeoutMs = 86_400_000
const maxSockets = 65_535
/** Requests that wait for each connection. A request takes about 10 KB. */
const maxWaiting = 40
/** How long a switched connection may be silent before its peer is asked whether it is still there. */
const keepAliveMs = 60_000
const healthTimeoutMs = 3_000
/** How long the result of a health check is used. */
const healthMs = 1_000

type Pool = {
  readonly kept: Agent
  /** Opens a connection for each request that cannot be repeated if a service closes an idle connection meanwhile. */
  readonly single: Agent
}

function poolOf(protocol: string, maxSockets: number): Pool {
  const AgentOf = protocol === 'https:' ? TlsAgent : Agent
  const kept = new AgentOf({ keepAlive: true, maxSockets, scheduling: 'lifo' })
  return { kept, single: new AgentOf({ maxSockets }) }
}

/** An HTTP service behind a gate. */
export class Upstream {
  readonly #base: URL
  readonly #headers: HeaderPairs
  readonly #passing: PassingHeaders
  readonly #isScanned: boolean
  readonly #timeoutMs: number
  readonly #onBytes: ((bytes: number) => void) | undefined
  readonly #paid: Pool
  readonly #free: Pool
  #health: { readonly checkedMs: number; readonly isHealthy: Promise<boolean> } | undefined

  /** @throws OptionsError for an option that cannot be used */
  constructor(options: UpstreamOptions) {
    const { url, headers = {}, timeoutMs = defaultTimeoutMs, maxConnections = defaultMaxConnections } = options
    this.#onBytes = options.onBytes
    checkInteger('timeoutMs', timeoutMs, maxTimeoutMs)
    checkInteger('maxConnections', maxConnections, maxSockets)
    this.#passing = new PassingHeaders(options.passHeaders)
    this.#isScanned = isScanned(options.methodInBody)
    const hint = 'Write it like "http://127.0.0.1:8080".'
    if (!URL.canParse(url)) throw new OptionsError(`the upstream cannot be ${JSON.stringify(url)}`, hint)
    this.#base = new URL(url)
    const { protocol, username, password, port, search, hash } = this.#base
    if (!/^https?:$/.test(protocol) || port === '0' || `${username}${password}${search}${hash}` !== '') {
      throw new OptionsError('the upstream is not an http or https address without user, query and fragment', hint)
    }
    this.#headers = Object.entries(headers)
    checkOwnHeaders(this.#headers)
    this.#timeoutMs = timeoutMs
    const [paid, free] = [poolOf(protocol, maxConnections), poolOf(protocol, maxConnections)]
    this.#paid = paid
    this.#free = free
  }

  /** Whether the service accepts connections. Checked at most once a second. */
  isHealthy(): Promise<boolean> {
    const nowMs = performance.now()
    if (this.#health === undefined || nowMs - this.#health.checkedMs > healthMs) {
      this.#health = { checkedMs: nowMs, isHealthy: this.#canConnect() }
    }
    return this.#health.isHealthy
  }

  #canConnect(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket: Socket = connect({ ...this.#address(), timeout: healthTimeoutMs })
      const end = (isHealthy: boolean): void => {
        socket.destroy()
        resolve(isHealthy)
      }
      socket.once('connect', () => end(true))
      socket.once('error', () => end(false)).once('timeout', () => end(false))
    })
  }

  /**
   * The reason why a request cannot be forwarded, known before anything is charged: the status and the code of the
   * response.
   */
  problemOf(request: NodeRequest): { readonly status: number; readonly error: string } | undefined {
    if (this.#passing.isHidden(request)) return { status: 400, error: 'ambiguous_request' }
    const error = this.#isScanned && scannerFor(request) !== undefined ? unreadable(request) : undefined
    return error === undefined ? undefined : { status: 415, error }
  }

  /** Forwards a request, and sends the response of the service. Failures of the service are responses, too. */
  async forward(request: NodeRequest, response: NodeResponse): Promise<void> {
    const coding = request.headers['transfer-encoding']
    if (coding !== undefined && !/^chunked$/i.test(coding)) return respond(response, 501, 'transfer_encoding')
    if (hasLeft(request)) return
    const headers = this.#passing.forRequest(request, this.#base, this.#headers)
    const isRepeatable = isSafe(request)
    const { kept, single } = this.#poolFor(request)
    const agent = isRepeatable ? kept : single
    if (isBusy(agent)) {
      response.setHeader('Retry-After', '2')
      return respond(response, 503, 'upstream_busy')
    }
    let outgoing = this.#request(request, headers, agent)
    // The client has left, or has got another response, such as one of the gate for a response that is too long.
    let isClosed = false
    const onClose = (): void => {
      isClosed = true
      outgoing.destroy()
    }
    ;(response as Writable).once('close', onClose)
    // The gateway does not read from the service while the client does not read.
    let isStalled = false
    // The service may respond before it has the body, in which a later part is refused.
    let isRefused = false
    const onRefused = (): void => {
      isRefused = true
    }
    const exchange = (): Promise<IncomingMessage> => {
      outgoing.once('timeout', () => {
        // Nor does it expect more from a service that waits for the rest of the body.
        const isUnsent = hasBody(request) && !(request as IncomingMessage).complete && !outgoing.writableNeedDrain
        isStalled = response.headersSent && (response.writableLength > 0 || isUnsent)
      })
      return this.#exchange(request, outgoing, onRefused)
    }
    try {
      const incoming = await exchange().catch((error: Error) => {
        // The service may close an idle connection at the moment at which it is used again (RFC 9110, 9.2.2).
        if (isClosed || !isRepeatable || !outgoing.reusedSocket || error instanceof UpstreamError) throw error
        outgoing = this.#request(request, headers, single)
        return exchange()
      })
      outgoing.shouldKeepAlive &&= !mayHaveLateBody(request, incoming)
      const status = incoming.statusCode ?? 502
      if (status < 200) throw new UpstreamError('upstream_failed', `the upstream responded with ${status}`)
      ;(response as { statusCode: number }).statusCode = status
      for (const [name, values] of headersFor(response, incoming)) response.setHeader(name, values)
      const charge = incoming.headers[overridesHeader.toLowerCase()]
      // The service sets the charge of a price by usage. The gate removes the header.
      if (typeof charge === 'string' && paymentOf(request as IncomingMessage)?.charge !== undefined) {
        response.setHeader(overridesHeader, charge)
      }
      this.#watch(incoming)
      await copyResponse(incoming, response as Writable)
    } catch (error) {
      outgoing.destroy()
      if (isClosed) return
      const failed = failure(error as Error)
      if (response.headersSent || response.writableEnded) {
        // A client could otherwise get most of a response, and have it count as one that failed.
        const isOfClient = isStalled || isRefused
        if (isOfClient && isSentOnce(request)) disconnect(response)
        else cut(response)
        if (isOfClient) return
        throw failed
      }
      for (const name of response.getHeaderNames()) response.removeHeader(name)
      if (error instanceof MethodInBodyError) respond(response, 400, 'method_in_body')
      else respond(response, failed.code === 'upstream_timeout' ? 504 : 502, failed.code)
    } finally {
      ;(response as Writable).off('close', onClose)
    }
  }

  /**
   * Forwards a request to switch protocols, such as WebSocket, and joins both connections.
   *
   * @throws {@link UpstreamError} if the service does not switch; nothing was sent to the client
   */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    if (hasLeft(request)) throw new UpstreamError('upstream_failed', 'the client has left')
    const { upgrade = '' } = request.headers
    const headers = [
      ...this.#passing.forRequest(request, this.#base, this.#headers),
      'Connection',
      'Upgrade',
      'Upgrade',
      upgrade,
    ]
    const outgoing = this.#request(request, headers, this.#poolFor(request).single)
    const onClose = (): void => void outgoing.destroy()
    socket.once('close', onClose)
    const { answer, other, first } = await switched(outgoing).finally(() => socket.off('close', onClose))
    const lines = responseHeaders(answer).map(([name, value]) => `${name}: ${value}`)
    const own = [
      `HTTP/1.1 101 ${STATUS_CODES[101]}`,
      'Connection: Upgrade',
      `Upgrade: ${answer.headers.upgrade ?? upgrade}`,
    ]
    socket.write(Buffer.from(`${[...own, ...lines].join('\r\n')}\r\n\r\n`, 'latin1'))
    socket.write(first)
    other.write(head)
    // These may be idle, so that nothing else would show that a peer has vanished.
    for (const one of [socket, other]) if (one instanceof Socket) one.setKeepAlive(true, keepAliveMs)
    this.#watch(socket)
    this.#watch(other)
    // A connection that breaks ends the other one.
    await Promise.allSettled([pipeline(socket, other), pipeline(other, socket)])
  }

  /** Closes connections: idle ones now, others after their responses. */
  close(): void {
    for (const { kept } of [this.#paid, this.#free]) {
      ;(kept as Agent & { keepAlive: boolean }).keepAlive = false
      for (const socket of Object.values(kept.freeSockets).flat()) socket?.destroy()
    }
  }

  #poolFor(request: NodeRequest): Pool {
    const isPaid = paymentOf(request as IncomingMessage) !== undefined || isGranted(request)
    return isPaid ? this.#paid : this.#free
  }

  #address(): { host: string; port: number } {
    const { hostname, port, protocol } = this.#base
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (protocol === 'https:' ? 443 : 80) }
  }

  #request(request: NodeRequest, headers: readonly string[], agent: Agent): ClientRequest {
    const { method, url = '/' } = request
    const open = this.#base.protocol === 'https:' ? requestHttps : requestHttp
    const path = `${this.#base.pathname.replace(/\/$/, '')}${originForm(url)}`
    const timeout = this.#timeoutMs
    return open({ ...this.#address(), method: method!, path, headers, agent, timeout, setHost: false })
  }

  #exchange(request: NodeRequest, outgoing: ClientRequest, onRefused: () => void): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      outgoing.once('response', resolve)
      outgoing.on('error', reject)
      // Node closes a connection that is switched to another protocol although no client asked, and reports no error.
      outgoing.once('close', () => reject(new Error('the connection closed without a response')))
      outgoing.once('timeout', () => {
        outgoing.destroy(new UpstreamError('upstream_timeout', `the upstream was silent for ${this.#timeoutMs} ms`))
      })
      if (!hasBody(request)) outgoing.end()
      else {
        this.#watch(request as IncomingMessage)
        sendBody(request, outgoing, { scan: this.#isScanned ? scannerFor(request) : undefined, onRefused })
      }
    })
  }

  /** Call it before the stream is piped, in the same step: from then on, the stream flows. */
  #watch(source: Readable): void {
    const onBytes = this.#onBytes
    if (onBytes !== undefined) source.on('data', ({ length }: Buffer) => onBytes(length))
  }
}

type Switched = { readonly answer: IncomingMessage; readonly other: Duplex; readonly first: Buffer }

function switched(outgoing: ClientRequest): Promise<Switched> {
  return new Promise((resolve, reject) => {
    outgoing.once('upgrade', (answer, other, first) => resolve({ answer, other, first }))
    outgoing.once('response', ({ statusCode }) => {
      outgoing.destroy()
      reject(refusal(statusCode))
    })
    outgoing.once('timeout', () => outgoing.destroy(new UpstreamError('upstream_timeout', 'the upstream was silent')))
    outgoing.on('error', (error) => reject(failure(error)))
    outgoing.end()
  })
}

/**
 * Whether a service may send a body after a response that has none by its method or status. Such a body would be taken
 * for the response to the next request on the connection.
 */
function mayHaveLateBody(request: NodeRequest, { statusCode, headers }: IncomingMessage): boolean {
  if (request.method === 'HEAD') return true
  const { 'content-length': length = '0', 'transfer-encoding': coding } = headers
  return (statusCode === 204 || statusCode === 304) && (coding !== undefined || length !== '0')
}

function isBusy({ requests, maxSockets }: Agent): boolean {
  const waiting = Object.values(requests).reduce((sum, { length = 0 } = []) => sum + length, 0)
  return waiting >= maxSockets * maxWaiting
}

/** Whether a request may be sent again if its connection closes without a response. */
function isSafe(request: NodeRequest): boolean {
  return /^(GET|HEAD|OPTIONS)$/.test(request.method ?? '') && !hasBody(request)
}

/**
 * Whether the client has closed its connection. Its address may then be unknown, and a service that is told no address
 * takes that of the gateway for it.
 */
function hasLeft({ socket }: NodeRequest): boolean {
  if (socket?.destroyed !== false) return true
  // Node asks the system for the address when it is read, and a reset connection has none. A Unix socket never has.
  return socket.remoteAddress === undefined && socket.localAddress !== undefined
}

/** The request target without the scheme and the host that a client may write in front. */
export function originForm(target: string): string {
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return path.startsWith('/') || path === '*' ? path : `/${path}`
}

function checkInteger(name: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return
  throw new OptionsError(`${name} cannot be ${JSON.stringify(value)}`, `Pass an integer from 1 to ${max}.`)
}

function isScanned(methodInBody: UpstreamOptions['methodInBody'] = 'refuse'): boolean {
  if (methodInBody === 'refuse' || methodInBody === 'forward') return methodInBody === 'refuse'
  throw new OptionsError(`methodInBody cannot be ${JSON.stringify(methodInBody)}`, 'Use "refuse" or "forward".')
}

/** Whether a response is charged, or uses up a request of a pass, even if its client leaves. */
function isSentOnce(request: NodeRequest): boolean {
  const { charge, pass } = paymentOf(request as IncomingMessage) ?? {}
  return charge !== undefined || pass !== undefined
}

function grouped(headers: HeaderPairs): Map<string, string | string[]> {
  const groups = new Map<string, { name: string; values: string[] }>()
  for (const [name, value] of headers) {
    const group = groups.get(name.toLowerCase()) ?? { name, values: [] }
    group.values.push(value)
    groups.set(name.toLowerCase(), group)
  }
  return new Map([...groups.values()].map(({ name, values }) => [name, values.length === 1 ? values[0]! : values]))
}

/**
 * The headers for the client. HTTP/2 allows neither a length with status 204 nor two lines of a header such as
 * `X-Content-Type-Options`, for which Node throws after the last place where it could be caught.
 */
function headersFor(response: NodeResponse, incoming: IncomingMessage): Iterable<readonly [string, string | string[]]> {
  const headers = responseHeaders(incoming).filter(
    ([name]) => incoming.statusCode !== 204 || name.toLowerCase() !== 'content-length',
  )
  const groups = grouped(headers)
  if (!('stream' in response)) return groups
  return [...groups].map(([name, values]) => {
    const lower = name.toLowerCase()
    if (typeof values === 'string' || lower === 'set-cookie') return [name, values] as const
    // Node keeps the first one of those that have a single value, and joins the others.
    const { [lower]: read } = incoming.headers
    return [name, typeof read === 'string' ? read : values.join(', ')] as const
  })
}

function respond(response: NodeResponse, status: number, error: string): void {
  ;(response as { statusCode: number }).statusCode = status
  response.setHeader('Content-Type', 'application/json')
  response.end(`${JSON.stringify({ error })}\n`)
}

function failure(error: Error): UpstreamError {
  if (error instanceof UpstreamError) return error
  return new UpstreamError('upstream_failed', `the upstream does not respond: ${error.message}`, { cause: error })
}

function refusal(status = 0): UpstreamError {
  return new UpstreamError('upstream_failed', `the upstream responded with ${status} and did not switch protocols`)
}

/** A service behind the gateway that did not respond. */
export class UpstreamError extends PartyError<'upstream_failed' | 'upstream_timeout'> {
  override name = 'UpstreamError'
}
