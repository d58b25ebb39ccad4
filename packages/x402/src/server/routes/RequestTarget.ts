/**
 * A request target as programs read it: as it was sent, and as proxies, routers and handlers may normalize and decode it.
 */

const maxDecodings = 3
/** No honest path with escapes is longer. */
export const maxEscapedLength = 2_048
/**
 * No honest path is longer if programs see different segments in it. Each reading takes time in proportion to its
 * length.
 */
const maxUnusualLength = 256
/** No honest path has more places that programs read differently. Each of them multiplies the readings. */
const maxOddities = 8
/** Replaces an escaped slash where it does not end a segment. */
const innerSlash = '\u{2215}'

/**
 * The total number of characters of all texts derived from one path. The time is proportional to it, and a client that
 * has not paid must not cost the server much more than others.
 */
export class ReadingBudget {
  static readonly maxCharacters = 2_000
  #left = ReadingBudget.maxCharacters

  /** How many characters were used. */
  get used(): number {
    return ReadingBudget.maxCharacters - this.#left
  }

  /** Whether one more text may be created. */
  take({ length }: string): boolean {
    if (this.#left < length) return false
    this.#left -= length
    return true
  }
}

/** Whether every program reads the path unchanged. Most paths are plain and cost nothing. */
export function isPlainPath(path: string): boolean {
  return /^[\w/.~-]*$/.test(path) && !/\/\/|(^|\/)\.{1,2}(\/|$)/.test(path)
}

/** Whether every program reads the same path, apart from escapes of letters, and none finds a segment that moves up. */
export function isUnambiguousPath(path: string): boolean {
  return path.length <= maxEscapedLength && hasPlainSegments(path) && !/\/\/|(^|\/)\.{1,2}(\/|$)/.test(path)
}

/**
 * Whether every program sees the same segments, because none of the escapes is a separator, a dot or a percent sign.
 */
function hasPlainSegments(path: string): boolean {
  const pattern = /^(?:[\w/.~!$&'()*+,=:@-]|%(?!2[35ef]|3[bf]|5c|7f|[01][0-9a-f])[0-9a-f]{2})*$/i
  return pattern.test(path) && !/\/\/|(^|\/)\.{1,2}(\/|$)/.test(path)
}

function simpleReadings(path: string): Iterable<string> {
  const decoded = decode(path, '/')
  const readings = new Set<string>()
  addTrimmed(readings, decoded)
  for (const text of [path, decoded.toLowerCase()]) readings.add(trimSlashes(text))
  return readings
}

/** Adds a reading, and that of programs that ignore dots and spaces at the end of a segment, such as Windows and Caddy. */
function addTrimmed(readings: Set<string>, text: string): void {
  const reading = trimSlashes(text)
  readings.add(reading)
  if (/[. ](\/|$)/.test(reading)) readings.add(reading.replace(/(?<=[^/. ])[. ]+(?=\/|$)/g, ''))
}

/**
 * Everything that a reading of a path can contain: the path in each decoding, with its case folded. A reading is
 * created by decoding a path and removing parts of it between separators, so each of its segments is a part of this
 * text.
 */
export function foldedContent(path: string): string {
  const texts = [path]
  for (let round = 0; round < maxDecodings; round++) {
    const text = texts.at(-1)!
    const decoded = decode(text, '/')
    if (decoded === text) break
    texts.push(decoded)
  }
  return foldCase(texts.join('\n'))
}

/** Equal for texts that a regular expression with the flags `i` and `u` treats as equal. */
export function foldCase(text: string): string {
  return text.toUpperCase().toLowerCase().replaceAll('\u{3c2}', '\u{3c3}')
}

/** The path as it was sent, and as programs may read it; undefined if there are too many readings. */
export function readingsOf(target: string, budget = new ReadingBudget()): Iterable<string> | undefined {
  const path = target.replace(/\?.*$/s, '')
  const readings = new Set<string>()
  if (isPlainPath(path)) {
    addTrimmed(readings, path)
    return readings
  }
  if (path.length > maxEscapedLength) return undefined
  if (hasPlainSegments(path)) return simpleReadings(path)
  if (path.length > maxUnusualLength || countOddities(path) > maxOddities) return undefined
  const spelled = new Set<string>()
  const runs = new Map<string, string>()
  // Two slashes at the start begin a host if the path is read as a URL.
  let texts = new Set([path, path.replace(/^[/\\]{2,}[^/\\]*/, '')].flatMap(endings))
  for (let round = 0; round <= maxDecodings; round++) {
    // Some programs resolve dots before they decode, some afterwards, some never.
    texts = new Set([...texts].flatMap(resolutions))
    for (const text of texts) {
      if (!budget.take(text)) return undefined
      for (const spelling of new Set(spellings(text))) {
        if (spelled.has(spelling)) continue
        if (!budget.take(spelling)) return undefined
        spelled.add(spelling)
        addNormal(readings, spelling)
      }
    }
    const decoded = new Set([...texts].flatMap((text) => [decode(text, '/', runs), decode(text, innerSlash, runs)]))
    if ([...decoded].every((text) => texts.has(text))) break
    texts = decoded
  }
  return readings
}

function countOddities(path: string): number {
  return path.match(/%(?:2[35ef]|3[bf]|5c|7f|[01][0-9a-f])|[;\\#]|\/(?=\/)|\/\.{1,2}(?=\/|$)/gi)?.length ?? 0
}

/** Programs disagree about where a path ends, and about parameters of its segments. */
function endings(text: string): string[] {
  if (!/[?#;]/.test(text)) return [text]
  return [text, text.replace(/[?#].*$/s, ''), text.replace(/;.*$/s, ''), text.replace(/;[^/]*/g, '')]
}

function spellings(text: string): string[] {
  const variants = (one: string): string[] =>
    one.includes('\\') ? [one, one.replaceAll('\\', '/'), one.toLowerCase()] : [one, one.toLowerCase()]
  return endings(text).flatMap(variants)
}

/** Whether a path may have a segment of dots, or an empty one. */
function hasDots(text: string): boolean {
  return /[/\\](?:\.|%2e|[/\\]|$)/i.test(text)
}

/** In a URL, two dots also remove an empty segment: `/files//../a` is `/files/a`. */
function resolutions(text: string): string[] {
  if (!hasDots(text)) return [text]
  return [text, withoutDots(text), asUrlPath(text.replaceAll('\\', '/'))]
}

function addNormal(readings: Set<string>, text: string): void {
  if (!hasDots(text)) {
    addTrimmed(readings, text)
    return
  }
  for (const one of [text, asUrlPath(text)]) {
    addTrimmed(readings, one)
    if (one.includes('//')) addTrimmed(readings, one.replace(/\/+/g, '/'))
  }
  addTrimmed(readings, withoutDots(text))
}

/** Without a regular expression, which would retry at each of many slashes that are not at the end. */
export function trimSlashes(path: string): string {
  let end = path.length
  while (end > 0 && path[end - 1] === '/') end--
  return path.slice(0, end) || '/'
}

const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Decodes each run of escapes separately, so that an invalid one does not keep the others from being decoded. `runs`
 * caches decoded runs.
 */
function decode(text: string, slash: string, runs = new Map<string, string>()): string {
  if (!text.includes('%')) return text
  return text.replace(/(?:%[0-9a-fA-F]{2})+/g, (escapes) => {
    const decoded = runs.get(escapes) ?? decodeRun(escapes)
    runs.set(escapes, decoded)
    return slash === '/' ? decoded : decoded.replaceAll('/', slash)
  })
}

/** Decodes as UTF-8, or else as Latin-1. Avoids `decodeURIComponent`, whose errors take longer than everything else. */
function decodeRun(escapes: string): string {
  const bytes = new Uint8Array(escapes.length / 3)
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = Number.parseInt(escapes.slice(3 * index + 1, 3 * index + 3), 16)
  }
  if (bytes.every((byte) => byte < 0x80)) return String.fromCharCode(...bytes)
  const decoded = utf8.decode(bytes)
  // The decoder writes a replacement character for invalid bytes, and for the character itself.
  const replaced = decoded.split('\u{fffd}').length
  return replaced === escapes.split(/%ef%bf%bd/i).length ? decoded : String.fromCharCode(...bytes)
}

function withoutDots(path: string): string {
  const kept: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop()
    else if (segment !== '' && segment !== '.') kept.push(segment)
  }
  return `/${kept.join('/')}`
}

/** Resolves a path as the URL standard does: an escaped dot is a dot, and nothing else is decoded. */
function asUrlPath(path: string): string {
  const kept: string[] = []
  for (const segment of path.replace(/^\//, '').split('/')) {
    const dots = segment[0] === '.' || segment[0] === '%' ? segment.slice(0, 7).replace(/%2e/gi, '.') : segment
    if (dots === '..') kept.pop()
    else if (dots !== '.') kept.push(segment)
  }
  return `/${kept.join('/')}`
}

/** The readings of a path, and how many of their first segments may be removed. */
export type Readings = ReadonlyMap<string, number>

/**
 * The readings of a path, and how many of their first segments may be removed; undefined if there are too many. A
 * mounted program reads the rest of the path separately: the rest may start with two slashes, and its dots do not leave
 * the prefix.
 */
export function mountedReadings(target: string, depth: number, budget: ReadingBudget): Readings | undefined {
  const path = target.replace(/\?.*$/s, '')
  const readings = new Map<string, number>()
  const add = (reading: string, below: number): boolean => {
    const before = readings.get(reading)
    if (before === undefined && !isPlainPath(path) && !budget.take(reading)) return false
    readings.set(reading, Math.max(before ?? 0, below))
    return true
  }
  for (const [removed, rest] of formsOf(path, depth).entries()) {
    const [ofRest, ofPrefix] = [rest, path.slice(0, path.length - rest.length)].map((one) => readingsOf(one, budget))
    if (ofRest === undefined || ofPrefix === undefined) return undefined
    const prefixes = removed === 0 ? [] : [...ofPrefix].filter((prefix) => prefix !== '/')
    for (const reading of ofRest) {
      if (!add(reading, depth - removed)) return undefined
      if (!prefixes.every((prefix) => add(`${prefix}${reading}`, depth))) return undefined
    }
  }
  return readings
}

/** The path, and the path without its first segments. */
export function formsOf(path: string, depth: number): string[] {
  const forms = [path]
  for (let rest = path; forms.length <= depth && rest !== '/'; ) {
    rest = rest.replace(/^\/+[^/]*/, '') || '/'
    forms.push(rest)
  }
  return forms
}

type TargetRules = {
  /** Whether a function chooses the price or the payee. Every parameter then counts, including its spelling. */
  readonly isPricedByFunction: boolean
  /** Whether a parameter may still be repeated. */
  readonly allowsRepeated: boolean
}

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

/**
 * Query parsers keep text that they cannot decode, replace it, or throw. The result uses the decoded text, because
 * bundlers remove a call of this function whose value is not used.
 */
function isDecodable(text: string): boolean {
  if (!text.includes('%')) return true
  try {
    return decodeURIComponent(text).length <= text.length
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
