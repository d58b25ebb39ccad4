/** Reads the routes that a gateway sells from the options of the command and from a file. */
import { readFileSync } from 'node:fs'
import { Json } from '@latchkey/algorand'
import type { PayerLimit } from '@latchkey/x402/gateway'
import type { DiscoveryOptions, GateOptions, Route } from '@latchkey/x402/server'
import type { Option } from '../Command.js'
import { CommandError, UsageError } from '../errors.js'
import { quoted } from '../format.js'
import type { TlsFiles } from './server.js'

export const gatewayOptions = {
  upstream: { type: 'string', placeholder: 'URL', description: 'address of the service to sell' },
  price: {
    type: 'string',
    multiple: true,
    placeholder: 'ROUTE=PRICE',
    description: "price of a route, such as 'GET /v1/*=$0.01'; repeatable, specific routes first",
  },
  'pay-to': { type: 'string', placeholder: 'ADDRESS', description: 'address that receives the payments' },
  free: {
    type: 'string',
    multiple: true,
    placeholder: 'ROUTE',
    description: 'route that is forwarded unpaid; repeatable. Requests to other paths are refused with 404',
  },
  facilitator: { type: 'string', placeholder: 'URL', description: 'address of a facilitator (FACILITATOR_URL)' },
  config: {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'JSON file with these settings and more; SIGHUP reads it again',
  },
  'tls-cert': {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'certificate chain in PEM format: clients connect with TLS, HTTP/1.1 or HTTP/2. SIGHUP reads it again',
  },
  'tls-key': {
    type: 'string',
    placeholder: 'FILE',
    completes: 'file',
    description: 'private key of --tls-cert, in PEM format',
  },
} as const satisfies { [name: string]: Option }

type Values = {
  readonly upstream?: string | undefined
  readonly price?: string[] | undefined
  readonly 'pay-to'?: string | undefined
  readonly free?: string[] | undefined
  readonly facilitator?: string | undefined
  readonly config?: string | undefined
  readonly 'tls-cert'?: string | undefined
  readonly 'tls-key'?: string | undefined
}
type Environment = { readonly [name: string]: string | undefined }

/** The settings of a gateway. */
export type GatewaySettings = Pick<GateOptions, 'service' | 'networkIds' | 'origin' | 'cors' | 'passes'> & {
  readonly upstream: string
  readonly facilitator: string
  readonly routes: { readonly [key: string]: Route }
  readonly free: readonly string[]
  /** Headers of each request to the service. */
  readonly headers: { readonly [name: string]: string }
  readonly timeoutMs: number | undefined
  readonly perPayer: PayerLimit | undefined
  readonly discovery: DiscoveryOptions | undefined
  /** Undefined if clients connect without TLS. */
  readonly tls: TlsFiles | undefined
}

/** Members of the file. Others are refused, because a misspelled one would leave a route unpaid. */
const members = [
  'upstream',
  'payTo',
  'facilitator',
  'routes',
  'free',
  'headers',
  'timeoutSeconds',
  'perPayer',
  'service',
  'discovery',
  'networkIds',
  'origin',
  'cors',
  'passes',
  'tls',
]
/** Members of a route in the file that belong to its offer. */
const offerMembers = ['price', 'payTo', 'maxTimeoutSeconds', 'paymentFlow']
const routeMembers = [
  'description',
  'mimeType',
  'input',
  'output',
  'serviceName',
  'tags',
  'iconUrl',
  'passes',
  'settleFirstAbove',
  'otherMethods',
]
const maxFileBytes = 1024 * 1024

/**
 * Reads the settings. Options replace the members of the file, except that routes and free routes are added to it.
 *
 * @throws UsageError if an option is missing or has an invalid value
 * @throws CommandError if the file cannot be read or used
 */
export function readSettings(options: Values, environment: Environment): GatewaySettings {
  const file = options.config === undefined ? {} : readFile(options.config)
  const upstream = options.upstream ?? text(file, 'upstream')
  if (upstream === undefined) throw missing('--upstream', 'the address of the service')
  const facilitator = options.facilitator ?? text(file, 'facilitator') ?? (environment['FACILITATOR_URL'] || undefined)
  if (facilitator === undefined) throw missing('--facilitator', 'the address of a facilitator')
  const payTo = options['pay-to'] ?? text(file, 'payTo')
  const routes = { ...routesOf(objectIn(file, 'routes'), payTo), ...pricesOf(options.price ?? [], payTo) }
  if (Object.keys(routes).length === 0) throw missing('--price', "a route and its price, such as 'GET /v1/*=$0.01'")
  const seconds = file['timeoutSeconds']
  return {
    upstream,
    facilitator,
    routes,
    free: [...list(file, 'free'), ...(options.free ?? [])],
    headers: headersOf(objectIn(file, 'headers'), environment),
    timeoutMs: typeof seconds === 'number' ? seconds * 1000 : undefined,
    perPayer: file['perPayer'] as PayerLimit | undefined,
    service: file['service'] as GateOptions['service'],
    discovery: file['discovery'] as DiscoveryOptions | undefined,
    networkIds: file['networkIds'] as GateOptions['networkIds'],
    origin: text(file, 'origin'),
    cors: file['cors'] as GateOptions['cors'],
    passes: file['passes'] as GateOptions['passes'],
    tls: tlsFrom(options, objectIn(file, 'tls')),
  }
}

