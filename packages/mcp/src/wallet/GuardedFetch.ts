/**
 * A `fetch` for URLs from untrusted sources. It checks the destination of every connection, including redirects, and
 * connects to the checked addresses only, so a name that later resolves to another address has no effect.
 */

import { createSocket } from 'node:dgram'
import { type LookupAddress, lookup } from 'node:dns'
import { BlockList, isIP, isIPv4, isIPv6, type LookupFunction, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Agent, buildConnector } from 'undici'
import { ToolError } from './ToolError.js'

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

type Lookup = Parameters<LookupFunction>
/** Like `lookup` of `node:dns` with the option `all`. */
export type Resolve = (
  hostname: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void
type Connect = ReturnType<typeof buildConnector>
/** Information from the system about names and about this machine. */
export type SystemFacts = { readonly resolve: Resolve; readonly interfaces: Interfaces }
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
      if (!isOwnPeer(socket, destinations)) return callback(null, socket)
      socket.destroy()
      return refuse()
    }
    if (isIP(host) !== 0 || host.includes('%')) {
      return void isAllowed(host).then((isGood) => (isGood ? plain(options, connected) : refuse()), refuse)
    }
    const checked = build({
      timeout: connectMs,
      lookup: checkedLookup(isAllowed, options.protocol, facts.resolve),
    } as never)
    return checked(options, connected)
  }
}

/** Without TLS a network attacker can read and change the request, so it is only allowed on a private network. */
function ruleFor(isTls: boolean, { allowPrivate = false }: Destinations, { interfaces }: SystemFacts): IsAllowed {
  return async (address) =>
    isPublicAddress(address) && !(await isOwnAddress(address, interfaces)) ? isTls : allowPrivate
}

/** Whether the connection never left this machine: both of its ends have the same address. */
function isOwnPeer({ localAddress = '', remoteAddress = '' }: Socket, { allowPrivate = false }: Destinations): boolean {
  return !allowPrivate && canonical(localAddress) === canonical(remoteAddress)
}

function isAllowedHost(host: string, port: string, protocol: string, { allowHosts = [] }: Destinations): boolean {
  const [name, actual] = [host.includes(':') ? `[${host}]` : host, port || (protocol === 'https:' ? '443' : '80')]
  return allowHosts.some((one) => [name, host, `${name}:${actual}`].includes(one.toLowerCase()))
}

/** Requires every address of the name to be allowed, because any of them may be connected to. */
function checkedLookup(isAllowed: IsAllowed, protocol: string, resolve: Resolve): LookupFunction {
  return (hostname: Lookup[0], options: Lookup[1], callback: Lookup[2]) => {
    const refuse = (): void => callback(refused(hostname, protocol), '', 0)
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0)
      const [first] = addresses
      if (first === undefined || addresses.length > maxAddresses) return refuse()
      Promise.all(addresses.map(({ address }) => isAllowed(address))).then((allowed) => {
        if (allowed.includes(false)) return refuse()
        if (options.all === true) return callback(null, addresses as never, 0)
        return callback(null, first.address, first.family)
      }, refuse)
    })
  }
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

/** The IANA registry of special-purpose IPv4 addresses, plus the ranges for multicast and for future use. */
const specialIpv4: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/**
 * Exceptions within 2000::/3, the only range that is assigned for global unicast. Teredo and 6to4 embed IPv4 addresses.
 */
const specialIpv6: readonly (readonly [string, number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const special = new BlockList()
for (const [net, prefix] of specialIpv4) special.addSubnet(net, prefix, 'ipv4')
for (const [net, prefix] of specialIpv6) special.addSubnet(net, prefix, 'ipv6')
const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')

/**
 * Whether an address, without brackets, belongs to the public internet. Returns false for anything that is not an
 * address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special.check(address, 'ipv4')
  // An address with a zone belongs to a link of this machine.
  if (isIP(address) !== 6 || address.includes('%')) return false
  const embedded = embeddedIpv4(address)
  if (embedded !== undefined) return !special.check(embedded, 'ipv4')
  return globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6')
}

/** Returns one form for every spelling of an address: that of the address that the connection finally goes to. */
function canonical(address: string): string {
  if (isIP(address) !== 6) return address
  const [plain = '', zone] = address.split('%')
  if (zone !== undefined) return `${new URL(`http://[${plain}]/`).hostname}%${zone}`
  return embeddedIpv4(address) ?? new URL(`http://[${address}]/`).hostname
}

/**
 * Returns the IPv4 address in one of `::ffff:0:0/96` (mapped) or `64:ff9b::/96` (NAT64), where the connection goes to
 * it.
 */
function embeddedIpv4(address: string): string | undefined {
  // Normalizes to the shortest hexadecimal form.
  const text = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const [, high, low] = /^(?:::ffff|64:ff9b:):([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(text) ?? []
  if (high === undefined || low === undefined) return undefined
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [a >> 8, a & 255, b >> 8, b & 255].join('.')
}

/** Like `networkInterfaces` of `node:os`. */
type Interfaces = typeof networkInterfaces

/** Whether an address belongs to this machine, according to its current interfaces and routes. */
export async function isOwnAddress(address: string, interfaces: Interfaces = networkInterfaces): Promise<boolean> {
  const wanted = canonical(address)
  const isListed = Object.values(interfaces()).some((list) => list?.some((own) => canonical(own.address) === wanted))
  return isListed || (await routesToItself(address))
}

/**
 * Whether the system would use the address itself as the source, which means that a connection to it never leaves this
 * machine. Interfaces without a carrier and local routes have addresses that no list contains. A datagram socket asks
 * for the route without sending anything.
 */
function routesToItself(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
    const end = (isOwn: boolean): void => {
      resolve(isOwn)
      socket.removeAllListeners()
      socket.on('error', () => {})
      socket.close()
    }
    // Without a route no connection is possible either. Node passes the error to the callback or emits it.
    socket.once('error', () => end(false))
    socket.connect(discardPort, address, ((error?: Error) => {
      end(error == null && canonical(socket.address().address) === canonical(address))
    }) as () => void)
  })
}

const discardPort = 9
