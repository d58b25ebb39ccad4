const overrideHeaders = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']

/** No program sends more. Each one is compared with every route. */
export const maxOverrides = 4

/**
 * Methods that a program behind the gate may use instead of the request's own, without duplicates. If there are more
 * than {@link maxOverrides}, not all are read. The query is decoded first, because `%5Fmethod` is the same parameter.
 * `_method[]` is for parsers of lists.
 */
export function overridesOf(request: Request): string[] {
  const methods = new Set<string>()
  for (const value of [...ofHeaders(request), ...ofQuery(request)]) {
    for (const method of value.split(',')) if (method.trim() !== '') methods.add(method.trim().toUpperCase())
    if (methods.size > maxOverrides) break
  }
  return [...methods]
}

function ofHeaders({ headers }: Request): string[] {
  return overrideHeaders.map((name) => headers.get(name) ?? '')
}

/** The limit on parameter names that must be decoded because they may be `_method`. No honest query has more. */
const maxDecodedNames = 50

function ofQuery({ url }: Request): string[] {
  // For some programs, a semicolon or a number sign starts the query, or separates parameters.
  const start = url.search(/[?;#]/)
  if (start === -1 || !/_method|%/i.test(url)) return []
  const candidates = url
    .slice(start + 1)
    .split(/[&;#?]/)
    .filter((parameter) => /^(?:[\s+_]|%[25])/.test(parameter))
  // More than allowed, so that the request is refused.
  if (candidates.length > maxDecodedNames)
    return Array.from({ length: maxOverrides + 1 }, (_, index) => `UNKNOWN${index}`)
  return candidates
    .flatMap((parameter) => [...new URLSearchParams(parameter)])
    .filter(([name]) => /^_method(\[.*)?$/i.test(name.trim()))
    .map(([, value]) => value)
}
