/**
 * Methods that a program behind the gate may use instead of the request's own: from headers, from the query, and, behind
 * a gateway, from the body. Names are compared as the most lenient program reads them, so that gate, gateway and service
 * cannot disagree.
 */

/** The parts of a request that may name another method. */
export type OverridingRequest = {
  readonly url: string
  /** Pairs of names and values, such as `Headers`. */
  readonly headers: Iterable<readonly [string, string]>
}

/** No program sends more. Each one is compared with every route. */
export const maxOverrides = 4

/**
 * The name of the variable in which servers of CGI, WSGI, Rack or PHP pass a header, without its prefix. Each of them
 * replaces some of the characters that are not letters or digits by underscores; together they replace all.
 */
export function variableName(header: string): string {
  return header.toUpperCase().replace(/[^A-Z0-9]/g, '_')
}

const overrideVariable = /^(X_)?(HTTP_METHOD(_OVERRIDE)?|METHOD_OVERRIDE|REQUEST_METHOD)$/
/** Most names are excluded by this without being changed. */
const mayOverride = /method/i

/** Whether a program may read the method from a header of this name. */
export function isOverrideHeader(name: string): boolean {
  return mayOverride.test(name) && overrideVariable.test(variableName(name))
}

/**
 * Whether a program may read the method from a parameter of this name: `_method` in any case, or the name of the header,
 * which ASP.NET MVC reads from queries and forms. Programs ignore spaces, brackets, question marks and other characters
 * before and after the name, end it at a NUL, and read a dot or an open bracket as an underscore. So every name counts
 * that contains `_method` as a word of its own. `payment_method` and `shipping[method]` are other names.
 *
 * @param name the decoded name
 */
export function isOverrideParameter(name: string): boolean {
  return overrideWord.test(name) || (name.includes('\0') && overrideWord.test(name.replaceAll('\0', '')))
}

const overrideWord = /(?<![a-z0-9_])([_.[]|x[-_.]http[-_.])method(?![a-z0-9_])/i

/**
 * Methods that a program behind the gate may use instead of the request's own, without duplicates. If there are more
 * than {@link maxOverrides}, not all are read.
 */
export function overridesOf(request: OverridingRequest): string[] {
  const methods = new Set<string>()
  for (const value of [...ofHeaders(request), ...ofQuery(request)]) {
    for (const method of value.split(',')) if (method.trim() !== '') methods.add(method.trim().toUpperCase())
    if (methods.size > maxOverrides) break
  }
  return [...methods]
}

function ofHeaders({ headers }: OverridingRequest): string[] {
  const values: string[] = []
  for (const [name, value] of headers) if (isOverrideHeader(name)) values.push(value)
  return values
}

/** The limit on parameter names that must be decoded because they may be `_method`. No honest query has more. */
const maxDecodedNames = 50

/**
 * A parameter whose name may be `_method` after it is decoded: `%5Fmethod` is the same parameter. For some programs, a
 * semicolon or a number sign starts the query, or separates parameters.
 */
const candidate = /[?;#&](x?[^A-Za-z0-9&;#?=][^&;#?]*)/gi

function ofQuery({ url }: OverridingRequest): string[] {
  const start = url.search(/[?;#]/)
  if (start === -1 || !/[_.[-]method|%/i.test(url)) return []
  const parameters: string[] = []
  for (const [, parameter] of url.slice(start).matchAll(candidate)) {
    parameters.push(parameter!)
    // More than allowed, so that the request is refused.
    if (parameters.length > maxDecodedNames)
      return Array.from({ length: maxOverrides + 1 }, (_, index) => `UNKNOWN${index}`)
  }
  return parameters
    .flatMap((parameter) => [...new URLSearchParams(parameter)])
    .filter(([name]) => isOverrideParameter(name))
    .map(([, value]) => value)
}
