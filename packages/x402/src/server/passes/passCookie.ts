/** Passes in cookies, for browsers, because a page that is opened again sends no custom header. */

/** The place that a pass cookie belongs to. */
export type CookiePlace = {
  /** The public URL of the request. */
  readonly url: URL
  /** The digest of the requests that the pass opens. */
  readonly scope: string
  /** Whether the pass opens all paths of a route instead of one path. */
  readonly isForRoute: boolean
}

/** Older cookies beyond this number are removed, because servers refuse requests with too many header bytes. */
const maxCookies = 10
/** Subdomains may set other cookies with the same name, even before the right one. */
const maxCandidates = 4
const maxHeaderLength = 32_768
const maxPathLength = 1_024
const anyName = /^(?:__Host-|__Secure-)?x402-pass-[A-Za-z0-9_-]{8}$/
/** The characters of a path that can be written into an attribute. */
const plainPath = /^\/[A-Za-z0-9_.~!$&'()*+:=@%/-]*$/

/** The values of a pass's cookies in a Cookie header. */
export function readCookies(cookies: string | null, place: CookiePlace): string[] {
  const name = nameOf(place)
  return pairsOf(cookies)
    .filter(([own]) => own === name)
    .slice(0, maxCandidates)
    .map(([, value]) => value)
}

/**
 * The Set-Cookie values that give a pass to a browser; none if the browser could not send it back. Apart from
 * navigations from elsewhere, only requests of the same origin carry the cookie. Scripts do not see it.
 */
export function setCookies(cookies: string | null, place: CookiePlace, value: string, maxAgeSeconds: number): string[] {
  const path = pathOf(place)
  if (path === undefined) return []
  const name = nameOf(place)
  const others = pairsOf(cookies).filter(([own]) => anyName.test(own) && own !== name)
  const excess = others.slice(0, Math.max(0, others.length + 1 - maxCookies))
  const removed = excess.map(
    ([own]) => `${own}=; ${attributes(own.startsWith('__Host-') ? '/' : path, own)}; Max-Age=0`,
  )
  return [`${name}=${value}; ${attributes(path, name)}; Max-Age=${maxAgeSeconds}`, ...removed]
}

/** A Cookie header without passes. Passes come and go, and neither a price nor a claim depends on them. */
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
 * No subdomain can set a `__Host-` cookie, and it belongs to all paths. Used for routes, of which a seller has few.
 * Passes for single paths are sent only to those paths.
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
