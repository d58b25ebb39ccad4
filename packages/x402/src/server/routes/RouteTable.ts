/**
 * Decides which requests require payment. A path that two programs could read differently is matched in every reading.
 * Escapes, double slashes, dots, another case or a trailing slash therefore never open a paid route for free, nor an
 * expensive one for the price of a cheap one.
 */
import { OptionsError, PartyError } from '../../errors.js'
import { acceptsOf, type Route } from '../gate/GateOptions.js'
import { json } from '../gate/responses.js'
import type { GateRequest, RequestPath } from './GateRequest.js'
import { maxOverrides, overridesOf } from './MethodOverride.js'
import {
  foldCase,
  foldedContent,
  formsOf,
  isPlainPath,
  maxEscapedLength,
  mountedReadings,
  ReadingBudget,
  type Readings,
  readingsOf,
  targetProblem,
  trimSlashes,
} from './RequestTarget.js'
import { type Accept, priceOf } from './Requirements.js'

export type RouteKey = string

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
type Method = (typeof methods)[number]

type Compiled<T> = {
  readonly key: RouteKey
  readonly method: Method | undefined
  readonly path: string
  readonly pattern: RegExp
  /** Matches the path only in the spelling of the key. */
  readonly exact: RegExp
  /** The texts, in folded case, that occur in every path that the route matches. */
  readonly literals: readonly string[]
  /** Patterns for the rest of the path after a prefix was removed. */
  readonly suffixes: readonly RegExp[]
  readonly value: T
}

const maxLatest = 2

export type Match<T> =
  | { readonly type: 'route'; readonly key: RouteKey; readonly value: T }
  /** Two readings are different routes, or there are too many readings. The gate cannot know what would be served. */
  | { readonly type: 'ambiguous' }
  /** The path is paid for with other methods. */
  | { readonly type: 'method'; readonly allowed: readonly string[]; readonly values: readonly T[] }

export class RouteTable<T> {
  readonly #routes: readonly Compiled<T>[]
  /** The readings of the latest paths: as the request was sent, and as the router has it. */
  readonly #latest = new Map<string, Readings | undefined>()

  /** @throws RouteError for a key that no request can match */
  constructor(routes: { readonly [key: RouteKey]: T }) {
    const compiled: Compiled<T>[] = []
    for (const [key, value] of Object.entries(routes)) {
      const route = compile(key, value)
      const earlier = compiled.find((one) => covers(one, route))
      if (earlier !== undefined)
        throw new RouteError(key, `is never reached: ${JSON.stringify(earlier.key)} comes before it`)
      compiled.push(route)
    }
    if (compiled.length === 0) throw new RouteError('', 'routes is empty')
    this.#routes = compiled
  }

  /**
   * Returns the first route for a reading of a path; `undefined` if no reading has one.
   *
   * @param depth how many segments of the path precede the place where the gate is mounted; keys are matched with the
   * whole path, and with the path without those segments
   */
  match(method: string, path: string, depth = 0, budget = new ReadingBudget()): Match<T> | undefined {
    const verb = verbOf(method)
    const candidates = this.#candidates(path)
    if (candidates.length === 0) return undefined
    const found = new Set<Compiled<T>>()
    const others = new Set<Compiled<T>>()
    const readings = this.#readings(path, depth, budget)
    if (readings === undefined) return { type: 'ambiguous' }
    for (const [reading, below] of readings) {
      const forms = formsOf(reading, below)
      const ofPath = candidates.filter(({ pattern }) => forms.some((form) => pattern.test(form)))
      const route = ofPath.find((one) => one.method === undefined || one.method === verb)
      if (route !== undefined) found.add(route)
      else for (const other of ofPath) others.add(other)
      if (found.size > 1) return { type: 'ambiguous' }
    }
    const [route] = found
    if (route !== undefined) return { type: 'route', key: route.key, value: route.value }
    return others.size === 0 ? undefined : otherMethods([...others])
  }

  /** Cached, because a request is matched for its own method and for each method that a program may use instead. */
  #readings(path: string, depth: number, budget: ReadingBudget): Readings | undefined {
    const key = `${depth} ${path}`
    if (this.#latest.has(key)) return this.#latest.get(key)
    const readings = mountedReadings(path, depth, budget)
    if (this.#latest.size >= maxLatest) this.#latest.clear()
    this.#latest.set(key, readings)
    return readings
  }

  /** The routes that a reading of a path may match. */
  #candidates(target: string): readonly Compiled<T>[] {
    const path = target.replace(/\?.*$/s, '')
    // A path that is too long to be read is refused.
    if (isPlainPath(path) || path.length > maxEscapedLength) return this.#routes
    const content = foldedContent(path)
    return this.#routes.filter(({ literals }) => literals.every((literal) => content.includes(literal)))
  }

