/** The part of a Hono context that the gate uses, and the position of the gate in an app. */
import type { RequestPath } from '../routes/GateRequest.js'
import { depthOf } from '../routes/RouteTable.js'
import type { NodeRequest, NodeResponse } from './NodeMessage.js'

/** The part of a Hono context that the gate uses. */
export type HonoContext = {
  req: {
    raw: Request
    path: string
    /** The routes of the app that match the request, and the index of the one that runs. */
    matchedRoutes?: readonly { path: string; basePath?: string }[]
    routeIndex?: number
  }
  env?: unknown
  res: Response
  error?: Error | undefined
}

/** Node's objects behind a request, if Hono runs in `@hono/node-server`. */
export type NodeBindings = {
  readonly incoming: NodeRequest & { originalUrl?: string }
  readonly outgoing?: NodeResponse
}

export function nodeBindings({ env }: HonoContext): NodeBindings | undefined {
  const { incoming } = (env ?? {}) as Partial<NodeBindings>
  return typeof incoming?.url === 'string' ? (env as NodeBindings) : undefined
}

/**
 * The path of a request, and the URL that its client used. `route()`, `basePath()` and `use(path)` keep the path whole,
 * and a context shows where its middleware is mounted. `mount()` removes its prefix from the URL. On Node the
 * connection has the whole path; on other runtimes it is not known whether a prefix was removed.
 */
export function pathOfContext(context: HonoContext): { path: RequestPath; url: string } {
  const { path, raw } = context.req
  const depth = mountDepth(context)
  const sent = pathOf(raw.url)
  const bindings = nodeBindings(context)
  if (bindings === undefined) return { path: { path, depth, sent, isPrefixUnknown: true }, url: raw.url }
  const { url: received = '/', originalUrl = received } = bindings.incoming
  const whole = normalPath(originalUrl)
  const targets = [raw.url, received, originalUrl]
  const prefix = removedPrefix(whole, sent.replace(/[?#].*$/s, ''))
  if (prefix === '') return { path: { path, depth, sent, targets }, url: raw.url }
  if (prefix === undefined) {
    return { path: { path, depth, sent: whole, targets, isPrefixUnknown: true }, url: raw.url }
  }
  const url = new URL(raw.url)
  url.pathname = whole
  const mounted = { path: `${prefix}${path}`, depth: depth + depthOf(prefix), sent: whole, targets }
  return { path: mounted, url: url.href }
}

/** The prefix that was removed from a path; undefined if the path was changed in another way. */
function removedPrefix(whole: string, rest: string): string | undefined {
  if (whole.endsWith(rest)) return whole.slice(0, whole.length - rest.length)
  return rest === '/' ? whole : undefined
}

/** How many segments precede the place where the middleware is used. */
function mountDepth({ req }: HonoContext): number {
  const { path = '', basePath = '' } = req.matchedRoutes?.[req.routeIndex ?? 0] ?? {}
  return Math.max(depthOf(basePath), path.endsWith('*') ? depthOf(path.slice(0, -1)) : 0)
}

/** Normalizes a path as a URL does: dots are resolved. */
function normalPath(target: string): string {
  const path = pathOf(target)
  return URL.canParse(`http://localhost${path}`) ? new URL(`http://localhost${path}`).pathname : path
}

function pathOf(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i, '') || '/'
}
