/**
 * The requests that a model asks for, validated and bounded, and a `fetch` for their URLs. It checks the destination of
 * every connection, including redirects, and connects to the checked addresses only, so a name that later resolves to
 * another address has no effect.
 */

import { createHash } from 'node:crypto'
import { lookup } from 'node:dns'
import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { checkedLookup, isOwnAddress, isOwnPeer, isPublicAddress, type SystemFacts } from '@latchkey/x402/addresses'
import { passHeader, paymentSignature } from '@latchkey/x402/client'
import type { Agent, buildConnector } from 'undici'
import { ToolError } from './ToolError.js'

export { isOwnAddress, isPublicAddress, type Resolve } from '@latchkey/x402/addresses'

/** Restricts which servers may be reached. */
export type Destinations = {
  /**
   * Allows addresses of this machine and of private networks, including without TLS.
   *
   * @default false
   */
  allowPrivate?: boolean | undefined
  /**
   * Hosts, as `host` or `host:port`, that are allowed at any address, including without TLS.
   *
   * @default none
   */
  allowHosts?: readonly string[] | undefined
}

type Connect = ReturnType<typeof buildConnector>
type IsAllowed = (address: string) => Promise<boolean>

const connectMs = 10_000
const headersMs = 60_000
const bodyMs = 30_000
/** More than any real server has. Each address is checked. */
const maxAddresses = 64

/** Opened once and shared by all requests. */
export class GuardedFetch {
  readonly fetch: typeof fetch
  readonly #agent: Agent

  /** Loads undici, because only its connections accept a custom check. */
  static async open(destinations: Destinations, facts: Partial<SystemFacts> = {}): Promise<GuardedFetch> {
    // Makes Node set up its own fetch first. Otherwise undici would replace it on loading.
    if (globalThis.Headers === undefined) throw new Error('this version of Node has no fetch')
    const { resolve = lookup, interfaces = networkInterfaces } = facts
    return new GuardedFetch(await import('undici'), destinations, { resolve, interfaces })
  }

  private constructor(undici: typeof import('undici'), destinations: Destinations, facts: SystemFacts) {
    const connect = guardedConnect(undici.buildConnector, destinations, facts)
    // One connection at a time per request: a connection that was checked for one name is never used for another.
    this.#agent = new undici.Agent({
      connect,
      headersTimeout: headersMs,
      bodyTimeout: bodyMs,
      maxHeaderSize: 64 * 1024,
    })
    this.fetch = async (input, init) => {
      const request = new Request(input, init)
      checkUrl(request.url)
      const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer())
      const { method, redirect } = request
      const response = await undici
        .fetch(request.url, {
          method,
          redirect,
          dispatcher: this.#agent,
          signal: init?.signal ?? request.signal,
          headers: [...request.headers] as [string, string][],
          ...(body === undefined ? {} : { body }),
        })
        .catch((error: unknown) => {
          throw refusedIn(error) ?? error
        })
      return response as unknown as Response
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }
}

/**
 * Accepts only http and https. Rejects a password in the URL, because it would appear in every log.
 *
 * @throws ToolError
 */
export function checkUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new ToolError('invalid_url', 'the URL is not an absolute http or https URL')
  }
  if (url.username !== '' || url.password !== '')
    throw new ToolError('invalid_url', 'the URL contains a user name or a password')
  url.hash = ''
  return url
}

function guardedConnect(build: typeof buildConnector, destinations: Destinations, facts: SystemFacts): Connect {
  const plain = build({ timeout: connectMs })
  return (options, callback) => {
    const host = options.hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase()
    if (isAllowedHost(host, options.port, options.protocol, destinations)) return plain(options, callback)
    const isTls = options.protocol === 'https:'
    // Skips the DNS lookup, which would tell the name server what is being fetched.
    if (!isTls && destinations.allowPrivate !== true) return callback(refused(host, options.protocol), null)
    const isAllowed = ruleFor(isTls, destinations, facts)
    const refuse = (): void => callback(refused(host, options.protocol), null)
    const connected: typeof callback = (...[error, socket]) => {
      if (error !== null) return callback(error, null)
      if (destinations.allowPrivate === true || !isOwnPeer(socket)) return callback(null, socket)
      socket.destroy()
      return refuse()
    }
    if (isIP(host) !== 0 || host.includes('%')) {
      return void isAllowed(host).then((isGood) => (isGood ? plain(options, connected) : refuse()), refuse)
    }
    const { resolve } = facts
    const notAllowed = (hostname: string): ToolError => refused(hostname, options.protocol)
    const lookupAddress = checkedLookup({ resolve, isAllowed, maxAddresses, refused: notAllowed })
    return build({ timeout: connectMs, lookup: lookupAddress } as never)(options, connected)
  }
}

