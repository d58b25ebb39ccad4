/** Reads and validates the options of a gate. */
import { LatchkeyError } from '@latchkey/algorand'
import { PaymentHeaders, type PaymentRequired } from '@latchkey/x402-wire'
import { isUnset } from '../../chain/Chain.js'
import { OptionsError, PartyError } from '../../errors.js'
import { type FacilitatorClient, httpFacilitator } from '../exchange/FacilitatorClient.js'
import type { Accept } from '../routes/Requirements.js'
import { RouteDiscovery } from '../routes/RouteDiscovery.js'
import type { GateOptions, Route } from './GateOptions.js'

export function facilitatorClients(facilitators: GateOptions['facilitators']): FacilitatorClient[] {
  const list = (Array.isArray(facilitators) ? facilitators : [facilitators]) as (string | FacilitatorClient)[]
  const hint = 'Pass the URL of a facilitator; check that its environment variable is set.'
  if (list.some(isUnset)) throw new OptionsError('facilitators is not set', hint)
  const clients = list.map((one) => (typeof one === 'string' ? httpFacilitator({ url: one }) : one))
  if (clients.every(({ supported }) => typeof supported === 'function')) return clients
  throw new OptionsError(
    'facilitators contains a value that is neither a URL nor a client',
    'Pass a URL, or `localFacilitator`.',
  )
}

export function acceptsOf(route: Route | undefined, key: string): readonly Accept[] {
  const accepts = route?.accepts
  const list = (Array.isArray(accepts) ? accepts : [accepts]) as readonly Accept[]
  if (list.length > 0 && !list.some(isUnset)) return list
  const message = `${key}: accepts is ${list.length === 0 ? 'empty' : 'not set'}`
  throw new GateError('invalid_gate_option', message, { hint: 'Pass at least one `{ network, price, payTo }`.' })
}

export function sentence(hint: string): string {
  return `${hint[0]!.toUpperCase()}${hint.slice(1)}.`
}

export function originOf(origin: string | undefined): string | undefined {
  if (origin === undefined) return undefined
  const url = URL.canParse(origin) ? new URL(origin) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || !/^\/?$/.test(url.pathname + url.search + url.hash)) {
    const message = `origin cannot be ${JSON.stringify(origin)}`
    throw new GateError('invalid_gate_option', message, { hint: 'Write it like "https://example.com".' })
  }
  return url.origin
}

export function routeError(key: string, error: Error): GateError {
  const code = error instanceof GateError ? error.code : 'invalid_gate_option'
  const hint = error instanceof LatchkeyError ? error.hint : undefined
  return new GateError(code, `${key}: ${error.message}`, { hint, cause: error })
}

/**
 * By default, nginx reads the head of a response into one page of memory, 4,096 bytes on most machines, and responds
 * with 502 if the head is larger. Other headers of a 402 take up to 600 bytes.
 */
const maxHeaderBytes = 3_500

/** The descriptions of the routes, by their keys. */
export function discoveryOf({ routes, service }: GateOptions): ReadonlyMap<string, RouteDiscovery> {
  const read = ([key, route]: [string, Route]): [string, RouteDiscovery] => {
    try {
      return [key, new RouteDiscovery(key, route ?? {}, service)]
    } catch (error) {
      throw routeError(key, error as Error)
    }
  }
  return new Map(Object.entries(routes).map(read))
}

/** Node and undici refuse heads of more than 16 kB, and proxies rarely accept more than 8 kB. */
const maxRequiredBytes = 8 * 1024

/** Refuses a 402 that buyers could not read. */
export function checkedHeader(required: PaymentRequired): PaymentRequired {
  const bytes = PaymentHeaders.encode(required).length
  if (bytes <= maxRequiredBytes) return required
  throw new GateError(
    'invalid_gate_option',
    `the header ${PaymentHeaders.paymentRequired} has ${bytes} bytes, more than ${maxRequiredBytes}`,
    { hint: 'Accept fewer payments, or shorten `description`, `input`, `output` and `extra`.' },
  )
}

/** The startup warning about a route whose 402 may not pass a proxy; undefined if it does. */
export function headerWarning(key: string, required: PaymentRequired): string | undefined {
  const bytes = PaymentHeaders.encode(required).length
  if (bytes <= maxHeaderBytes) return undefined
  const offers = `${required.accepts.length} offers`
  return (
    `${key}: the header ${PaymentHeaders.paymentRequired} has ${bytes} bytes for ${offers}; proxies with a 4 kB header limit respond with ` +
    '502. Accept fewer payments, shorten `description` and `extra`, or set `proxy_buffer_size 16k` in nginx'
  )
}

/** The startup warning of a gate whose claims other replicas do not see. */
export const memoryClaimsWarning =
  'this process is one of several and keeps its claims in memory: one payment could be used once in each process; ' +
  'pass `claims: new SqliteClaims(path)`, or another store that all processes share'

/** Whether a process manager or `node:cluster` runs several instances of this process. */
export function isReplica(): boolean {
  const node = globalThis.process
  // PM2 and others number the instances.
  if (node?.env?.['NODE_APP_INSTANCE'] !== undefined) return true
  const cluster = node?.getBuiltinModule?.('node:cluster') as { isWorker?: boolean } | undefined
  return cluster?.isWorker === true
}

/** A route or an option that can never work. */
export class GateError extends PartyError<'invalid_gate_option' | 'receiver_not_opted_in'> {
  override name = 'GateError'
}
