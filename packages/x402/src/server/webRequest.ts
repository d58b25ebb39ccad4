/** A request of `node:http` as the gate wants it: what was asked, as it was asked, without the body. */
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'

/** A name or an address, and a port: nothing that an address could go on with. */
const host = /^([A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$/

/** `target` is the path as it was sent, before any framework cut a prefix off; throws a TypeError for nonsense. */
export function webRequest(message: IncomingMessage, target: string, signal: AbortSignal): Request {
  const isTls = (message.socket as TLSSocket).encrypted === true
  const authority = message.headers.host ?? (message.headers[':authority'] as string | undefined) ?? 'localhost'
  if (!host.test(authority)) throw new TypeError('the host is none')
  const url = target.startsWith('/') ? `${isTls ? 'https' : 'http'}://${authority}${target}` : target
  const headers = new Headers()
  for (const [name, value] of Object.entries(message.headers)) {
    if (value === undefined || name.startsWith(':')) continue
    headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  return new Request(url, { method: message.method ?? 'GET', headers, signal })
}
