/** Serves the console's files, which are public and need no token, only to browsers on this machine. */
import { Access, type RawRequest, type RawResponse } from '@latchkey/http'
import type { PageFile } from '@latchkey/pages/console'
import { KmdError } from '../errors.js'

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

/** The page at `/` explains what the address is and where to go. */
const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>Latchkey key daemon</title>
<h1>Latchkey key daemon</h1>
<p>This is the API of a key daemon: it keeps Algorand keys and signs with them for programs on this machine.</p>
<ul>
<li>To use it in a browser, run <code>latchkey console</code>: it prints a one-time link to the <a href="/console/">console</a>.</li>
<li>To use it on the command line, run <code>latchkey --help</code>.</li>
<li>Programs send the token in <code>kmd.token</code> as <code>X-KMD-API-Token</code>. The API is described in <code>/swagger.json</code>.</li>
</ul>
</html>
`

const headers = [
  ...['Content-Type', 'text/html; charset=utf-8'],
  ...['Vary', 'Accept', 'Cache-Control', 'no-cache'],
  ...['Content-Security-Policy', "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"],
  ...['X-Content-Type-Options', 'nosniff', 'Referrer-Policy', 'no-referrer'],
]

/**
 * Returns the page at `/`, or undefined if the request is not a browser's on the loopback interface. Programs get the
 * usual 404, because they do not ask for HTML.
 */
export function frontPage(request: RawRequest, path: string): RawResponse | undefined {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (path !== '/' || !isRead || !wantsHtml(request.header('accept'))) return undefined
  return isLocal(request) ? { status: 200, headers, body: html } : undefined
}

/** Browsers name HTML first. A program that accepts anything gets JSON. */
function wantsHtml(accept: string | undefined): boolean {
  return /^\s*(text\/html|application\/xhtml\+xml)\s*([,;]|$)/i.test(accept ?? '')
}