  /** Whether a path is spelled like a key that it matches: in the same case, and without additional slashes. */
  isExact(key: RouteKey, path: string, depth = 0): boolean {
    const route = this.#routes.find((one) => one.key === key)
    const forms = formsOf(decodeOnce(path.replace(/\?.*$/s, '')), depth)
    return route !== undefined && forms.some((form) => route.exact.test(form))
  }

  /** The key that would match if a prefix had not been removed from the path. */
  keyWithPrefix(method: string, path: string): RouteKey | undefined {
    const verb = verbOf(method)
    const candidates = this.#routes.filter(({ method: own }) => own === undefined || own === verb)
    const readings = readingsOf(path)
    if (readings === undefined) return this.#keyWithin(candidates, path)
    for (const reading of readings) {
      const route = candidates.find(({ suffixes }) => suffixes.some((suffix) => suffix.test(reading)))
      if (route !== undefined) return route.key
    }
    return undefined
  }

  /** The first key whose part after a prefix may be in a path that has too many readings. */
  #keyWithin(candidates: readonly Compiled<T>[], path: string): RouteKey | undefined {
    const content = foldedContent(path.replace(/\?.*$/s, ''))
    const isWithin = (suffix: string): boolean => literalsOf(suffix).every((literal) => content.includes(literal))
    return candidates.find((one) => suffixesOf(one.path).some(isWithin))?.key
  }

  /**
   * Whether a request to a framework's route, such as `/items/:id`, may match a key. Includes longer keys, because the
   * path may be different before the framework gets it.
   */
  mayMatch(url: string, depth = 0): boolean {
    const forms = formsOf(url, depth).map(segmentsOf)
    const paths = this.#routes.flatMap(({ path }) => [path, ...suffixesOf(path)]).map(segmentsOf)
    return paths.some((path) => forms.some((form) => overlap(path, form)))
  }
}

/** Keys may have letters that requests escape. */
function decodeOnce(path: string): string {
  try {
    return decodeURI(path)
  } catch {
    return path
  }
}

/** HEAD runs the handler of GET. */
function verbOf(method: string): string {
  const verb = method.toUpperCase()
  return verb === 'HEAD' ? 'GET' : verb
}

function otherMethods<T>(routes: readonly Compiled<T>[]): Match<T> {
  const used = methods.filter((method) => routes.some((one) => one.method === method))
  const allowed = used.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
  return { type: 'method', allowed: [...allowed, 'OPTIONS'], values: routes.map(({ value }) => value) }
}

function compile<T>(key: RouteKey, value: T): Compiled<T> {
  const [, verb, path] = /^(?:([A-Za-z]+) +)?(\S+)$/.exec(key.trim()) ?? []
  if (path === undefined) throw new RouteError(key, 'is neither a path nor a method and a path')
  const method = verb === undefined ? undefined : methods.find((one) => one === verb.toUpperCase())
  if (verb !== undefined && method === undefined)
    throw new RouteError(key, `names the method ${verb}, which is not one of ${methods.join(', ')}`)
  if (path !== '*' && !path.startsWith('/')) throw new RouteError(key, 'has a path that does not start with a slash')
  if (/[?#%\\;]|\/\/|\/\.{1,2}(\/|$)/.test(path)) {
    throw new RouteError(
      key,
      'has a path that no request can have: it contains a query, an escape, a dot segment or a double slash',
    )
  }
  // Patterns of other routers would be matched literally here, and protect nothing.
  const unknown = path.split('/').find((segment) => !isParameter(segment) && /[:[\](){}]/.test(segment))
  if (unknown !== undefined) {
    throw new RouteError(key, `has ${JSON.stringify(unknown)}, which is not a whole segment like :name or [name]`)
  }
  return {
    key,
    method,
    path,
    pattern: patternOf(path),
    exact: exactOf(path),
    literals: literalsOf(path),
    suffixes: suffixesOf(path).map(patternOf),
    value,
  }
}

function isParameter(segment: string): boolean {
  return /^(:\w+|\[\w+\])$/.test(segment)
}

function patternOf(path: string): RegExp {
  return path === '*' ? /^/ : new RegExp(`^${sourceOf(path)}$`, 'isu')
}

function exactOf(path: string): RegExp {
  const end = path.length > 1 && path.endsWith('/') ? '/' : ''
  return path === '*' ? /^/ : new RegExp(`^${sourceOf(path)}${end}$`, 'su')
}

/** The texts between parameters, wildcards and slashes. */
function literalsOf(path: string): string[] {
  const segments = trimSlashes(path)
    .split('/')
    .filter((segment) => !isParameter(segment) && !/^\*\w*$/.test(segment))
  return segments
    .flatMap((segment) => segment.split('*'))
    .filter((text) => text !== '')
    .map(foldCase)
}

function sourceOf(path: string): string {
  const source = trimSlashes(path)
    .split('/')
    .map((segment) => (isParameter(segment) ? '[^/]+' : wildcards(segment)))
    .join('/')
  // A route for everything below a path includes the path itself.
  return source.replace(/\/\.\*$/, '(?:/.*)?')
}

/** The path without its first segments, as long as those are plain, because frameworks remove no other prefixes. */
function suffixesOf(path: string): string[] {
  const segments = trimSlashes(path).split('/').slice(1)
  const end = segments.findIndex((segment) => isParameter(segment) || segment.includes('*'))
  const plain = end === -1 ? segments : segments.slice(0, end)
  return plain.filter((segment) => segment !== '').map((_, index) => `/${segments.slice(index + 1).join('/')}`)
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '')
}