/** Without TLS a network attacker can read and change the request, so it is only allowed on a private network. */
function ruleFor(isTls: boolean, { allowPrivate = false }: Destinations, { interfaces }: SystemFacts): IsAllowed {
  return async (address) =>
    isPublicAddress(address) && !(await isOwnAddress(address, interfaces)) ? isTls : allowPrivate
}

function isAllowedHost(host: string, port: string, protocol: string, { allowHosts = [] }: Destinations): boolean {
  const [name, actual] = [host.includes(':') ? `[${host}]` : host, port || (protocol === 'https:' ? '443' : '80')]
  return allowHosts.some((one) => [name, host, `${name}:${actual}`].includes(one.toLowerCase()))
}

function refused(host: string, protocol: string): ToolError {
  const why = protocol === 'https:' ? 'does not have the public address of another machine' : 'does not use https'
  // The seller chooses the host of a redirect.
  const untrusted = `host: ${JSON.stringify(host.slice(0, 100))}`
  return new ToolError('destination_refused', `the URL's server, or the one it redirects to, ${why}`, { untrusted })
}

/** Undici wraps the error of a failed connection. */
function refusedIn(error: unknown): ToolError | undefined {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth++) {
    if (cause instanceof ToolError) return cause
  }
  return undefined
}

/** The arguments of a tool that describe a request. */
export type RequestArguments = {
  readonly url: string
  readonly method?: string | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly body?: string | undefined
}

export type FetchRequest = {
  /** The URL without its fragment. */
  readonly url: string
  readonly method: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string | undefined
  /** Identical requests have the same key. */
  readonly key: string
}

export const maxUrlLength = 2_048
export const maxRequestBodyLength = 262_144
export const maxHeaders = 32
const maxHeaderLength = 4_096

/** The headers of the connection and of payments. */
const reserved = new Set(
  [
    'host',
    'connection',
    'content-length',
    'transfer-encoding',
    'te',
    'trailer',
    'upgrade',
    'expect',
    'keep-alive',
  ].concat([paymentSignature, passHeader, 'x-payment', 'x-payment-response'].map((name) => name.toLowerCase())),
)

/** @throws ToolError */
export function readRequest({ url: text, method = 'GET', headers: given = {}, body }: RequestArguments): FetchRequest {
  if (text.length > maxUrlLength) throw new ToolError('invalid_url', `the URL has more than ${maxUrlLength} characters`)
  const url = checkUrl(text).href
  if (url.length > maxUrlLength) throw new ToolError('invalid_url', `the URL has more than ${maxUrlLength} characters`)
  const headers = Object.entries(given).map(([name, value]): [string, string] => [name.toLowerCase(), value])
  if (headers.length > maxHeaders)
    throw new ToolError('invalid_request', `the request has more than ${maxHeaders} headers`)
  for (const [name, value] of headers) checkHeader(name, value)
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) {
    throw new ToolError('invalid_request', `a ${method} request cannot have a body: use another method`)
  }
  if ((body?.length ?? 0) > maxRequestBodyLength) throw new ToolError('invalid_request', 'the body is too long')
  headers.sort(([a], [b]) => (a < b ? -1 : 1))
  const parts = JSON.stringify([method, url, headers, body ?? null])
  return { url, method, headers, body, key: createHash('sha256').update(parts).digest('base64url') }
}

function checkHeader(name: string, value: string): void {
  const shown = JSON.stringify(name.slice(0, 60))
  if (reserved.has(name) || name.startsWith('proxy-')) {
    throw new ToolError('invalid_request', `the header ${shown} cannot be passed: this server sets it`)
  }
  const isValid = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
  if (!isValid || value.length > maxHeaderLength) {
    throw new ToolError('invalid_request', `the header ${shown} is too long or has characters that cannot be sent`)
  }
}
