/** The readings of a path: as it was sent, and as proxies, routers and handlers may normalize and decode it. */

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
  return new Set([path, decoded, decoded.toLowerCase()].map(trimSlashes))
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
  if (isPlainPath(path)) return [trimSlashes(path)]
  if (path.length > maxEscapedLength) return undefined
  if (hasPlainSegments(path)) return simpleReadings(path)
  if (path.length > maxUnusualLength || countOddities(path) > maxOddities) return undefined
  const readings = new Set<string>()
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
    readings.add(trimSlashes(text))
    return
  }
  for (const one of [text, asUrlPath(text)]) {
    readings.add(trimSlashes(one))
    if (one.includes('//')) readings.add(trimSlashes(one.replace(/\/+/g, '/')))
  }
  readings.add(withoutDots(text))
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
