/**
 * The extension `bazaar`: the seller describes what a paid route takes and returns, and who sells it, so that
 * catalogues can list the route and programs can call it. Buyers copy the description into their payments, and
 * facilitators read it there.
 */
import { Json } from '@latchkey/algorand'

/** The key of this extension in `extensions`. */
export const key = 'bazaar'

/** A JSON Schema as an object. */
export type JsonSchema = { readonly [name: string]: unknown }

/** The format of a request's body. */
export type BodyType = 'json' | 'form-data' | 'text'
/** The formats of bodies that catalogues know. */
export const bodyTypes: readonly BodyType[] = ['json', 'form-data', 'text']

/** Methods whose requests have a body. */
const bodyMethods = ['POST', 'PUT', 'PATCH']

/** The input and output of a route, for catalogues and for programs that call it. */
export type Description = {
  /** The query parameters. */
  readonly query?: JsonSchema | undefined
  /** Parameters in the path, by their names in the route. */
  readonly path?: JsonSchema | undefined
  readonly body?: JsonSchema | undefined
  readonly bodyType?: BodyType | undefined
  /** Example values of the input. */
  readonly example?:
    | {
        readonly query?: { readonly [name: string]: unknown } | undefined
        readonly body?: unknown
      }
    | undefined
  readonly output?: { readonly schema?: JsonSchema | undefined; readonly example?: unknown } | undefined
}

/** The request that is described: its method, and the values of the parameters in its path. */
export type DescribedRequest = {
  readonly method: string
  /** The path of the route with `:name` for each parameter; undefined for a route without parameters. */
  readonly routeTemplate?: string | undefined
  readonly pathParameters?: { readonly [name: string]: string } | undefined
}

/** In the `_meta` of a tool in `tools/list`: `true` if the tool has to be paid for, as Cloudflare's `agents` announce it. */
export const paidToolKey = 'agents-x402/paymentRequired'

/** The tool of an MCP server, for catalogues and for programs that call it. */
export type ToolDescription = {
  readonly toolName: string
  readonly description?: string | undefined
  /** The schema of the arguments. */
  readonly inputSchema: JsonSchema
  /** Example arguments. */
  readonly example?: { readonly [name: string]: unknown } | undefined
  readonly output?: Description['output']
}

/** The names of tools in catalogues: those that MCP recommends. */
const toolNamePattern = /^[A-Za-z0-9_.-]{1,128}$/

/** The name of the tool in the input of a description. The specification and the published packages differ in it. */
export function toolNameOf(input: { readonly [name: string]: unknown }): string | undefined {
  const name = input['toolName'] ?? input['tool']
  return typeof name === 'string' && toolNamePattern.test(name) ? name : undefined
}

/** The declaration that a seller adds to `extensions` of a PaymentRequired for a tool. */
export function toolDeclaration(described: ToolDescription): { readonly [key]: object } {
  const { toolName, description, inputSchema: argumentsSchema, example } = described
  const input = {
    type: 'mcp',
    toolName,
    ...(description === undefined ? {} : { description }),
    transport: 'streamable-http',
    inputSchema: argumentsSchema,
    ...(example === undefined ? {} : { example }),
  }
  const properties = {
    type: { type: 'string', const: 'mcp' },
    toolName: { type: 'string' },
    description: { type: 'string' },
    transport: { type: 'string', enum: ['streamable-http'] },
    inputSchema: { type: 'object' },
    example: { type: 'object' },
    // Crawlers look for the schema of the input where requests have their body, and reject a description without one.
    body: objectSchema(argumentsSchema),
  }
  const required = ['type', 'toolName', 'inputSchema']
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: {
      input: { type: 'object', properties, required, additionalProperties: false },
      ...outputSchema(described),
    },
    required: ['input'],
  }
  return { [key]: { info: { input, ...outputInfo(described) }, schema } }
}

/** The declaration that a seller adds to `extensions` of a PaymentRequired. */
export function declaration(described: Description, request: DescribedRequest): { readonly [key]: object } {
  const { routeTemplate } = request
  const info = { input: inputInfo(described, request), ...outputInfo(described) }
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { input: inputSchema(described, request), ...outputSchema(described) },
    required: ['input'],
  }
  return { [key]: { info, schema, ...(routeTemplate === undefined ? {} : { routeTemplate }) } }
}

/**
 * Completes a declaration made by other means, such as `declareDiscoveryExtension` of `@x402/extensions`: with the
 * method of the request, and with the parameters of its path.
 */
export function complete(declared: unknown, request: DescribedRequest): unknown {
  const { info, schema, ...others } = Json.isObject(declared) ? declared : {}
  const input = Json.isObject(info) ? info['input'] : undefined
  if (!Json.isObject(info) || !Json.isObject(input) || input['type'] !== 'http') return declared
  const { method, routeTemplate, pathParameters } = request
  const pathParams = pathParameters === undefined ? {} : { pathParams: pathParameters }
  const members = (parent: unknown, name: string): Json.Members => {
    const child = Json.isObject(parent) ? parent[name] : undefined
    return Json.isObject(child) ? child : {}
  }
  const properties = members(schema, 'properties')
  const inputSchema = members(properties, 'input')
  const inputProperties = members(inputSchema, 'properties')
  const completed = {
    ...(pathParameters === undefined ? {} : { pathParams: { type: 'object' } }),
    ...inputProperties,
    method: { type: 'string', enum: [method] },
  }
  return {
    ...others,
    info: { ...info, input: { ...input, method, ...pathParams } },
    schema: {
      ...(schema as Json.Members),
      properties: { ...properties, input: { ...inputSchema, properties: completed } },
    },
    ...(routeTemplate === undefined ? {} : { routeTemplate }),
  }
}

