/** A request of `node:http` as a web `Request`, without its body. */
import type { IncomingMessage } from 'node:http'
import type { TLSSocket } from 'node:tls'

/** A host name or IP address, and a port; nothing that a URL could continue with. */
const host = /^([A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(:[0-9]{1,5})?$/

/** `target` is the path as it was sent, before a framework removed a prefix. Throws a TypeError if there is no URL in it. */
export function webRequest(message: IncomingMessage, target: string, signal: AbortSignal): Request {
  const isTls = (message.socket as TLSSocket).encrypted === true
  const authority = message.headers.host ?? (message.headers[':authority'] as string | undefined) ?? 'localhost'
  if (!host.test(authority)) throw new TypeError('the Host header is not a host')
  const url = target.startsWith('/') ? `${isTls ? 'https' : 'http'}://${authority}${target}` : target
  const headers = new Headers()
  for (const [name, value] of Object.entries(message.headers)) {
    if (value === undefined || name.startsWith(':')) continue
    headers.set(name, Array.isArray(value) ? value.join(', ') : value)
  }
  return new Request(url, { method: message.method ?? 'GET', headers, signal })
}