/** Whether any path matches both patterns. */
function overlap(key: readonly string[], route: readonly string[]): boolean {
  const [first, ...keyRest] = key
  const [other, ...routeRest] = route
  if (/^\*\w*$/.test(first ?? '') || other?.includes('*')) return true
  if (first === undefined) return route.every((segment) => segment.endsWith('?'))
  if (other === undefined) return false
  const isOpen = isParameter(first) || first.includes('*') || /[:(]/.test(other)
  return (isOpen || first.toLowerCase() === other.toLowerCase()) && overlap(keyRest, routeRest)
}

/** Some routers write `*name` instead of `*`. */
function wildcards(segment: string): string {
  return /^\*\w*$/.test(segment) ? '.*' : segment.split('*').map(escapeText).join('.*')
}

function escapeText(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}

/** Whether every request of the later route matches the earlier one, tested with segments that no route names. */
function covers<T>(earlier: Compiled<T>, later: Compiled<T>): boolean {
  if (earlier.method !== undefined && earlier.method !== later.method) return false
  const sample = later.path
    .split('/')
    .map((segment) => (isParameter(segment) ? '\u{1}' : segment.replace(/^\*\w*$|\*/g, '\u{1}/\u{2}')))
    .join('/')
  return earlier.pattern.test(trimSlashes(sample))
}

/** The offer repeats the target in a header, and clients limit all headers together to 16 kB. Proxies use this limit. */
const maxTargetLength = 8_192

export type PaidRoute = { readonly key: string; readonly route: Route; readonly accepts: readonly Accept[] }

export type RouteResult =
  | { readonly type: 'free'; readonly isUnlisted?: true | undefined }
  | { readonly type: 'paid'; readonly value: PaidRoute }
  /** The gate responds to OPTIONS for paid paths. */
  | { readonly type: 'options' }
  | { readonly type: 'refused'; readonly response: Response; readonly error?: Error | undefined }

export class PaidRoutes {
  readonly #table: RouteTable<PaidRoute>
  readonly #basePath: string | undefined

  /**
   * @throws RouteError for a key that no request can match
   * @throws GateError for a route without a price
   * @throws OptionsError for a base path that is not a path
   */
  constructor(routes: { readonly [key: string]: Route }, basePath?: string | undefined) {
    const entries = Object.entries(routes).map(
      ([key, route]) => [key, { key, route, accepts: acceptsOf(route, key) }] as const,
    )
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
   * is served. Also refuses a target that is too long for an offer, because every check reads all of it.
   */
  refusalOf({ request, url, path }: GateRequest, { key, route }: PaidRoute): Response | undefined {
    const { origin, pathname } = url
    const allowsRepeated = route.repeatedParameters === 'allow'
    const rules = { isPricedByFunction: hasDynamicPrice(route), allowsRepeated }
    for (const one of new Set(path.targets ?? [request.url])) {
      if (one.length > maxTargetLength) return targetTooLong()
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
    if (!isPrefixUnknown || this.#basePath !== undefined) return { type: 'free', isUnlisted: true }
    const key = this.#table.keyWithPrefix(method, path)
    if (key === undefined) return { type: 'free', isUnlisted: true }
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
  return [route?.accepts]
    .flat()
    .some((one) => (one !== undefined && typeof priceOf(one) === 'function') || typeof one?.payTo === 'function')
}

function ambiguous(problem: string): Response {
  const message = `the request target ${problem}; programs may interpret it differently`
  return json(400, { error: 'ambiguous_request', message })
}

function targetTooLong(): Response {
  const message = `the request target of a paid route may have at most ${maxTargetLength} characters`
  return json(414, { error: 'target_too_long', message })
}

function keyOf(match: Match<PaidRoute> | undefined): string | undefined {
  return match?.type === 'route' ? match.key : match?.type
}

function refused(status: number, message: string, headers: [string, string][] = [], error?: Error): RouteResult {
  return { type: 'refused', response: json(status, { error: message }, headers), error }
}

/** A route that no request can match, or that is written in an unknown form. */
export class RouteError extends PartyError<'invalid_route'> {
  override name = 'RouteError'

  constructor(key: string, reason: string) {
    super('invalid_route', key === '' ? reason : `the route ${JSON.stringify(key)} ${reason}`)
  }
}
