/**
 * Asks a seller for the offer of a resource: an unpaid request whose 402 is the seller's own word. The address comes
 * from a buyer, so the request goes to public addresses only, follows no redirect, reads no body, and has a time limit.
 */
import { randomUUID } from 'node:crypto'
import { type LookupAddress, lookup, promises } from 'node:dns'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { decodeRequired, PaymentHeaders, type PaymentRequired, paymentRequired } from '@latchkey/x402-wire'
import { canonicalAddress, type Interfaces, isOwnAddress, isPublicAddress } from '../../../addresses.js'
import { catalogueRequestPrefix } from '../DiscoveryOptions.js'
import type { OfferRequest } from './FetchOffer.js'

type Resolve = (
  hostname: string,
  options: { readonly all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** Information from the system about names and about this machine. */
export type SystemFacts = { readonly resolve: Resolve; readonly interfaces: Interfaces }

/** More than any real server has. Each address is checked. */
const maxAddresses = 16
const nameTimeoutMs = 2_000
/** Published packages send less than 16 KiB. */
const maxHeaderSize = 32 * 1024

/** Returns the offer, or undefined if the response is not a 402 with one. Rejects if the seller cannot be asked. */
export async function fetchOffer(
  request: OfferRequest,
  facts: Partial<SystemFacts> = {},
): Promise<PaymentRequired | undefined> {
  const { url, allowPrivate } = request
  const { resolve = allowPrivate ? (lookup as Resolve) : resolvePublic, interfaces = networkInterfaces } = facts
  if (url.protocol !== 'https:' && !allowPrivate) throw new Error('the address does not use https')
  const isAllowed = async (address: string): Promise<boolean> =>
    allowPrivate || (isPublicAddress(address) && !(await isOwnAddress(address, interfaces)))
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  // Node looks up no address.
  if (isIP(host) !== 0 && !(await isAllowed(host))) throw refused()
  const response = await send(request, checkedLookup(isAllowed, resolve))
  if (response === undefined || response.statusCode !== 402) return undefined
  const header = response.headers[paymentRequired.toLowerCase()]
  return typeof header === 'string' ? PaymentHeaders.orUndefined(() => decodeRequired(header)) : undefined
}

function send(request: OfferRequest, lookupAddress: LookupFunction): Promise<IncomingMessage | undefined> {
  const { url, method, timeoutMs, signal, allowPrivate } = request
  const options = {
    method,
    // A connection of its own, checked for this request.
    agent: false as const,
    lookup: lookupAddress,
    maxHeaderSize,
    // Covers names, connection, TLS and headers: a seller that sends a byte at a time ends here too.
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    headers: {
      Accept: 'application/json',
      'User-Agent': 'latchkey-facilitator',
      // Sellers recognize these requests in their logs and hooks.
      'X-Request-Id': `${catalogueRequestPrefix}${randomUUID()}`,
      Connection: 'close',
    },
  }
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options)
    sent.on('response', (response) => {
      resolve(response)
      response.on('error', () => {})
      sent.destroy()
    })
    sent.on('error', reject)
    sent.on('socket', (socket: Socket) => {
      // Before anything is sent over TLS, and without TLS only where private addresses are allowed.
      socket.once('connect', () => {
        if (!allowPrivate && isOwnPeer(socket)) sent.destroy(refused())
      })
    })
    sent.on('upgrade', () => {
      sent.destroy()
      resolve(undefined)
    })
    sent.end()
  })
}

/** Requires every address of the name to be allowed, and connects to the checked addresses. */
function checkedLookup(isAllowed: (address: string) => Promise<boolean>, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    const refuse = (): void => callback(refused(), '', 0)
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0)
      const [first] = addresses
      if (first === undefined || addresses.length > maxAddresses) return refuse()
      Promise.all(addresses.map(({ address }) => isAllowed(address))).then((allowed) => {
        if (allowed.includes(false)) return refuse()
        if (options.all === true) return callback(null, addresses as never, 0)
        return callback(null, first.address, first.family)
      }, refuse)
    })
  }
}

/**
 * Asks name servers directly, without the threads of the process: a stranger's server that does not respond would keep
 * `lookup` waiting in all of them, and everything else that needs one.
 */
const resolvePublic: Resolve = (hostname, _, callback) => {
  const resolver = new promises.Resolver({ timeout: nameTimeoutMs, tries: 1 })
  const answers = Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
  void answers.then(([four, six]) => {
    const listOf = (result: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] =>
      result.status === 'rejected' ? [] : result.value.map((address) => ({ address, family }))
    const found = [...listOf(four, 4), ...listOf(six, 6)]
    if (found.length === 0 && four.status === 'rejected') callback(four.reason as NodeJS.ErrnoException, [])
    else callback(null, found)
  })
}

/** Whether the connection never left this machine. */
function isOwnPeer({ localAddress = '', remoteAddress = '' }: Socket): boolean {
  return canonicalAddress(localAddress) === canonicalAddress(remoteAddress)
}

function refused(): Error {
  return new Error('the address is not a public address of another machine')
}