function tlsFrom(options: Values, file: Json.Members): TlsFiles | undefined {
  const unknown = Object.keys(file).find((name) => name !== 'cert' && name !== 'key')
  if (unknown !== undefined) throw invalid(`tls has the unknown member ${quoted(unknown)}`)
  const [cert, key] = [options['tls-cert'] ?? text(file, 'cert'), options['tls-key'] ?? text(file, 'key')]
  if (cert === undefined && key === undefined) return undefined
  // Half of a certificate must not start a gateway without TLS.
  if (cert === undefined) throw missing('--tls-cert', 'the certificate of the key')
  if (key === undefined) throw missing('--tls-key', 'the private key of the certificate')
  return { cert, key }
}

function missing(option: string, what: string): UsageError {
  return new UsageError(`${option} is missing: ${what}`, { code: 'invalid_usage' })
}

function readFile(path: string): Json.Members {
  let content: string
  try {
    content = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new CommandError('file_unreadable', `${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
  const value = content.length > maxFileBytes ? undefined : Json.parseObject(content)
  if (value === undefined) throw invalid(`${path} is not a JSON object of at most 1 MiB`)
  const unknown = Object.keys(value).find((name) => !members.includes(name))
  if (unknown !== undefined) throw invalid(`${path} has the unknown member ${quoted(unknown)}`)
  return value
}

function invalid(message: string): CommandError {
  return new CommandError('file_unreadable', message, { hint: 'see docs/gateway.md for its members' })
}

function text(file: Json.Members, name: string): string | undefined {
  const value = file[name]
  if (value === undefined || typeof value === 'string') return value
  throw invalid(`${name} is not a text`)
}

function list(file: Json.Members, name: string): readonly string[] {
  const value = file[name] ?? []
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value as string[]
  throw invalid(`${name} is not a list of texts`)
}

function objectIn(file: Json.Members, name: string): Json.Members {
  const value = file[name] ?? {}
  if (Json.isObject(value)) return value
  throw invalid(`${name} is not an object`)
}

/** Routes of the file: a price, or an object with a price and the options of a route. */
function routesOf(given: Json.Members, payTo: string | undefined): { [key: string]: Route } {
  const read = ([key, value]: [string, unknown]): [string, Route] => {
    const route = Json.isObject(value) ? value : { price: value }
    const unknown = Object.keys(route).find((name) => ![...offerMembers, ...routeMembers].includes(name))
    if (unknown !== undefined) throw invalid(`the route ${quoted(key)} has the unknown member ${quoted(unknown)}`)
    const isOffer = ([name]: [string, unknown]): boolean => offerMembers.includes(name)
    const entries = Object.entries(route)
    const accepts = { payTo, ...Object.fromEntries(entries.filter(isOffer)) }
    return [key, { ...Object.fromEntries(entries.filter((entry) => !isOffer(entry))), accepts } as Route]
  }
  return Object.fromEntries(Object.entries(given).map(read))
}

function pricesOf(prices: readonly string[], payTo: string | undefined): { [key: string]: Route } {
  const read = (given: string): [string, Route] => {
    const [, key, price] = /^(.+?)\s*=\s*([^=]+)$/.exec(given) ?? []
    if (key === undefined || price === undefined) {
      throw new UsageError(`--price cannot be ${quoted(given)}`, {
        code: 'invalid_value',
        hint: "write it like 'GET /v1/*=$0.01'; a shell replaces $0 unless the value is in single quotes",
      })
    }
    return [key.trim(), { accepts: { price: price.trim(), payTo: payTo as string } }]
  }
  return Object.fromEntries(prices.map(read))
}

/** Headers for the service: a text, the name of an environment variable, or the path of a file with a secret. */
function headersOf(given: Json.Members, environment: Environment): { [name: string]: string } {
  const read = ([name, value]: [string, unknown]): [string, string] => {
    if (typeof value === 'string') return [name, value]
    const { env, file, prefix = '' } = Json.isObject(value) ? value : {}
    if (typeof prefix !== 'string') throw invalid(`the prefix of the header ${quoted(name)} is not a text`)
    if (typeof env === 'string' && (environment[env] ?? '') !== '') return [name, `${prefix}${environment[env]}`]
    if (typeof env === 'string') throw invalid(`the header ${quoted(name)} needs the environment variable ${env}`)
    if (typeof file === 'string') return [name, `${prefix}${secretIn(file)}`]
    throw invalid(`the header ${quoted(name)} is neither a text nor { "env" } nor { "file" }`)
  }
  return Object.fromEntries(Object.entries(given).map(read))
}

function secretIn(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new CommandError('file_unreadable', `${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
}
