/** Sells an HTTP service that knows nothing of payments: a gate in front, and the service behind. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { OptionsError } from '../../errors.js'
import type { NodeRequest, NodeResponse } from '../adapters/NodeMessage.js'
import { type GatedListener, paymentGate } from '../adapters/node.js'
import { watchPipelined } from '../adapters/pipelined.js'
import { upgradeGate } from '../adapters/upgradeGate.js'
import { isGranted, paymentOf } from '../exchange/Payment.js'
import type { Gate } from '../gate/Gate.js'
import { overridesOf } from '../routes/MethodOverride.js'
import { isUnambiguousPath, targetProblem } from '../routes/RequestTarget.js'
import { RouteTable } from '../routes/RouteTable.js'
import { hasBody } from './bodies.js'
import { originForm, type Upstream } from './Upstream.js'

/** How many requests an account may make. */
export type PayerLimit = {
  readonly requests: number
  /** @default 60 */
  readonly seconds?: number | undefined
}

/** Options of {@link openGateway}. */
export type GatewayOptions = {
  readonly gate: Gate
  readonly upstream: Upstream
  /**
   * Routes that are forwarded unpaid, written like the routes of a gate. Requests that match neither these nor a paid
   * route are refused with 404.
   *
   * @default none
   */
  readonly free?: readonly string[] | undefined
  /**
   * The requests that one account may make. Others are refused with 429. The payment for a GET or HEAD is then not
   * settled. That for another method is settled before the limit is checked, and may be sent again in the next window.
   *
   * @default not limited
   */
  readonly perPayer?: PayerLimit | undefined
  /**
   * Called with errors that are not the buyer's fault.
   *
   * @default a process warning
   */
  readonly onError?: ((error: unknown) => void) | undefined
}

