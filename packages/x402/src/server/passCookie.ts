/** Passes in cookies, for browsers: a page that is opened again sends no header of its own. */

/** Where a cookie of a pass belongs. */
export type CookiePlace = {
  /** The public URL of the request. */
  readonly url: URL
  /** The digest of what the pass opens. */
  readonly scope: string
  /** Whether the pass opens all paths of a route, and not one path. */
  readonly isForRoute: boolean
}

/** Beyond it older ones are removed: servers refuse requests with too many bytes of headers. */
const maxCookies = 10
/** Other cookies of the name may come from subdomains, also in front of the right one. */
const maxCandidates = 4
const maxHeaderLength = 32_768
const maxPathLength = 1_024
const anyName = /^(?:__Host-|__Secure-)?x402-pass-[A-Za-z0-9_-]{8}$/
/** What a path may have that is written into an attribute. */
const plainPath = /^\/[A-Za-z0-9_.~!$&'()*+:=@%/-]*$/

/** The values of the cookies of a pass in a request. */
export function readCookies({ headers }: Request, place: CookiePlace): string[] {
  const name = nameOf(place)
  return pairsOf(headers.get('Cookie'))
    .filter(([own]) => own === name)
    .slice(0, maxCandidates)
    .map(([, value]) => value)
}

/**
 * The values of Set-Cookie that give a pass to a browser; none where it could not be sent back. Only requests of the same
 * origin carry it, navigations from elsewhere aside; scripts do not see it.
 */
export function setCookies({ headers }: Request, place: CookiePlace, value: string, maxAgeSeconds: number): string[] {
  const path = pathOf(place)
  if (path === undefined) return []
  const name = nameOf(place)
  const others = pairsOf(headers.get('Cookie')).filter(([own]) => anyName.test(own) && own !== name)
  const excess = others.slice(0, Math.max(0, others.length + 1 - maxCookies))
  const removed = excess.map(
    ([own]) => `${own}=; ${attributes(own.startsWith('__Host-') ? '/' : path, own)}; Max-Age=0`,
  )
  return [`${name}=${value}; ${attributes(path, name)}; Max-Age=${maxAgeSeconds}`, ...removed]
}

/** A Cookie header without passes: they come and go, and are no part of what a price or a claim depends on. */
export function withoutPasses(cookies: string | null): string | null {
  if (cookies === null || !cookies.includes('x402-pass-')) return cookies
  const others = cookies.split(';').filter((pair) => !anyName.test(pair.split('=')[0]!.trim()))
  return others.length === 0 ? null : others.map((pair) => pair.trim()).join('; ')
}

function pairsOf(cookies: string | null): [string, string][] {
  if (cookies === null || cookies.length > maxHeaderLength) return []
  return cookies.split(/[;,]/).flatMap((pair): [string, string][] => {
    const end = pair.indexOf('=')
    return end === -1 ? [] : [[pair.slice(0, end).trim(), pair.slice(end + 1).trim()]]
  })
}

/**
 * `__Host-` is a cookie that no subdomain can have set, and belongs to all paths: for routes, of which a seller has few.
 * Passes for single paths are sent to those paths only.
 */
function nameOf({ url, scope, isForRoute }: CookiePlace): string {
  const prefix = isForRoute ? '__Host-' : '__Secure-'
  return `${isPlainLoopback(url) ? '' : prefix}x402-pass-${scope.slice(0, 8)}`
}

function pathOf({ url, isForRoute }: CookiePlace): string | undefined {
  const path = isForRoute ? '/' : url.pathname
  return path.length <= maxPathLength && plainPath.test(path) ? path : undefined
}

function attributes(path: string, name: string): string {
  return `Path=${path}; HttpOnly; SameSite=Lax${name.startsWith('__') ? '; Secure' : ''}`
}

/** Not every browser keeps `Secure` cookies of a development server. */
function isPlainLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && /^(localhost|.+\.localhost|127(\.[0-9]+){3}|\[::1\])$/.test(hostname)
}
