/**
 * The page at `/` for browsers on this machine: explains what the address is and where to go. Programs get the usual
 * 404, because they do not ask for HTML.
 */
import { Access, type RawRequest, type RawResponse } from '@latchkey/http'

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

/** Returns the page, or undefined if the request is not a browser's for `/` on the loopback interface. */
export function frontPage(request: RawRequest, path: string): RawResponse | undefined {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (path !== '/' || !isRead || !wantsHtml(request.header('accept'))) return undefined
  const address = request.localAddress?.()?.replace(/^::ffff:/, '')
  if (address === undefined || !Access.isLoopback(address)) return undefined
  return { status: 200, headers, body: html }
}

/** Browsers name HTML first. A program that accepts anything gets JSON. */
function wantsHtml(accept: string | undefined): boolean {
  return /^\s*(text\/html|application\/xhtml\+xml)\s*([,;]|$)/i.test(accept ?? '')
}