/** The listeners of a gateway, for a server of `node:http` or `node:http2`. */
export type Gateway = {
  readonly request: GatedListener
  /** For the event `upgrade`. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => Promise<void>
}

/** The unanswered requests of one HTTP/1.1 connection. With HTTP/2, the server limits its streams. */
const maxPipelined = 100
/** Accounts whose requests are counted at the same time. */
const maxCounted = 100_000

/**
 * Puts a gate in front of a service.
 *
 * @throws RouteError for a free route that no request can match
 * @throws OptionsError for a limit that cannot be used
 * @example
 * const gateway = openGateway({ gate, upstream, free: ['GET /health'] })
 * createServer(gateway.request).on('upgrade', gateway.upgrade).listen(8402)
 */
export function openGateway({ gate, upstream, free = [], perPayer, onError }: GatewayOptions): Gateway {
  const table = free.length === 0 ? undefined : new RouteTable(Object.fromEntries(free.map((key) => [key, true])))
  const limit = perPayer === undefined ? undefined : new PayerCounts(perPayer)
  const isFree = ({ method = 'GET', url = '/' }: NodeRequest): boolean =>
    table?.match(method, originForm(url))?.type === 'route'
  /** Returns undefined, or the seconds that the account has to wait. */
  const take = (request: NodeRequest): number | undefined => {
    const payment = paymentOf(request as IncomingMessage)
    return payment === undefined ? undefined : limit?.take(payment.payer)
  }
  const forward = async (request: NodeRequest, response: NodeResponse): Promise<void> => {
    if (!isPaid(request) && !isFree(request)) return refuse(response, 404, 'not_found')
    const waitSeconds = take(request)
    if (waitSeconds !== undefined) return refuse(response, 429, 'too_many_requests', waitSeconds)
    await upstream.forward(request, response)
  }
  const gated = paymentGate<NodeRequest, NodeResponse>(gate, forward, { onError })
  const upgraded = upgradeGate(
    gate,
    async (request, socket, head) => {
      if (!isPaid(request) && !isFree(request)) throw new Error('the path is neither paid nor free')
      // Nothing is sent, so that the payment may open another connection in the next window.
      if (take(request) !== undefined) throw new Error('the account has made too many requests')
      await upstream.upgrade(request, socket, head)
    },
    { onError },
  )
  return {
    request: async (request, response) => {
      if (watchPipelined(response) >= maxPipelined) return void request.socket.destroy()
      if (isEchoed(request)) return refuse(response, 405, 'method_not_allowed')
      if (!isClear(request)) return refuse(response, 400, 'ambiguous_request')
      const problem = upstream.problemOf(request)
      if (problem !== undefined) return refuse(response, problem.status, problem.error)
      // A payment is not taken for a service that is not there.
      if (hasPayment(request) && !(await upstream.isHealthy())) refuse(response, 503, 'upstream_unavailable', 2)
      else await gated(request, response)
    },
    upgrade: async (request, socket, head) => {
      // Node does not listen for errors of an upgraded socket, and an unhandled one would end the process.
      socket.on('error', () => void socket.destroy())
      // Another protocol, such as HTTP/2, would carry requests that the gate does not see.
      if (!isClear(request) || upstream.problemOf(request) !== undefined || !isWebSocket(request))
        socket.end(badRequest)
      else if (hasPayment(request) && !(await upstream.isHealthy())) socket.end(unavailable)
      else await upgraded(request, socket, head)
    },
  }
}

/** A request with a body would leave it open which bytes belong to the body and which to the new protocol. */
function isWebSocket(request: IncomingMessage): boolean {
  return request.method === 'GET' && /^websocket$/i.test(request.headers.upgrade ?? '') && !hasBody(request)
}

const badRequest = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
const unavailable =
  'HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n'

/** Free requests are read like those of routes with a fixed price. */
const fixedPrice = { isPricedByFunction: false, allowsRepeated: true }

/**
 * Whether the service reads the path and the method as the gate does. The gate alone would accept a path that one
 * program reads as the paid route, but the service may read it as a path that is not for sale.
 */
function isClear({ method = 'GET', url = '/', headers }: NodeRequest): boolean {
  const target = originForm(url)
  const path = target.replace(/\?.*$/s, '')
  const pairs = Object.entries(headers).map(([name, value]) => [name, String(value)] as const)
  const isClearTarget = isUnambiguousPath(path) && targetProblem(target, '', fixedPrice) === undefined
  return isClearTarget && overridesOf({ url, headers: pairs }).every((one) => one === method)
}

/** Whether services respond with the request itself, and so with the headers of the operator, such as the service's key. */
function isEchoed({ method = 'GET' }: NodeRequest): boolean {
  return /^TRAC[EK]$/i.test(method)
}

/** Whether the gate has let a request pass: for a payment, for a pass, or by a hook. */
function isPaid(request: NodeRequest): boolean {
  return paymentOf(request as IncomingMessage) !== undefined || isGranted(request)
}

function hasPayment({ headers }: NodeRequest): boolean {
  return headers['payment-signature'] !== undefined || headers['x-payment'] !== undefined
}

function refuse(response: NodeResponse, status: number, error: string, retryAfterSeconds?: number): void {
  const own = response as ServerResponse
  own.statusCode = status
  own.setHeader('Content-Type', 'application/json')
  own.setHeader('Cache-Control', 'no-store')
  if (retryAfterSeconds !== undefined) own.setHeader('Retry-After', String(retryAfterSeconds))
  own.end(`${JSON.stringify({ error })}\n`)
}

/** Counts the requests of accounts, in windows of equal length. */
class PayerCounts {
  readonly #requests: number
  readonly #windowMs: number
  readonly #counts = new Map<string, number>()
  #endsMs = 0

  constructor({ requests, seconds = 60, ...unknown }: PayerLimit) {
    const isLimit = Number.isSafeInteger(requests) && requests >= 1 && seconds >= 1 && seconds <= 86_400
    if (!isLimit || typeof seconds !== 'number' || Object.keys(unknown).length > 0) {
      throw new OptionsError(
        `perPayer cannot be ${JSON.stringify({ requests, seconds, ...unknown })}`,
        'Pass the number of `requests` in a window of 1 to 86,400 `seconds`, and nothing else.',
      )
    }
    this.#requests = requests
    this.#windowMs = seconds * 1000
  }

  /** Returns undefined, or the seconds to wait. */
  take(payer: string): number | undefined {
    const nowMs = performance.now()
    if (nowMs >= this.#endsMs) {
      this.#counts.clear()
      this.#endsMs = nowMs + this.#windowMs
    }
    const count = this.#counts.get(payer) ?? 0
    const isFull = this.#counts.size >= maxCounted && count === 0
    if (count >= this.#requests || isFull) return Math.ceil((this.#endsMs - nowMs) / 1000)
    this.#counts.set(payer, count + 1)
    return undefined
  }
}
