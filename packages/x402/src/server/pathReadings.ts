/** The readings of a path: as it was sent, and as proxies, routers and handlers may normalize and decode it. */

const maxDecodings = 3
/** No honest path is beyond these limits, and reading it would take long. */
const maxUnusualLength = 2_048
const maxTexts = 64
/** Replaces an escaped slash where it does not end a segment. */
const innerSlash = '\u{2215}'

/** A path as it was sent, and as programs may read it; undefined if there are too many readings. */
export function readingsOf(target: string): Iterable<string> | undefined {
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

/** Not by a regular expression, which would try again at each of many slashes that are not at the end. */
export function trimSlashes(path: string): string {
  let end = path.length
  while (end > 0 && path[end - 1] === '/') end--
  return path.slice(0, end) || '/'
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
