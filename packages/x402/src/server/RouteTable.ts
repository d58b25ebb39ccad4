/**
 * Which requests have to be paid for. A path that two programs could read differently is matched in every reading: escapes,
 * double slashes, dots, another case or a trailing slash never open a paid route, nor an expensive one for the price of a
 * cheap one.
 */
import { X402Error } from '../errors.js'

export type RouteKey = string

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
type Method = (typeof methods)[number]

type Compiled<T> = {
  readonly key: RouteKey
  readonly method: Method | undefined
  readonly pattern: RegExp
  readonly value: T
}

export type Match<T> =
  | { readonly type: 'route'; readonly key: RouteKey; readonly value: T }
  /** Two readings are different routes, or there are too many readings: what would be served is not known. */
  | { readonly type: 'ambiguous' }

export class RouteTable<T> {
  readonly #routes: readonly Compiled<T>[]

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

  /** The first route for a reading of the path; `undefined` if there is none for any. */
  match(method: string, path: string): Match<T> | undefined {
    // HEAD runs the handler of GET. A method that is not known could run any handler.
    const verb = method.toUpperCase() === 'HEAD' ? 'GET' : method.toUpperCase()
    const isKnown = (methods as readonly string[]).includes(verb)
    const candidates = this.#routes.filter(({ method: own }) => own === undefined || own === verb || !isKnown)
    if (candidates.length === 0) return undefined
    const readings = readingsOf(path)
    if (readings === undefined) return { type: 'ambiguous' }
    const found = new Set<Compiled<T>>()
    for (const reading of readings) {
      const route = candidates.find(({ pattern }) => pattern.test(reading))
      if (route !== undefined) found.add(route)
    }
    const [route] = found
    if (route === undefined) return undefined
    return found.size === 1 ? { type: 'route', key: route.key, value: route.value } : { type: 'ambiguous' }
  }

  keys(): RouteKey[] {
    return this.#routes.map(({ key }) => key)
  }
}

