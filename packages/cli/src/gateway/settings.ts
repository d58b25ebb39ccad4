/** Reads the routes that a gateway sells from the options of the command and from a file. */
import type { PayerLimit, UpstreamOptions } from '@latchkey/x402/gateway'
import type { DiscoveryOptions, GateOptions, Route } from '@latchkey/x402/server'
import type { Option } from '../Command.js'
import { UsageError } from '../errors.js'
import { quoted } from '../format.js'
import { invalid, memberPath } from './Shape.js'
import type { TlsFiles } from './server.js'
import { type FileHeader, type FileRoute, readSettingsFile, readText, type SettingsFile } from './settingsFile.js'

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
  'pass-header': {
    type: 'string',
    multiple: true,
    placeholder: 'NAME',
    description:
      "client header to forward in addition to the common ones, such as X-Acme-Version or 'X-Acme-*'; repeatable",
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
  readonly 'pass-header'?: string[] | undefined
  readonly facilitator?: string | undefined
  readonly config?: string | undefined
  readonly 'tls-cert'?: string | undefined
  readonly 'tls-key'?: string | undefined
}
type Environment = { readonly [name: string]: string | undefined }

/** The settings of a gateway. */
export type GatewaySettings = Pick<GateOptions, 'service' | 'networkIds' | 'origin' | 'cors' | 'passes'> &
  Pick<UpstreamOptions, 'passHeaders' | 'methodInBody'> & {
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

/** Members of a route in the file that belong to its offer. */
const offerMembers = ['price', 'payTo', 'maxTimeoutSeconds', 'paymentFlow']

/**
 * Reads the settings. Options replace the members of the file, except that routes and free routes are added to it.
 *
 * @throws UsageError if an option is missing or has an invalid value
 * @throws CommandError if the file cannot be read or used
 */
export function readSettings(options: Values, environment: Environment): GatewaySettings {
  const file: SettingsFile = options.config === undefined ? {} : readSettingsFile(options.config)
  const upstream = options.upstream ?? file.upstream
  if (upstream === undefined) throw missing('--upstream', 'the address of the service')
  const facilitator = options.facilitator ?? file.facilitator ?? (environment['FACILITATOR_URL'] || undefined)
  if (facilitator === undefined) throw missing('--facilitator', 'the address of a facilitator')
  const payTo = options['pay-to'] ?? file.payTo
  const routes = { ...routesOf(file.routes ?? {}, payTo), ...pricesOf(options.price ?? [], payTo, file.routes) }
  if (Object.keys(routes).length === 0) throw missing('--price', "a route and its price, such as 'GET /v1/*=$0.01'")
  return {
    upstream,
    facilitator,
    routes,
    free: freeRoutes(file.free ?? [], options.free ?? [], Object.keys(routes)),
    headers: headersOf(file.headers ?? {}, environment),
    passHeaders: [...(file.passHeaders ?? []), ...(options['pass-header'] ?? [])],
    methodInBody: file.methodInBody,
    timeoutMs: file.timeoutSeconds === undefined ? undefined : Math.round(file.timeoutSeconds * 1000),
    perPayer: file.perPayer,
    service: file.service,
    discovery: file.discovery,
    networkIds: file.networkIds,
    origin: file.origin,
    cors: file.cors,
    passes: file.passes,
    tls: tlsFrom(options, file.tls),
  }
}

function tlsFrom(options: Values, file: SettingsFile['tls']): TlsFiles | undefined {
  const [cert, key] = [options['tls-cert'] ?? file?.cert, options['tls-key'] ?? file?.key]
  if (cert === undefined && key === undefined) return undefined
  // Half of a certificate must not start a gateway without TLS.
  if (cert === undefined) throw missing('--tls-cert', 'the certificate of the key')
  if (key === undefined) throw missing('--tls-key', 'the private key of the certificate')
  return { cert, key }
}

function missing(option: string, what: string): UsageError {
  return new UsageError(`${option} is missing: ${what}`, { code: 'invalid_usage' })
}

function routesOf(given: NonNullable<SettingsFile['routes']>, payTo: string | undefined): { [key: string]: Route } {
  const read = ([key, route]: [string, FileRoute]): [string, Route] => {
    const isOffer = ([name]: [string, unknown]): boolean => offerMembers.includes(name)
    const entries = Object.entries(route)
    if ((route.payTo ?? payTo) === undefined) throw missing('--pay-to', 'the address that receives the payments')
    const accepts = { payTo, ...Object.fromEntries(entries.filter(isOffer)) }
    return [key, { ...Object.fromEntries(entries.filter((entry) => !isOffer(entry))), accepts } as Route]
  }
  return Object.fromEntries(Object.entries(given).map(read))
}

/** Routes that are spelled differently, but match the same requests, have the same form. */
function formOf(key: string): string {
  const [, method = '', path = key] = /^\s*(?:([A-Za-z]+)\s+)?(\S+)\s*$/.exec(key) ?? []
  return `${method.toUpperCase()} ${path}`
}

/** A second price of a route is refused: the seller may not notice which one counts. */
function pricesOf(
  prices: readonly string[],
  payTo: string | undefined,
  inFile: SettingsFile['routes'] = {},
): { [key: string]: Route } {
  const seen = new Set(Object.keys(inFile).map(formOf))
  const read = (given: string): [string, Route] => {
    const [, key, price] = /^(.+?)\s*=\s*([^=]+)$/.exec(given) ?? []
    if (key === undefined || price === undefined) {
      throw new UsageError(`--price cannot be ${quoted(given)}`, {
        code: 'invalid_value',
        hint: "write it like 'GET /v1/*=$0.01'; a shell replaces $0 unless the value is in single quotes",
      })
    }
    if (payTo === undefined) throw missing('--pay-to', 'the address that receives the payments')
    if (seen.has(formOf(key))) throw repeated(`--price ${quoted(key.trim())}`)
    seen.add(formOf(key))
    return [key.trim(), { accepts: { price: price.trim(), payTo } }]
  }
  return Object.fromEntries(prices.map(read))
}

/** A route that is both free and priced would be paid, which the seller may not expect. */
function freeRoutes(inFile: readonly string[], options: readonly string[], priced: readonly string[]): string[] {
  const forms = new Set(priced.map(formOf))
  const seen = new Set<string>()
  const named = [
    ...inFile.map((key, index) => [key, `free[${index}]`] as const),
    ...options.map((key) => [key, '--free'] as const),
  ]
  for (const [key, place] of named) {
    const form = formOf(key)
    if (forms.has(form)) throw contradiction(`${place} ${quoted(key)} is priced, too`)
    if (seen.has(form)) throw repeated(`${place} ${quoted(key)}`)
    seen.add(form)
  }
  return named.map(([key]) => key)
}

function repeated(what: string): UsageError {
  return contradiction(`${what} is given twice`)
}

function contradiction(message: string): UsageError {
  return new UsageError(message, { code: 'invalid_value', hint: 'give each route once' })
}

function headersOf(
  given: { readonly [name: string]: FileHeader },
  environment: Environment,
): { [name: string]: string } {
  const read = ([name, value]: [string, FileHeader]): [string, string] => {
    if (typeof value === 'string') return [name, value]
    const { prefix = '' } = value
    if ('file' in value) {
      const text = readText(value.file).trim()
      if (text === '') throw invalid(memberPath('headers', name), `needs a value in the file ${value.file}`)
      return [name, `${prefix}${text}`]
    }
    const found = environment[value.env] ?? ''
    if (found === '') throw invalid(memberPath('headers', name), `needs the environment variable ${value.env}`)
    return [name, `${prefix}${found}`]
  }
  return Object.fromEntries(Object.entries(given).map(read))
}