/**
 * The first reference of a schema that points out of its document. Resolving it would fetch an address that a stranger
 * chose.
 */
export function outsideReference(schema: unknown): string | undefined {
  if (!Json.isObject(schema) && !Array.isArray(schema)) return undefined
  for (const [name, value] of Object.entries(schema)) {
    const isReference = /^\$(ref|id|dynamicRef|recursiveRef)$/.test(name) && !Array.isArray(schema)
    if (isReference && typeof value === 'string' && !value.startsWith('#')) return value
    const inner = outsideReference(value)
    if (inner !== undefined) return inner
  }
  return undefined
}

/** Whether requests with a method have a body. */
export function hasBody(method: string): boolean {
  return bodyMethods.includes(method)
}

function inputInfo({ bodyType = 'json', example }: Description, { method, pathParameters }: DescribedRequest): object {
  return {
    type: 'http',
    method,
    ...(example?.query === undefined ? {} : { queryParams: example.query }),
    ...(pathParameters === undefined ? {} : { pathParams: pathParameters }),
    ...(hasBody(method) ? { bodyType, body: example?.body ?? {} } : {}),
  }
}

function inputSchema(described: Description, { method, pathParameters }: DescribedRequest): object {
  const { query, path, body } = described
  const properties = {
    type: { type: 'string', const: 'http' },
    method: { type: 'string', enum: [method] },
    // Crawlers reject a description without a schema of the input, even if only the path has parameters.
    ...(query === undefined && hasBody(method) ? {} : { queryParams: objectSchema(query) }),
    ...(pathParameters === undefined ? {} : { pathParams: objectSchema(path) }),
    ...(hasBody(method) ? { bodyType: { type: 'string', enum: bodyTypes }, body: body ?? {} } : {}),
  }
  const required = ['type', 'method', ...(hasBody(method) ? ['bodyType', 'body'] : [])]
  return { type: 'object', properties, required, additionalProperties: false }
}

function outputInfo({ output }: Pick<Description, 'output'>): object {
  return output?.example === undefined ? {} : { output: { type: 'json', example: output.example } }
}

function outputSchema({ output }: Pick<Description, 'output'>): object {
  if (output === undefined) return {}
  const example = output.schema ?? {}
  return {
    output: { type: 'object', properties: { type: { type: 'string' }, example }, required: ['type'] },
  }
}

/** Parameters are members of an object, even if their schema does not declare it. */
function objectSchema(schema: JsonSchema | undefined): object {
  return { type: 'object', ...schema }
}

/** The members of `resource` that say who sells it. */
export type Service = {
  /** The name of the service: 1 to 32 printable ASCII characters. */
  readonly serviceName?: string | undefined
  /** Up to five tags of 1 to 32 printable ASCII characters. */
  readonly tags?: readonly string[] | undefined
  /** The address of an image: `http` or `https`, with a host name. */
  readonly iconUrl?: string | undefined
}

const isShortText = /^[\x20-\x7e]{1,32}$/
const maxTags = 5
const maxIconUrlLength = 2_048
const localNames = ['localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback']

/** The members that follow the specification. The others are left out, as published packages do. */
export function validService(service: { readonly [name in keyof Service]?: unknown }): Service {
  const { serviceName, tags, iconUrl } = service
  const valid = Array.isArray(tags) ? distinctTags(tags.filter(isShort)) : []
  return {
    ...(isShort(serviceName) ? { serviceName } : {}),
    ...(valid.length === 0 ? {} : { tags: valid }),
    ...(isIconUrl(iconUrl) ? { iconUrl } : {}),
  }
}

/** The first member that does not follow the specification, and the reason. */
export function serviceProblem({ serviceName, tags, iconUrl }: Service): string | undefined {
  const text = '1 to 32 printable ASCII characters'
  if (serviceName !== undefined && !isShort(serviceName)) return `serviceName does not have ${text}`
  if (tags !== undefined && (!Array.isArray(tags) || tags.length > maxTags)) return `tags has more than ${maxTags}`
  if (tags?.some((tag) => !isShort(tag))) return `a tag does not have ${text}`
  if (iconUrl !== undefined && !isIconUrl(iconUrl)) return 'iconUrl is not an http or https address with a host name'
  return undefined
}

function isShort(value: unknown): value is string {
  return typeof value === 'string' && isShortText.test(value)
}

function distinctTags(tags: readonly string[]): readonly string[] {
  const distinct = new Map(tags.toReversed().map((tag) => [tag.toLowerCase(), tag]))
  return tags
    .filter((tag) => distinct.get(tag.toLowerCase()) === tag && distinct.delete(tag.toLowerCase()))
    .slice(0, maxTags)
}

/** The address is shown to people and loaded by their browsers, so it must not name a machine of theirs. */
function isIconUrl(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > maxIconUrlLength || !URL.canParse(value)) return false
  if (/[\p{Cc}\s\\]/u.test(value)) return false
  const { protocol, username, password, hostname } = new URL(value)
  const isWeb = protocol === 'https:' || protocol === 'http:'
  const host = hostname.toLowerCase().replace(/\.$/, '')
  const isNamed = /[a-z]/.test(host) && !host.startsWith('[') && !/^0x/.test(host)
  return isWeb && username === '' && password === '' && isNamed && !localNames.includes(host)
}

/** The `info` of a declaration or of a payment; undefined if there is none. */
export function infoOf(extensions: unknown): Json.Members | undefined {
  const extension = Json.isObject(extensions) ? extensions[key] : undefined
  const info = Json.isObject(extension) ? extension['info'] : undefined
  return Json.isObject(info) ? info : undefined
}