function compile<T>(key: RouteKey, value: T): Compiled<T> {
  const [, verb, path] = /^(?:([A-Za-z]+) +)?(\S+)$/.exec(key.trim()) ?? []
  if (path === undefined) throw new RouteError(key, 'is not a path, nor a method and a path')
  const method = verb === undefined ? undefined : methods.find((one) => one === verb.toUpperCase())
  if (verb !== undefined && method === undefined)
    throw new RouteError(key, `names the method ${verb}, which is not one of ${methods.join(', ')}`)
  if (path !== '*' && !path.startsWith('/')) throw new RouteError(key, 'has a path that does not start with a slash')
  if (/[?#%\\;]|\/\/|\/\.{1,2}(\/|$)/.test(path)) {
    throw new RouteError(key, 'has a path that no request has: without query, escapes, dots and double slashes')
  }
  // Patterns of other routers would be matched literally here, and protect nothing.
  const unknown = path.split('/').find((segment) => !isParameter(segment) && /[:[\](){}]/.test(segment))
  if (unknown !== undefined) {
    throw new RouteError(key, `has ${JSON.stringify(unknown)}, which is not a whole segment like :name or [name]`)
  }
  return { key, method, pattern: patternOf(path), value }
}

function isParameter(segment: string): boolean {
  return /^(:\w+|\[\w+\])$/.test(segment)
}

function patternOf(path: string): RegExp {
  if (path === '*') return /^/
  const source = trimSlashes(path)
    .split('/')
    .map((segment) => (isParameter(segment) ? '[^/]+' : wildcards(segment)))
    .join('/')
  // A route for everything below a path includes the path itself.
  return new RegExp(`^${source.replace(/\/\.\*$/, '(?:/.*)?')}$`, 'isu')
}

/** Some routers write `*name` for `*`. */
function wildcards(segment: string): string {
  return /^\*\w*$/.test(segment) ? '.*' : segment.split('*').map(escapeText).join('.*')
}

function escapeText(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}

/** Whether every request of the later route matches the earlier one, tried with segments that no route names. */
function covers<T>(earlier: Compiled<T>, later: Compiled<T>): boolean {
  if (earlier.method !== undefined && earlier.method !== later.method) return false
  const path = later.key.trim().replace(/^[A-Za-z]+ +/, '')
  const sample = path
    .split('/')
    .map((segment) => (isParameter(segment) ? '\u{1}' : segment.replace(/^\*\w*$|\*/g, '\u{1}/\u{2}')))
    .join('/')
  return earlier.pattern.test(trimSlashes(sample))
}

const maxDecodings = 3
/** No honest path is beyond these limits, and reading it would take long. */
const maxUnusualLength = 2_048
const maxTexts = 64
/** Replaces an escaped slash where it does not end a segment. */
const innerSlash = '\u{2215}'

/** A path as it was sent, and as programs may read it; undefined if there are too many readings. */
function readingsOf(target: string): Iterable<string> | undefined {
  const path = target.replace(/\?.*$/s, '')
  if (/^[\w/.~-]*$/.test(path) && !/\/\/|(^|\/)\.{1,2}(\/|$)/.test(path)) return [trimSlashes(path)]
  if (path.length > maxUnusualLength) return undefined
  const readings = new Set<string>()
  // Two slashes at the start begin a host where the path is read as a URL.
  let texts = new Set([path, path.replace(/^[/\\]{2,}[^/\\]*/, '')].flatMap(endings))
  for (let round = 0; round <= maxDecodings; round++) {
    // Some programs resolve dots before they decode, some afterwards, some never.
    texts = new Set([...texts].flatMap(resolutions))
    if (texts.size > maxTexts) return undefined
    for (const text of texts) for (const spelling of spellings(text)) addNormal(readings, spelling)
    const decoded = new Set([...texts].flatMap((text) => [decode(text, '/'), decode(text, innerSlash)]))
    if ([...decoded].every((text) => texts.has(text))) break
    texts = decoded
  }
  return readings
}

/** Programs disagree on where a path ends, and on parameters of its segments. */
function endings(text: string): string[] {
  return [text, text.replace(/[?#].*$/s, ''), text.replace(/;.*$/s, ''), text.replace(/;[^/]*/g, '')]
}

function spellings(text: string): string[] {
  return endings(text).flatMap((one) => [one, one.replaceAll('\\', '/'), one.toLowerCase()])
}

/** In a URL two dots remove an empty segment too: `/files//../a` is `/files/a`. */
function resolutions(text: string): string[] {
  return [text, withoutDots(text), asUrlPath(text.replaceAll('\\', '/'))]
}

function addNormal(readings: Set<string>, text: string): void {
  for (const one of [text, asUrlPath(text)]) {
    readings.add(trimSlashes(one))
    readings.add(trimSlashes(one.replace(/\/+/g, '/')))
  }
  readings.add(withoutDots(text))
}

function trimSlashes(path: string): string {
  return path.replace(/\/+$/, '') || '/'
}

/** Each run of escapes on its own: an invalid one does not keep the others from being decoded. */
function decode(text: string, slash: string): string {
  return text.replace(/(?:%[0-9a-fA-F]{2})+/g, (escapes) => {
    try {
      return decodeURIComponent(escapes).replaceAll('/', slash)
    } catch {
      const bytes = escapes
        .slice(1)
        .split('%')
        .map((digits) => Number.parseInt(digits, 16))
      return String.fromCharCode(...bytes).replaceAll('/', slash)
    }
  })
}

function withoutDots(path: string): string {
  const kept: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop()
    else if (segment !== '' && segment !== '.') kept.push(segment)
  }
  return `/${kept.join('/')}`
}

/** As the URL standard resolves a path: an escaped dot is a dot, and nothing else is decoded. */
function asUrlPath(path: string): string {
  const kept: string[] = []
  for (const segment of path.replace(/^\//, '').split('/')) {
    const dots = segment.replace(/%2e/gi, '.')
    if (dots === '..') kept.pop()
    else if (dots !== '.') kept.push(segment)
  }
  return `/${kept.join('/')}`
}

/** A route that no request can match, or that is written in an unknown form. */
export class RouteError extends X402Error<'invalid_route'> {
  override name = 'RouteError'

  constructor(key: string, reason: string) {
    super('invalid_route', key === '' ? reason : `the route ${JSON.stringify(key)} ${reason}`)
  }
}
