/**
 * Which requests have to be paid for. What two programs could read differently counts as paid in every reading: a path
 * with escapes, double slashes, dots, another case or a slash at its end never opens a route, nor a dear one for the
 * price of a cheap one.
 */
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
  /** One reading is a route, another is another one, or there are too many: what would be served cannot be told. */
  | { readonly type: 'ambiguous' }

export class RouteTable<T> {
  readonly #routes: readonly Compiled<T>[]

  /** Throws a RouteError for a key that no request could ever match. */
  constructor(routes: { readonly [key: RouteKey]: T }) {
    const compiled: Compiled<T>[] = []
    for (const [key, value] of Object.entries(routes)) {
      const route = compile(key, value)
      const earlier = compiled.find((one) => covers(one, route))
      if (earlier !== undefined)
        throw new RouteError(key, `is never reached: ${JSON.stringify(earlier.key)} comes before it`)
      compiled.push(route)
    }
    if (compiled.length === 0) throw new RouteError('', 'there is no route')
    this.#routes = compiled
  }

  /** The first route for a reading of the path; `undefined` if there is none for any. */
  match(method: string, path: string): Match<T> | undefined {
    // A HEAD runs what a GET runs; and what is not known to be harmless is taken for anything.
    const asked = method.toUpperCase() === 'HEAD' ? 'GET' : method.toUpperCase()
    const isOrdinary = (methods as readonly string[]).includes(asked)
    const able = this.#routes.filter(({ method: own }) => own === undefined || own === asked || !isOrdinary)
    if (able.length === 0) return undefined
    const readings = readingsOf(path)
    if (readings === undefined) return { type: 'ambiguous' }
    const found = new Set<Compiled<T>>()
    for (const reading of readings) {
      const route = able.find(({ pattern }) => pattern.test(reading))
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
  if (path === undefined) throw new RouteError(key, 'is not like "GET /weather"')
  const method = verb === undefined ? undefined : methods.find((one) => one === verb.toUpperCase())
  if (verb !== undefined && method === undefined)
    throw new RouteError(key, `names the method ${verb}, which is not one of ${methods.join(', ')}`)
  if (path !== '*' && !path.startsWith('/')) throw new RouteError(key, 'has a path that does not begin with a slash')
  if (/[?#%\\;]|\/\/|\/\.{1,2}(\/|$)/.test(path)) {
    throw new RouteError(key, 'has a path that no request has: without query, escapes, dots and double slashes')
  }
  // What other routers read as a pattern would be taken by the letter here, and protect nothing.
  const odd = path.split('/').find((segment) => !isParameter(segment) && /[:[\](){}]/.test(segment))
  if (odd !== undefined) {
    throw new RouteError(key, `has ${JSON.stringify(odd)}; a parameter is a whole segment, like :name or [name]`)
  }
  return { key, method, pattern: patternOf(path), value }
}

function isParameter(segment: string): boolean {
  return /^(:\w+|\[\w+\])$/.test(segment)
}

function patternOf(path: string): RegExp {
  if (path === '*') return /^/
  const source = trimmed(path)
    .split('/')
    .map((segment) => (isParameter(segment) ? '[^/]+' : wildcards(segment)))
    .join('/')
  // A route for everything under a path is one for the path itself.
  return new RegExp(`^${source.replace(/\/\.\*$/, '(?:/.*)?')}$`, 'isu')
}

/** `*name` is what some routers write for `*`. */
function wildcards(segment: string): string {
  return /^\*\w*$/.test(segment) ? '.*' : segment.split('*').map(escapeText).join('.*')
}

function escapeText(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}

/** Whether no request could get past the one to the other: tried with what nobody would name. */
function covers<T>(earlier: Compiled<T>, later: Compiled<T>): boolean {
  if (earlier.method !== undefined && earlier.method !== later.method) return false
  const path = later.key.trim().replace(/^[A-Za-z]+ +/, '')
  const sample = path
    .split('/')
    .map((segment) => (isParameter(segment) ? '\u{1}' : segment.replace(/^\*\w*$|\*/g, '\u{1}/\u{2}')))
    .join('/')
  return earlier.pattern.test(trimmed(sample))
}

const maxDecodings = 3
/** Beyond these a path is no honest one, and looking at it takes long. */
const maxOddLength = 2_048
const maxTexts = 64
/** Stands for a slash that was written as an escape, where that does not end a segment. */
const innerSlash = '\u{2215}'

/** A path as it was sent and as it may be understood; undefined if it may be understood in too many ways. */
function readingsOf(target: string): Iterable<string> | undefined {
  const path = target.replace(/\?.*$/s, '')
  if (/^[\w/.~-]*$/.test(path) && !/\/\/|(^|\/)\.{1,2}(\/|$)/.test(path)) return [trimmed(path)]
  if (path.length > maxOddLength) return undefined
  const readings = new Set<string>()
  // Two slashes at the start begin a host, for those who read the path as an address.
  let texts = new Set([path, path.replace(/^[/\\]{2,}[^/\\]*/, '')].flatMap(endings))
  for (let round = 0; round <= maxDecodings; round++) {
    // Dots are resolved by some before they decode, by some afterwards, by some never.
    texts = new Set([...texts].flatMap(resolutions))
    if (texts.size > maxTexts) return undefined
    for (const text of texts) for (const spelling of spellings(text)) addNormal(readings, spelling)
    const decoded = new Set([...texts].flatMap((text) => [decode(text, '/'), decode(text, innerSlash)]))
    if ([...decoded].every((text) => texts.has(text))) break
    texts = decoded
  }
  return readings
}

/** Where the path ends, and what in it is no part of its segments, is read in several ways. */
function endings(text: string): string[] {
  return [text, text.replace(/[?#].*$/s, ''), text.replace(/;.*$/s, ''), text.replace(/;[^/]*/g, '')]
}

function spellings(text: string): string[] {
  return endings(text).flatMap((one) => [one, one.replaceAll('\\', '/'), one.toLowerCase()])
}

/** Also with what addresses make of it, where dots take back an empty segment: `/files//../a` is `/files/a`. */
function resolutions(text: string): string[] {
  return [text, withoutDots(text), asAddress(text.replaceAll('\\', '/'))]
}

function addNormal(readings: Set<string>, text: string): void {
  for (const one of [text, asAddress(text)]) {
    readings.add(trimmed(one))
    readings.add(trimmed(one.replace(/\/+/g, '/')))
  }
  readings.add(withoutDots(text))
}

function trimmed(path: string): string {
  return path.replace(/\/+$/, '') || '/'
}

/** Piece by piece: one escape that is none does not keep the others from being read. */
function decode(text: string, slash: string): string {
  return text.replace(/(?:%[0-9a-fA-F]{2})+/g, (escapes) => {
    try {
      return decodeURIComponent(escapes).replaceAll('/', slash)
    } catch {
      return Buffer.from(escapes.replaceAll('%', ''), 'hex').toString('latin1').replaceAll('/', slash)
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

/** As the URL standard has it: an escaped dot is a dot, and nothing else is decoded. */
function asAddress(path: string): string {
  const kept: string[] = []
  for (const segment of path.replace(/^\//, '').split('/')) {
    const dots = segment.replace(/%2e/gi, '.')
    if (dots === '..') kept.pop()
    else if (dots !== '.') kept.push(segment)
  }
  return `/${kept.join('/')}`
}

export class RouteError extends Error {
  override name = 'RouteError'

  constructor(key: string, reason: string) {
    super(key === '' ? reason : `the route ${JSON.stringify(key)} ${reason}`)
  }
}
