const overrideHeaders = ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']

/** Methods that a program behind the gate may use in place of the request's own. */
export function overridesOf({ headers, url }: Request): string[] {
  const fromQuery = url.includes('_method') ? new URL(url).searchParams.getAll('_method') : []
  return [...overrideHeaders.map((name) => headers.get(name) ?? ''), ...fromQuery]
    .flatMap((value) => value.split(','))
    .map((value) => value.trim())
    .filter((value) => value !== '')
}
