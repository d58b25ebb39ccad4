/** Serves the console's files, which are public and need no token, only to browsers on this machine. */
import { Access, type RawRequest, type RawResponse } from '@latchkey/http'
import type { PageFile } from '@latchkey/pages/console'
import { KmdError } from '../errors.js'

export { frontPage } from './frontPage.js'

/** Finds a file by its path below the console's; blank for the page. */
export type Find = (path: string) => PageFile | undefined

export const methods: readonly string[] = ['GET', 'HEAD']

const root = '/console/'

/** Whether a path belongs to the console, even if there is no such file. */
export function isPath(path: string): boolean {
  return path === '/console' || path.startsWith(root)
}

// Nothing is loaded from, sent to or framed by other origins, and no text of a node becomes a script.
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const always = [
  ...['Content-Security-Policy', policy],
  ...['X-Content-Type-Options', 'nosniff'],
  ...['Referrer-Policy', 'no-referrer'],
  ...['Cross-Origin-Opener-Policy', 'same-origin'],
  ...['Cross-Origin-Resource-Policy', 'same-origin'],
]

/** The response to HEAD has the body, too: the connection sends only its length. */
export function serve(request: RawRequest, path: string, find: Find): RawResponse {
  if (!isLocal(request)) throw new KmdError('console_not_local')
  // Revalidated each time, because another program may use the port later.
  const revalidated = ['Cache-Control', 'no-cache', ...always]
  if (!path.startsWith(root)) return { status: 308, headers: ['Location', root, ...revalidated], body: '' }
  const file = find(path.slice(root.length))
  if (file === undefined) throw new KmdError('not_found')
  const caching = file.isImmutable ? ['Cache-Control', 'public, max-age=31536000, immutable', ...always] : revalidated
  const { body, encoding } = file.bodyFor(request.header('accept-encoding'))
  const coding = ['Vary', 'Accept-Encoding', ...(encoding === undefined ? [] : ['Content-Encoding', encoding])]
  return { status: 200, headers: ['Content-Type', file.type, ...coding, ...caching], body }
}

/** Whether the request arrived on the loopback interface. */
function isLocal({ localAddress }: RawRequest): boolean {
  const address = localAddress?.()?.replace(/^::ffff:/, '')
  return address !== undefined && Access.isLoopback(address)
}
