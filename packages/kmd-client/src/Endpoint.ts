/** The address of a daemon and its API token. */
import { Server } from '@latchkey/http-client'
import { KmdClientError } from './KmdClientError.js'

export type Endpoint = {
  server: Server.Server
  /** `host:port` as in a URL, or `unix:/path` for a Unix socket. */
  address: string
  token: string
}

const unixPrefix = 'unix:'

/** Parses `host:port`, an http URL, or `unix:/path`. */
export function parse(address: string, token: string): Endpoint {
  checkToken(token)
  const text = address.trim()
  if (text.startsWith(unixPrefix)) return parseUnix(text, token)
  const isUrl = text.includes('://')
  if (!isUrl && !/:[0-9]+$/.test(text)) throw invalidAddress(text)
  let url: URL
  try {
    // The host may be absent, as in a listen address.
    url = new URL(isUrl ? text : `http://${text.startsWith(':') ? `localhost${text}` : text}`)
  } catch {
    throw invalidAddress(text)
  }
  const isPlain = url.pathname === '/' && url.search === '' && url.hash === '' && url.username === ''
  if (url.protocol !== 'http:' || !isPlain) throw invalidAddress(text)
  const host = connectable(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  const port = url.port === '' ? 80 : Number(url.port)
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  return { server: Server.fromUrl(new URL(`http://${authority}`)), address: authority, token }
}

function checkToken(token: string): void {
  if (/^[\x21-\x7e\x80-\xff]+$/.test(token)) return
  throw invalid('the API token is blank or has characters that cannot be sent; use the first line of kmd.token')
}

/** The request still needs a host name for its Host header. */
function parseUnix(text: string, token: string): Endpoint {
  const socketPath = text.slice(unixPrefix.length)
  if (!socketPath.startsWith('/') || socketPath.includes('\0')) throw invalidAddress(text)
  return { server: { ...Server.fromUrl(new URL('http://localhost')), socketPath }, address: text, token }
}

export function isSame(a: Endpoint, b: Endpoint): boolean {
  return a.address === b.address && a.token === b.token
}

/**
 * A wildcard address is valid for listening but not for connecting. The daemon's IPv6 wildcard accepts IPv4 as well.
 */
function connectable(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host
}

function invalidAddress(address: string): KmdClientError {
  return invalid(
    `the address must be host:port, http://host:port or unix:/path, not ${JSON.stringify(address.slice(0, 100))}`,
  )
}

function invalid(message: string): KmdClientError {
  return new KmdClientError('invalid_argument', message, { operation: 'connect' })
}
