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
  return URL.canParse(origin) && Access.isLoopback(Access.hostName(new URL(origin).host))
}

export const hostRefusal = 'this server is for programs on its machine: use the address 127.0.0.1'

/** A handler that serves only requests that name this machine as their host. */
export function onlyLocalHosts(handle: FetchHandler): FetchHandler {
  return (request, info) =>
    isLocalHost(request.headers.get('host') ?? new URL(request.url).host)
      ? handle(request, info)
      : Response.json({ error: hostRefusal }, { status: 403 })
}
