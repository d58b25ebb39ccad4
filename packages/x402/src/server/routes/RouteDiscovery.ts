/** The seller's description of a route for catalogues and callers: the extension `bazaar` of its 402. */
import { Json } from '@latchkey/algorand'
import { Discovery, PaymentPass, PaymentSecret } from '@latchkey/x402-wire'
import { OptionsError } from '../../errors.js'
import type { GateRequest } from './GateRequest.js'

/** A JSON Schema, or a schema of a library that can write one: see https://standardschema.dev/json-schema. */
export type RouteSchema = Discovery.JsonSchema | StandardJsonSchema

/** A schema of a library, such as Zod, Valibot or ArkType. */
export type StandardJsonSchema = {
  readonly '~standard': {
    readonly jsonSchema: {
      readonly input: (options: { readonly target: 'draft-2020-12' }) => { [name: string]: unknown }
      readonly output: (options: { readonly target: 'draft-2020-12' }) => { [name: string]: unknown }
    }
  }
}

/** The input of a route. */
export type RouteInput = {
  /** The query parameters. */
  readonly query?: RouteSchema | undefined
  /** The parameters in the path of the route, such as `id` of `/items/:id`. */
  readonly path?: RouteSchema | undefined
  /** The body. Requires `example.body`. */
  readonly body?: RouteSchema | undefined
  /** @default 'json' */
  readonly bodyType?: Discovery.BodyType | undefined
  /** Example values, with which a program can try the route. */
  readonly example?: Discovery.Description['example']
}

/** The output of a route. */
export type RouteOutput = {
  readonly schema?: RouteSchema | undefined
  readonly example?: unknown
}

/** The options of a route that describe it. */
export type DescribedRoute = Discovery.Service & {
  /**
   * The input of the route. Catalogues list routes with `input` or `output`.
   *
   * @default not described
   */
  readonly input?: RouteInput | undefined
  /**
   * The output of the route.
   *
   * @default not described
   */
  readonly output?: RouteOutput | undefined
  /**
   * Extensions of the protocol to declare in the 402, by their keys, such as those that `declareDiscoveryExtension` of
   * `@x402/extensions` returns.
   *
   * @default {}
   */
  readonly extensions?: { readonly [key: string]: unknown } | undefined
  /**
   * The URL that offers and receipts name, if it is not the URL of the request: for example, the address of an MCP server
   * with the name of a tool as its fragment. It identifies the route: payments for another one are refused.
   *
   * @default the URL of the request
   */
  readonly resource?: string | undefined
}

/** How many segments of a path may precede the key of a route. */
const maxPrefix = 16
/** Extensions that the gate declares itself. */
const reserved = [PaymentSecret.key, PaymentPass.key]

/** The description of one route, checked once. */
export class RouteDiscovery {
  readonly service: Discovery.Service
  /** The URL in offers; undefined if it is the one of the request. */
  readonly resource: string | undefined
  readonly description: Discovery.Description | undefined
  /** The segments of the route's path: `:name` for parameters, `:var1`, `:var2` for wildcards. */
  readonly template: readonly string[]
  /** Whether the route declares extensions. */
  readonly isDeclared: boolean
  readonly #segments: readonly string[]
  readonly #extensions: { readonly [key: string]: unknown }

