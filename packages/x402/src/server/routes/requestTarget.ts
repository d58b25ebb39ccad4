/**
 * Checks that every program behind the gate reads the request target in the same way. RFC 9112, section 3.2, allows no
 * fragment. A target is ambiguous if the URL standard, the routers and the frameworks' query parsers read it
 * differently. A client could then be shown the price of one resource and be served another.
 */

export type TargetRules = {
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
 * The reason why programs may read a target differently; undefined if all read the same. `origin` is that of the Host
 * header.
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
  if (query.split('&', maxParameters + 1).length > maxParameters) return `has more than ${maxParameters} parameters`
  // The constructor removes the first question mark.
  const names = [...new URLSearchParams(`?${query}`).keys()]
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
