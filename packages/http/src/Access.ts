/** Checks of who may use a server: the Host header, the origin of a web page, the token. */
import { timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'

/**
 * The name in a Host header, without its port. A page that has its own name resolve to 127.0.0.1 reaches a server
 * past the browser's rules, but it cannot change the Host header: so only names that mean this machine are served.
 */
export function hostName(host: string): string {
  const name = host.replace(/:[0-9]*$/, '').toLowerCase()
  return /^\[[^\]]*\]$/.test(name) ? name.slice(1, -1) : name
}

export function isLoopback(name: string): boolean {
  if (name === 'localhost' || name.endsWith('.localhost')) return true
  if (isIP(name) === 4) return name.startsWith('127.')
  return name === '::1' || name === '0:0:0:0:0:0:0:1'
}

export function isHostAllowed(
  host: string | undefined,
  also: ReadonlySet<string>,
  localAddress: (() => string | undefined) | undefined,
): boolean {
  if (host === undefined) return false
  const name = hostName(host)
  if (isLoopback(name) || also.has(name)) return true
  // The number of the interface that the connection arrived by cannot be forged through DNS.
  return name === localAddress?.()?.replace(/^::ffff:/, '')
}

export type CorsSettings = {
  allowedOrigins: readonly string[]
  allowPrivateNetwork: boolean
  /** Lists as they are sent: names and commas. */
  allowedHeaders: string
  allowedMethods: string
}

/** Header names and values in turn: the origin is echoed, never a literal star. */
export function corsHeaders(
  settings: CorsSettings,
  request: { method: string; origin: string | undefined; privateNetwork: string | undefined },
): string[] {
  const headers: string[] = []
  const { origin } = request
  if (origin !== undefined && origin !== '' && settings.allowedOrigins.some((o) => o === '*' || o === origin)) {
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

/** Comparing takes the same time wherever a guess differs. Its length may show; the token's is no secret. */
export class TokenCheck {
  #token: Buffer

  constructor(token: string) {
    this.#token = Buffer.from(token, 'latin1')
  }

  replace(token: string): void {
    this.#token = Buffer.from(token, 'latin1')
  }

  matches(presented: string | undefined): boolean {
    if (presented?.length !== this.#token.length) return false
    return timingSafeEqual(Buffer.from(presented, 'latin1'), this.#token)
  }
}
