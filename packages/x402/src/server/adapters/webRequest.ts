/** A request as adapters see it: as a web `Request` without its body, and with the gates that it has passed. */
import type { TLSSocket } from 'node:tls'
import { OptionsError } from '../../errors.js'
import type { Gate } from '../gate/Gate.js'
import type { NodeRequest } from './ResponseCapture.js'

/** A host name or IP address, and a port. Excludes characters that would continue the URL. */
const host = /^([A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$/

/**
 * `target` is the path as it was sent, before a framework removed a prefix. Throws a TypeError if the request has no
 * valid URL.
 */
export function webRequest(message: NodeRequest, target: string, signal: AbortSignal): Request {
  const isTls = (message.socket as TLSSocket | undefined)?.encrypted === true
  const pseudoHeader = message.headers[':authority'] as string | undefined
  const authority = message.headers.host ?? pseudoHeader ?? 'localhost'
  if (!host.test(authority)) throw new TypeError('the Host header is not a host')
  // RFC 9113, section 8.3.1: such a request is malformed, and programs differ in which of the two they read.
  if (pseudoHeader !== undefined && pseudoHeader.toLowerCase() !== authority.toLowerCase()) {
    throw new TypeError('the Host header differs from :authority')
  }
  // With HTTP/2, a target may be any text. As a URL, "x:/paid" has the path of a paid route.
  if (!target.startsWith('/')) throw new TypeError('the target has no path')
  const url = `${isTls ? 'https' : 'http'}://${authority}${target}`
  const headers = new Headers()
  for (const [name, value] of Object.entries(message.headers)) {
    if (value === undefined || name.startsWith(':')) continue
    headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  const { method = 'GET' } = message
  // RFC 8441: an upgrade, which is a GET with HTTP/1.1, is a CONNECT with a protocol here.
  const protocol = message.headers[':protocol']
  if (method.toUpperCase() === 'CONNECT' && protocol !== undefined) {
    headers.set('Upgrade', String(protocol))
    return newRequest(url, { method: 'GET', headers, signal })
  }
  return newRequest(url, { method, headers, signal })
}

/** The parts of a request that the gate sees, without the body. */
type RequestParts = { readonly method: string; readonly headers: Headers; readonly signal: AbortSignal }

/** Like {@link newRequest}; undefined for a URL that no request can have, such as one with credentials. */
export function tryNewRequest(url: string, parts: RequestParts): Request | undefined {
  try {
    return newRequest(url, parts)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/** Creates a web `Request` with any method, including methods that `fetch` does not send. */
export function newRequest(url: string, { method, headers, signal }: RequestParts): Request {
  if (!/^(connect|trace|track)$/i.test(method)) return new Request(url, { method, headers, signal })
  return Object.defineProperty(new Request(url, { headers, signal }), 'method', { value: method })
}

/**
 * Rejects a promise of a gate, which would fail with every request.
 *
 * @throws OptionsError
 */
export function checkGate(gate: Gate): void {
  if (typeof gate?.decide === 'function') return
  throw new OptionsError('gate is not a Gate', 'Pass the gate that `await Gate.open(...)` returned.')
}

const passed = new WeakMap<object, Map<Gate, string>>()

/**
 * Whether the request has already paid at the gate, for the same method and path. A gate that is mounted twice, for an
 * app and for its route, takes one payment.
 */
export function hasPassed(request: object, gate: Gate, target: string): boolean {
  return passed.get(request)?.get(gate) === target
}

/** Called when the handler has ended. A program that then passes the same request again has to pay again. */
export function forgetPassed(request: object, gate: Gate): void {
  passed.get(request)?.delete(gate)
}

export function notePassed(request: object, gate: Gate, target: string): void {
  const gates = passed.get(request) ?? new Map<Gate, string>()
  passed.set(request, gates.set(gate, target))
}