  /** @throws OptionsError for a member that catalogues would drop */
  constructor(key: string, route: DescribedRoute, service: Discovery.Service = {}) {
    const { serviceName = service.serviceName, tags = service.tags, iconUrl = service.iconUrl } = route
    const own = { serviceName, tags, iconUrl }
    const problem = Discovery.serviceProblem(own)
    if (problem !== undefined) throw new OptionsError(problem, 'Catalogues would leave it out.')
    this.service = Discovery.validService(own)
    this.resource = checkedResource(route.resource)
    this.description = descriptionOf(key, route)
    this.#segments = segmentsOf(key.replace(/^\s*[A-Za-z]+\s+/, ''))
    this.template = nameWildcards(this.#segments)
    this.#extensions = checkedExtensions(route.extensions ?? {})
    this.isDeclared = this.description !== undefined || Object.keys(this.#extensions).length > 0
  }

  /** The extensions that the 402 of a request declares for its route. */
  extensions({ method, url }: Pick<GateRequest, 'method' | 'url'>): { readonly [key: string]: unknown } {
    const request = { method, ...this.#placeOf(url.pathname) }
    const described = this.description === undefined ? {} : Discovery.declaration(this.description, request)
    const { [Discovery.key]: declared, ...others } = this.#extensions
    const completed = declared === undefined ? {} : { [Discovery.key]: Discovery.complete(declared, request) }
    return { ...others, ...completed, ...described }
  }

  /** The template of the path and the values of its parameters; nothing for a route without parameters. */
  #placeOf(pathname: string): Pick<Discovery.DescribedRequest, 'routeTemplate' | 'pathParameters'> {
    const named = this.template
    if (!named.some((segment) => segment.startsWith(':')) || named.every((segment) => segment === ':var1')) return {}
    const path = segmentsOf(pathname)
    for (let prefix = 0; prefix <= Math.min(maxPrefix, path.length); prefix++) {
      const values = match(this.#segments, named, path.slice(prefix))
      if (values === undefined) continue
      const routeTemplate = `/${[...path.slice(0, prefix), ...named].join('/')}`
      return { routeTemplate, pathParameters: values }
    }
    return {}
  }
}

function descriptionOf(key: string, { input, output, extensions }: DescribedRoute): Discovery.Description | undefined {
  if (input === undefined && output === undefined) return undefined
  if (extensions?.[Discovery.key] !== undefined) {
    throw new OptionsError(`the route is described twice: by input or output, and by extensions.${Discovery.key}`)
  }
  const { query, path, body, bodyType, example } = input ?? {}
  if (bodyType !== undefined && !Discovery.bodyTypes.includes(bodyType)) {
    throw new OptionsError(`input.bodyType cannot be ${JSON.stringify(bodyType)}`, 'Use "json", "form-data" or "text".')
  }
  if (body !== undefined && example?.body === undefined) {
    throw new OptionsError('input.body has no example', 'Set input.example.body: catalogues require one.')
  }
  if (body !== undefined && /^\s*(GET|DELETE)\s/i.test(key)) {
    throw new OptionsError('input.body is set, but requests of this method have no body', 'Use input.query.')
  }
  return {
    query: jsonSchema(query, 'input', 'input.query'),
    path: jsonSchema(path, 'input', 'input.path'),
    body: jsonSchema(body, 'input', 'input.body'),
    bodyType,
    example,
    output:
      output === undefined
        ? undefined
        : { schema: jsonSchema(output.schema, 'output', 'output.schema'), example: output.example },
  }
}

function jsonSchema(
  schema: RouteSchema | undefined,
  side: 'input' | 'output',
  name: string,
): Discovery.JsonSchema | undefined {
  if (schema === undefined) return undefined
  const isCallable = typeof schema === 'function'
  if (!isCallable && !Json.isObject(schema)) {
    throw new OptionsError(`${name} is not a schema`, 'Pass a JSON Schema as an object.')
  }
  const standard = (schema as Partial<StandardJsonSchema>)['~standard']
  if (standard === undefined && !isCallable) return checkedReferences(schema as Discovery.JsonSchema, name)
  if (typeof standard?.jsonSchema?.[side] !== 'function') {
    throw new OptionsError(
      `${name} is a schema that cannot write JSON Schema`,
      'Use a version of its library with `~standard.jsonSchema`, or convert it first, as `z.toJSONSchema(schema)` does.',
    )
  }
  return checkedReferences(standard.jsonSchema[side]({ target: 'draft-2020-12' }), name)
}

/** Facilitators refuse schemas that refer to other documents, because resolving them would fetch what a stranger names. */
function checkedReferences(schema: Discovery.JsonSchema, name: string): Discovery.JsonSchema {
  const { $schema: _, ...rest } = schema
  const outside = Discovery.outsideReference(rest)
  if (outside === undefined) return rest
  throw new OptionsError(
    `${name} refers to another document: ${outside.slice(0, 100)}`,
    'Write the schema in one piece.',
  )
}

function checkedExtensions(extensions: { readonly [key: string]: unknown }): { readonly [key: string]: unknown } {
  for (const [key, value] of Object.entries(extensions)) {
    if (reserved.includes(key)) throw new OptionsError(`extensions.${key} is reserved: the gate declares it`)
    if (!Json.isObject(value)) throw new OptionsError(`extensions.${key} is not an object`)
  }
  return extensions
}

/** The longest URL that a receipt can name. */
const maxResourceLength = 2_048

function checkedResource(resource: string | undefined): string | undefined {
  if (resource === undefined) return undefined
  const url = typeof resource === 'string' && URL.canParse(resource) ? new URL(resource) : undefined
  const isPlain = url?.username === '' && url.password === '' && resource.length <= maxResourceLength
  if (isPlain && /^(https?|mcp):$/.test(url.protocol)) return url.href
  throw new OptionsError(`resource cannot be ${JSON.stringify(resource)}`, 'Pass an absolute http or https URL.')
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '')
}

/** The segments of a route as a template: `:name` for parameters, `:var1`, `:var2` for wildcards. */
function nameWildcards(segments: readonly string[]): string[] {
  let count = 0
  return segments.map((segment) => {
    if (segment.includes('*')) return `:var${++count}`
    return segment.replace(/^\[(\w+)\]$/, ':$1')
  })
}

/** The values of the parameters of a path; undefined if the path does not match. A last wildcard takes the rest. */
function match(
  segments: readonly string[],
  named: readonly string[],
  path: readonly string[],
): { readonly [name: string]: string } | undefined {
  const isOpen = segments.at(-1)?.includes('*') === true
  if (isOpen ? path.length < segments.length - 1 : path.length !== segments.length) return undefined
  const values: { [name: string]: string } = {}
  for (const [index, name] of named.entries()) {
    const value = isOpen && index === named.length - 1 ? path.slice(index).join('/') : path[index]!
    if (name.startsWith(':')) values[name.slice(1)] = decoded(value)
    else if (name.toLowerCase() !== decoded(value).toLowerCase()) return undefined
  }
  return values
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
