/** The members of a gateway's configuration file. */
import { readFileSync } from 'node:fs'
import { Address, Json } from '@latchkey/algorand'
import { CommandError } from '../errors.js'
import {
  anyObject,
  anyText,
  anything,
  integer,
  invalid,
  list,
  number,
  object,
  oneOf,
  optional,
  record,
  repeatedMember,
  type Shape,
  text,
} from './Shape.js'

const maxFileBytes = 1024 * 1024
/** A day: longer than any response, and far below the limit of Node's timers. */
const maxSeconds = 86_400
const maxTimeoutSeconds = 2_400
const maxPassMinutes = 366 * 24 * 60
const maxRequests = 1_000_000_000
const minSecretLength = 32

function isWebAddress(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)
}

const address = text(Address.isValid, 'an Algorand address')
const url = text(isWebAddress, 'an http or https address')
const origin = text(
  (value) => isWebAddress(value) && new URL(value).origin === value,
  'an origin like "https://example.com"',
)
const units = text(
  (value) => /^[1-9][0-9]{0,19}$/.test(value) && BigInt(value) < 2n ** 64n,
  'a positive number of base units as a text',
)
const assetId = text((value) => /^(0|[1-9][0-9]{0,18})$/.test(value), 'the id of an asset as a text')

const assetPrice = object({ asset: assetId, amount: units, extra: optional(anyObject) })
const money: Shape<string | number> = (value, path) => {
  const isMoney = typeof value === 'number' ? value > 0 : typeof value === 'string' && /^.{1,80}$/.test(value)
  if (isMoney) return value as string | number
  throw invalid(path, 'is neither a price like "$0.01" nor an object')
}
const fixedPrice = (value: unknown, path: string): ReturnType<typeof money> | ReturnType<typeof assetPrice> =>
  Json.isObject(value) ? assetPrice(value, path) : money(value, path)
const usagePrice = object({
  upTo: fixedPrice,
  whenUnset: optional(oneOf('nothing', 'maximum')),
  stream: optional(oneOf(true, false)),
})
const price = (value: unknown, path: string): ReturnType<typeof fixedPrice> | ReturnType<typeof usagePrice> =>
  Json.isObject(value) && 'upTo' in value ? usagePrice(value, path) : fixedPrice(value, path)

const service = {
  serviceName: optional(text()),
  tags: optional(list(text())),
  iconUrl: optional(url),
}
const passTerms = {
  minutes: optional(number(0.01, maxPassMinutes)),
  requests: optional(integer(2, maxRequests)),
  scope: optional(oneOf('route', 'path')),
}
const passesOfRoute = object(passTerms)
const secret = text(
  (value) => value.length >= minSecretLength,
  `a secret of at least ${minSecretLength} characters from a generator`,
)
const secrets = list(secret, 1)

const route = object({
  price,
  payTo: optional(address),
  maxTimeoutSeconds: optional(integer(1, maxTimeoutSeconds)),
  paymentFlow: optional(oneOf('authorization', 'upfront')),
  description: optional(anyText),
  mimeType: optional(anyText),
  input: optional(
    object({
      query: optional(anyObject),
      path: optional(anyObject),
      body: optional(anyObject),
      bodyType: optional(oneOf('json', 'form-data', 'text')),
      example: optional(object({ query: optional(anyObject), body: optional(anything) })),
    }),
  ),
  output: optional(object({ schema: optional(anyObject), example: optional(anything) })),
  ...service,
  passes: optional((value, path) => (value === false ? value : passesOfRoute(value, path))),
  settleFirstAbove: optional(fixedPrice),
  otherMethods: optional(oneOf('refuse', 'free')),
})

/** A route in the file: a price, or an object with a price and the options of a route. */
export type FileRoute = ReturnType<typeof route>

/** The members of `price` are not those of a route. */
const routeOrPrice: Shape<FileRoute> = (value, path) =>
  route(Json.isObject(value) ? value : { price: money(value, path) }, path)

const fromEnvironment = object({ env: text(), prefix: optional(anyText) })
const fromFile = object({ file: text(), prefix: optional(anyText) })

/** A header for the service: a text, the name of an environment variable, or the path of a file with a secret. */
export type FileHeader = string | ReturnType<typeof fromEnvironment> | ReturnType<typeof fromFile>

const header: Shape<FileHeader> = (value, path) => {
  if (!Json.isObject(value)) return text(undefined, 'a text, { "env": NAME } or { "file": PATH }')(value, path)
  return 'file' in value ? fromFile(value, path) : fromEnvironment(value, path)
}

const file = object({
  upstream: optional(url),
  payTo: optional(address),
  facilitator: optional(url),
  routes: optional(record(routeOrPrice)),
  free: optional(list(text())),
  headers: optional(record(header)),
  passHeaders: optional(list(text())),
  methodInBody: optional(oneOf('refuse', 'forward')),
  timeoutSeconds: optional(number(0.1, maxSeconds)),
  perPayer: optional(object({ requests: integer(1, maxRequests), seconds: optional(number(1, maxSeconds)) })),
  service: optional(object(service)),
  discovery: optional(
    object({
      title: text(),
      version: optional(text()),
      description: optional(text()),
      guidance: optional(text()),
      contactEmail: optional(text((value) => /^[^@\s]+@[^@\s]+$/.test(value), 'an e-mail address')),
    }),
  ),
  networkIds: optional(oneOf('both', 'canonical')),
  origin: optional(origin),
  cors: optional((value, path) => (typeof value === 'boolean' ? value : list(origin)(value, path))),
  passes: optional(
    object({
      ...passTerms,
      secret: optional((value, path) => (Array.isArray(value) ? secrets(value, path) : secret(value, path))),
    }),
  ),
  tls: optional(object({ cert: optional(text()), key: optional(text()) })),
})

/** The content of a configuration file. */
export type SettingsFile = Partial<ReturnType<typeof file>>

/**
 * Reads a configuration file.
 *
 * @throws CommandError if the file cannot be read, or a member is unknown, repeated or invalid
 */
export function readSettingsFile(path: string): SettingsFile {
  const content = readText(path)
  const value = content.length > maxFileBytes ? undefined : Json.parseObject(content)
  if (value === undefined) throw invalid(path, 'is not a JSON object of at most 1 MiB')
  const repeated = repeatedMember(content)
  if (repeated !== undefined) throw invalid(repeated, 'is given twice')
  return file(value, '')
}

/** @throws CommandError */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    throw new CommandError('file_unreadable', `${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
}
