const overrideHeaders = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']

/** No program sends more; each is compared with every route. */
export const maxOverrides = 4

/**
 * Methods that a program behind the gate may use in place of the request's own, each once; more than {@link maxOverrides} are
 * not all read. The query is decoded first: `%5Fmethod` is the same parameter, and `_method[]` is for parsers of lists.
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

function ofQuery({ url }: Request): string[] {
  // For some programs, a semicolon or a number sign starts the query, or separates parameters.
  const start = url.search(/[?;#]/)
  const query = start === -1 ? '' : url.slice(start + 1)
  if (!/_method|%/i.test(query)) return []
  const texts = /[;#]/.test(query) ? [query, query.replaceAll(/[;#]/g, '&')] : [query]
  const parameters = texts.flatMap((text) => [...new URLSearchParams(text)])
  return parameters.filter(([name]) => /^_method(\[.*)?$/i.test(name.trim())).map(([, value]) => value)
}
