/**
 * The stack is for programs and pages of this machine. In DNS rebinding a page of another origin resolves its own name to
 * 127.0.0.1; it cannot change the Host header, which then names no loopback address.
 */
import { Access, type FetchHandler } from '@latchkey/http'

const noNames: ReadonlySet<string> = new Set()

/** Whether a request names this machine as its host. */
export function isLocalHost(host: string | undefined): boolean {
  return Access.isHostAllowed(host, noNames, undefined)
}

/** Whether a request is not from a web page, or from a page of this machine. */
export function isLocalOrigin(origin: string | undefined, fetchSite: string | undefined): boolean {
  if (origin === undefined) return fetchSite === undefined || fetchSite !== 'cross-site'
  return Access.isLoopbackOrigin(origin)
}

export const hostRefusal = 'this server is for programs on its machine: use the address 127.0.0.1'

/** A handler that serves only requests that name this machine as their host. */
export function onlyLocalHosts(handle: FetchHandler): FetchHandler {
  return (request, info) =>
    isLocalHost(request.headers.get('host') ?? new URL(request.url).host)
      ? handle(request, info)
      : Response.json({ error: hostRefusal }, { status: 403 })
}

/** What pages may send to the facilitator. */
const corsSettings = {
  allowedHeaders: 'Content-Type, Authorization, X-API-Key',
  allowedMethods: 'GET, POST, OPTIONS',
  allowLoopbackOrigins: true,
  allowPrivateNetwork: true,
}

/** The headers by which servers recognize requests of web pages. */
const pageHeaders = ['Origin', 'Sec-Fetch-Site']

/** A handler that serves pages of loopback origins and of those given like programs, and lets them read its responses. */
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
