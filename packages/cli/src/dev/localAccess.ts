/**
 * Restricts the stack to programs and pages of this machine. In a DNS rebinding attack a page of another origin
 * resolves its own name to 127.0.0.1, but it cannot change the Host header, which then names no loopback address.
 */
import { Access, type FetchHandler } from '@latchkey/http'

const noNames: ReadonlySet<string> = new Set()

/** Whether a request names this machine as its host. */
export function isLocalHost(host: string | undefined): boolean {
  return Access.isHostAllowed(host, noNames, undefined)
}

/** Whether a request does not come from a web page, or comes from a page of this machine. */
export function isLocalOrigin(origin: string | undefined, fetchSite: string | undefined): boolean {
  if (origin === undefined) return fetchSite === undefined || fetchSite !== 'cross-site'
  return Access.isLoopbackOrigin(origin)
}

export const hostRefusal = 'this server accepts only local programs; use the address 127.0.0.1'

/** Wraps a handler so that it serves only requests that name this machine as their host. */
export function onlyLocalHosts(handle: FetchHandler): FetchHandler {
  return (request, info) =>
    isLocalHost(request.headers.get('host') ?? new URL(request.url).host)
      ? handle(request, info)
      : Response.json({ error: hostRefusal }, { status: 403 })
}

/** The headers and methods that pages may use with the facilitator. */
const corsSettings = {
  allowedHeaders: 'Content-Type, Authorization, X-API-Key',
  allowedMethods: 'GET, POST, OPTIONS',
  allowLoopbackOrigins: true,
  allowPrivateNetwork: true,
}

/** The headers by which servers recognize requests of web pages. */
const pageHeaders = ['Origin', 'Sec-Fetch-Site']

/**
 * Wraps a handler so that it serves pages of loopback origins and of the given origins like programs, with readable
 * responses.
 */
export function allowOrigins(handle: FetchHandler, allowedOrigins: readonly string[]): FetchHandler {
  return async (request, info) => {
    const { method, headers } = request
    const origin = headers.get('origin') ?? undefined
    const privateNetwork = headers.get('access-control-request-private-network') ?? undefined
    const cors = Access.corsHeaders({ ...corsSettings, allowedOrigins }, { method, origin, privateNetwork })
    if (!cors.includes('Access-Control-Allow-Origin')) return handle(request, info)
    const isPreflight = method === 'OPTIONS' && headers.has('access-control-request-method')
    const response = isPreflight ? new Response(undefined, { status: 204 }) : await handle(fromProgram(request), info)
    const allowed = new Headers(response.headers)
    for (let index = 0; index < cors.length; index += 2) allowed.set(cors[index]!, cors[index + 1]!)
    allowed.append('Vary', 'Origin')
    const { status, statusText } = response
    return new Response(response.body, { status, statusText, headers: allowed })
  }
}

function fromProgram(request: Request): Request {
  const headers = new Headers(request.headers)
  for (const name of pageHeaders) headers.delete(name)
  return new Request(request, { headers })
}
