/** Finds the paid route of a request, or the reason why the request is refused. */
import { OptionsError } from '../../errors.js'
import type { Route } from '../gate/GateOptions.js'
import { json } from '../gate/responses.js'
import { type GateRequest, maxOverrides, overridesOf, type RequestPath } from './GateRequest.js'
import { type Match, RouteTable } from './RouteTable.js'
import { targetProblem } from './requestTarget.js'

export type PaidRoute = { readonly key: string; readonly route: Route }

export type RouteResult =
  | { readonly type: 'free' }
  | { readonly type: 'paid'; readonly value: PaidRoute }
  /** The gate responds to OPTIONS for paid paths. */
  | { readonly type: 'options' }
  | { readonly type: 'refused'; readonly response: Response; readonly error?: Error | undefined }

export class PaidRoutes {
  readonly #table: RouteTable<PaidRoute>
  readonly #basePath: string | undefined

  /**
   * @throws RouteError for a key that no request can match
   * @throws OptionsError for a base path that is not a path
   */
  constructor(routes: { readonly [key: string]: Route }, basePath?: string | undefined) {
    const entries = Object.entries(routes).map(([key, route]) => [key, { key, route }] as const)
    this.#table = new RouteTable(Object.fromEntries(entries))
    this.#basePath = basePath === undefined ? undefined : basePathOf(basePath)
  }

  /** The path that clients use, including the prefix that a server in front has removed. */
  publicPath(path: string): string {
    const base = this.#basePath ?? ''
    return base === '' || isBelow(path, base) ? path : `${base}${path}`
  }

  /** Whether a key may match a framework's route, such as `/items/:id`. */
  mayMatch(url: string, depth: number): boolean {
    return this.#table.mayMatch(url, depth)
  }

  find(request: Request, target: RequestPath): RouteResult {
    const match = this.#match(request.method, target)
    if (match?.type === 'ambiguous') return refused(400, 'the path is ambiguous')
    // A program behind the gate may run the handler of the other method.
    const overrides = overridesOf(request)
    if (overrides.length > maxOverrides || !this.#isSameRoute(overrides, target, match)) {
      return refused(400, 'the method is ambiguous')
    }
    if (match === undefined) return this.#unmatched(request, target)
    if (request.method === 'OPTIONS') return { type: 'options' }
    if (match.type === 'route') return { type: 'paid', value: match.value }
    if (match.values.every(({ route }) => route.otherMethods === 'free')) return { type: 'free' }
    return refused(405, `this path does not support ${request.method.slice(0, 20)}`, [
      ['Allow', match.allowed.join(', ')],
    ])
  }

  #isSameRoute(methods: readonly string[], target: RequestPath, match: Match<PaidRoute> | undefined): boolean {
    return methods.every((method) => keyOf(this.#match(method, target)) === keyOf(match))
  }

  /**
   * Refuses a target that programs may read differently, because the client must be shown the price of the resource it
   * is served.
   */
  refusalOf({ request, url, path }: GateRequest, { key, route }: PaidRoute): Response | undefined {
    const { origin, pathname } = url
    const allowsRepeated = route.repeatedParameters === 'allow'
    const rules = { isPricedByFunction: hasDynamicPrice(route), allowsRepeated }
    for (const one of new Set(path.targets ?? [request.url])) {
      const problem = targetProblem(one, origin, rules)
      if (problem !== undefined) return ambiguous(problem)
    }
    const isExact = (): boolean => this.#table.isExact(key, ...this.#placed(pathname, path.depth ?? 0))
    return rules.isPricedByFunction && !isExact() ? ambiguous('is not written exactly like its route') : undefined
  }

  #match(method: string, { path, depth = 0, sent }: RequestPath): Match<PaidRoute> | undefined {
    const paths = sent === undefined || sent === path ? [path] : [path, sent]
    const matches = paths.map((one) => this.#matchOne(method, one, depth)).filter((one) => one !== undefined)
    return matches.find(({ type }) => type !== 'method') ?? matches[0]
  }

  #matchOne(method: string, path: string, depth: number): Match<PaidRoute> | undefined {
    return this.#table.match(method, ...this.#placed(path, depth))
  }

  /** The path with the prefix that a server in front has removed, and the depth of its mount. */
  #placed(path: string, depth: number): [path: string, depth: number] {
    const base = this.#basePath ?? ''
    // If nothing was removed, keys may still be relative to the base path.
    const added = depthOf(base) * (isBelow(path, base) ? 2 : 1)
    return [`${base}${path}`, depth + added]
  }

  #unmatched({ method }: Request, { path, isPrefixUnknown = false }: RequestPath): RouteResult {
    if (!isPrefixUnknown || this.#basePath !== undefined) return { type: 'free' }
    const key = this.#table.keyWithPrefix(method, path)
    if (key === undefined) return { type: 'free' }
    const why = `${path.slice(0, 100)} would match the paid route ${JSON.stringify(key)} if the gate is mounted under a prefix`
    const hint = 'Set the option basePath of Gate.open: to the prefix, like "/api", or to "/" if there is none.'
    return refused(500, 'the gate does not know its basePath', [], new OptionsError(why, hint))
  }
}

/** The number of segments in a prefix. */
export function depthOf(prefix: string): number {
  return prefix.split('/').filter((segment) => segment !== '').length
}

function basePathOf(basePath: string): string {
  if (typeof basePath === 'string' && /^(\/[\w.~-]+)*\/?$/.test(basePath)) return basePath.replace(/\/$/, '')
  throw new OptionsError(`basePath cannot be ${JSON.stringify(basePath)}`, 'Write it like "/api", or "/" for none.')
}

function isBelow(path: string, base: string): boolean {
  return base !== '' && (path.startsWith(`${base}/`) || path.startsWith(`${base}?`) || path === base)
}

/** Whether a function chooses a price or a payee of the route. */
export function hasDynamicPrice(route: Route | undefined): boolean {
  return [route?.accepts].flat().some((one) => typeof one?.price === 'function' || typeof one?.payTo === 'function')
}

function ambiguous(problem: string): Response {
  const message = `the request target ${problem}; programs may interpret it differently`
  return json(400, { error: 'ambiguous_request', message })
}

function keyOf(match: Match<PaidRoute> | undefined): string | undefined {
  return match?.type === 'route' ? match.key : match?.type
}

function refused(status: number, message: string, headers: [string, string][] = [], error?: Error): RouteResult {
  return { type: 'refused', response: json(status, { error: message }, headers), error }
}
