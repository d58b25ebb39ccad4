/** Access checks of a server: the Host header, the origin of a web page, the token. */
import { timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'

/**
 * Returns the name in a Host header in lower case, without port and brackets. In a DNS rebinding attack a page resolves
 * its own name to 127.0.0.1, but it cannot change the Host header, so only names of this machine are served.
 */
export function hostName(host: string): string {
  const name = host.replace(/:[0-9]*$/, '').toLowerCase()
  return /^\[[^\]]*\]$/.test(name) ? name.slice(1, -1) : name
}

/** Whether a host name without port always resolves to the loopback interface. */
export function isLoopback(name: string): boolean {
  if (/^(?:[a-z0-9-]+\.)*localhost$/.test(name)) return true
  if (isIP(name) === 4) return name.startsWith('127.')
  return name === '::1' || name === '0:0:0:0:0:0:0:1'
}

/**
 * Whether a Host header names this machine: a loopback name, one of the names in `also`, or the local address of the
 * connection.
 */
export function isHostAllowed(
  host: string | undefined,
  also: ReadonlySet<string>,
  localAddress: (() => string | undefined) | undefined,
): boolean {
  if (host === undefined) return false
  const name = hostName(host)
  if (isLoopback(name) || also.has(name)) return true
  // DNS rebinding cannot forge the address of the interface.
  return name === localAddress?.()?.replace(/^::ffff:/, '')
}

/**
 * Whether an Origin header belongs to a page on a loopback address, at any port. Browsers send an origin in one form
 * only (RFC 6454, 6.2). Anything else is not an origin: `null`, a path, other schemes.
 */
export function isLoopbackOrigin(origin: string): boolean {
  if (!/^https?:\/\//.test(origin) || !URL.canParse(origin)) return false
  const url = new URL(origin)
  return url.origin === origin && isLoopback(hostName(url.host))
}

/** The settings of {@link corsHeaders}. */
export type CorsSettings = {
  /** Origins whose pages may use the server. `*` allows all. */
  allowedOrigins: readonly string[]
  /**
   * Also allows all origins on loopback addresses, at any port.
   * @default false
   */
  allowLoopbackOrigins?: boolean | undefined
  /** Grants the preflights of Private Network Access. */
  allowPrivateNetwork: boolean
  /** A comma-separated list of header names. */
  allowedHeaders: string
  /** A comma-separated list of methods. */
  allowedMethods: string
}

/** Returns the CORS headers of a response as alternating names and values. Echoes the origin and never sends `*`. */
export function corsHeaders(
  settings: CorsSettings,
  request: { method: string; origin: string | undefined; privateNetwork: string | undefined },
): string[] {
  const headers: string[] = []
  const { origin } = request
  if (origin !== undefined && origin !== '' && isOriginAllowed(settings, origin)) {
    headers.push(
      'Access-Control-Allow-Origin',
      origin,
      'Access-Control-Allow-Headers',
      settings.allowedHeaders,
      'Access-Control-Allow-Methods',
      settings.allowedMethods,
    )
  }
  if (settings.allowPrivateNetwork && request.method === 'OPTIONS' && request.privateNetwork === 'true') {
    headers.push('Access-Control-Allow-Private-Network', 'true')
  }
  return headers
}

function isOriginAllowed({ allowedOrigins, allowLoopbackOrigins = false }: CorsSettings, origin: string): boolean {
  if (allowedOrigins.some((one) => one === '*' || one === origin)) return true
  return allowLoopbackOrigins && isLoopbackOrigin(origin)
}

/** Compares tokens in constant time. The comparison reveals the length of the token, which is not secret. */
export class TokenCheck {
  #token: Buffer
  #version = 0

  constructor(token: string) {
    this.#token = Buffer.from(token, 'latin1')
  }

  /** Replaces the token. */
  replace(token: string): void {
    this.#token = Buffer.from(token, 'latin1')
    this.#version++
  }

  /** Changes with the token, so that a request that had it before need not be compared again. */
  get version(): number {
    return this.#version
  }

  /** Whether the token of a request is the current one. */
  matches(presented: string | undefined): boolean {
    if (presented?.length !== this.#token.length) return false
    return timingSafeEqual(Buffer.from(presented, 'latin1'), this.#token)
  }
}
