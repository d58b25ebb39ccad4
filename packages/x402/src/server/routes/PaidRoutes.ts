/** Finds the paid route of a request, or the reason why the request is refused. */
import { OptionsError } from '../../errors.js'
import type { Route } from '../gate/GateOptions.js'
import { json } from '../gate/responses.js'
import { type GateRequest, maxOverrides, overridesOf, type RequestPath } from './GateRequest.js'
import { priceOf } from './Requirements.js'
import { type Match, RouteTable } from './RouteTable.js'

export type PaidRoute = { readonly key: string; readonly route: Route }

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

type TargetRules = {
  /** Whether a function chooses the price or the payee. Every parameter then counts, including its spelling. */
  readonly isPricedByFunction: boolean
  /** Whether a parameter may still be repeated. */
  readonly allowsRepeated: boolean
}

/** The offer repeats the target in a header, and clients limit all headers together to 16 kB. Proxies use this limit. */
const maxTargetLength = 8_192

/** `querystring` and `qs` ignore parameters after the first 1,000. */
const maxParameters = 100

/** Matches the scheme and the authority of a target in absolute form. */
const absoluteForm = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i

/**
 * The reason why programs behind the gate may read a target differently; undefined if all read the same. RFC 9112,
 * section 3.2, allows no fragment. A target is ambiguous if the URL standard, the routers and the frameworks' query
 * parsers read it differently. A client could then be shown the price of one resource and be served another. `origin`
 * is that of the Host header.
 */
export function targetProblem(target: string, origin: string, rules: TargetRules): string | undefined {
  const [start = ''] = absoluteForm.exec(target) ?? []
  if (start !== '' && !isOrigin(start, origin)) return 'names a different host from the Host header'
  const own = target.slice(start.length)
  const queryStart = own.indexOf('?')
  const path = queryStart === -1 ? own : own.slice(0, queryStart)
  const query = queryStart === -1 ? '' : own.slice(queryStart + 1)
  const problem = characterProblem(own, path, query)
  if (problem !== undefined || !rules.isPricedByFunction) return problem
  return spellingProblem(own, path) ?? parameterProblem(query, rules.allowsRepeated)
}

function isOrigin(start: string, origin: string): boolean {
  return !start.includes('@') && URL.canParse(start) && new URL(start).origin === origin
}

function characterProblem(own: string, path: string, query: string): string | undefined {
  if (own.includes('#')) return 'has a fragment'
  if (own.includes('\\')) return 'has a backslash'
  if (!path.startsWith('/')) return 'does not start with a slash'
  // `new URL(target, base)` reads the following text as a host.
  if (path.startsWith('//')) return 'starts with two slashes'
  // Some routers end the path at a semicolon, and read a query after it.
  if (path.includes(';')) return 'has a semicolon in its path'
  if (/%00/.test(own) || /%(?:[01][0-9a-f]|7f)/i.test(path)) return 'has an escaped control character'
  if (!isDecodable(own)) return 'has an escape that is not UTF-8'
  if (!isUnchanged(path, query)) return 'has dot segments, or characters that a URL writes as escapes'
  return undefined
}

/** Query parsers keep text that they cannot decode, replace it, or throw. */
function isDecodable(text: string): boolean {
  if (!text.includes('%')) return true
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/**
 * Whether the URL standard reads the target as written. The price function gets a URL, handlers get the text itself.
 */
function isUnchanged(path: string, query: string): boolean {
  if (/^[\w/~-]*$/.test(path) && /^[\w&=~.,:*()!$@/?%+-]*$/.test(query)) return true
  const { pathname, search } = new URL(`http://localhost${path}${query === '' ? '' : `?${query}`}`)
  // An apostrophe is the one allowed character that a URL escapes. Every parser decodes it.
  return pathname === path && search.slice(1) === query.replaceAll("'", '%27')
}

/** A function may compare the path without decoding it. */
function spellingProblem(own: string, path: string): string | undefined {
  if (/%(?:[46][1-9a-f]|[57][0-9a]|3[0-9]|2[de]|5f)/i.test(own))
    return 'escapes a letter, digit, hyphen, dot or underscore'
  if (/%(?:2[35f]|3[bf]|5c)/i.test(path)) return 'escapes a separator or a percent sign in its path'
  return path.includes('//') ? 'has an empty segment in its path' : undefined
}

/** Parsers disagree about which of several values counts, and which names are valid. */
function parameterProblem(query: string, allowsRepeated: boolean): string | undefined {
  if (query === '') return undefined
  if (query.includes(';')) return 'has a semicolon in its query'
  // The parser of Express 4 ends a name at the first `]=`, even after another `=`.
  if (/(?:\]|%5d)=/i.test(query)) return 'has a parameter with brackets'
  const parameters = query.split('&', maxParameters + 1)
  if (parameters.length > maxParameters) return `has more than ${maxParameters} parameters`
  const names = parameters.filter((parameter) => parameter !== '').map(nameOf)
  const seen = new Set<string>()
  for (const name of names) {
    if (name === '') return 'has a parameter without a name'
    if (/[[\]]/.test(name)) return 'has a parameter with brackets'
    if (/\s/.test(name)) return 'has a parameter with a space in its name'
    if (name in Object.prototype) return 'has a parameter with a reserved name'
    if (seen.has(name.toLowerCase()) && !allowsRepeated) return 'repeats a parameter'
    seen.add(name.toLowerCase())
  }
  return undefined
}

/** The name of a parameter, as `URLSearchParams` reads it. Values are not decoded, because they may be long. */
function nameOf(parameter: string): string {
  const end = parameter.indexOf('=')
  const name = end === -1 ? parameter : parameter.slice(0, end)
  if (!/[%+]/.test(name)) return name
  // The constructor removes the first question mark.
  const [decoded = ''] = new URLSearchParams(`?${name}`).keys()
  return decoded
}
