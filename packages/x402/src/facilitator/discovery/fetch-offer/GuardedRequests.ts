/**
 * Requests to addresses that buyers name: to public addresses of other machines only, without redirects and
 * credentials, over a connection of their own, with limits on time and size.
 */
import { randomUUID } from 'node:crypto'
import { type LookupAddress, lookup, promises } from 'node:dns'
import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { TimeLimit } from '@latchkey/algorand'
import {
  checkedLookup,
  isOwnAddress,
  isOwnPeer,
  isPublicAddress,
  type Resolve,
  type SystemFacts,
} from '../../../addresses.js'
import { catalogueRequestPrefix } from '../DiscoveryOptions.js'
import type { OfferRequest } from './FetchOffer.js'

/** More than any real server has. */
const maxAddresses = 16
const nameTimeoutMs = 2_000
/** Published packages send less than 16 KiB. */
const maxHeaderSize = 32 * 1024

export type GuardedRequest = {
  readonly method: string
  readonly url: URL
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly body?: string | undefined
  /**
   * How much of the body is read. Without a limit, the body is not read at all. A longer body rejects.
   *
   * @default the body is not read
   */
  readonly maxBodyBytes?: number | undefined
  /**
   * Called with the text of the body so far; `true` ends the request, because a stream of events may never end.
   *
   * @default reads to the end
   */
  readonly isEnough?: ((text: string, headers: IncomingHttpHeaders) => boolean) | undefined
}

export type GuardedResponse = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** The requests for one offer, which share its time limit. */
export class GuardedRequests {
  readonly #allowPrivate: boolean
  readonly #signal: AbortSignal
  readonly #facts: SystemFacts

  constructor({ allowPrivate, timeoutMs, signal }: OfferRequest, facts: Partial<SystemFacts> = {}) {
    const { resolve = allowPrivate ? (lookup as Resolve) : resolvePublic, interfaces = networkInterfaces } = facts
    this.#allowPrivate = allowPrivate
    // Covers names, connection, TLS, headers and body: a seller that sends a byte at a time ends here too.
    this.#signal = TimeLimit.signal(timeoutMs, signal)
    this.#facts = { resolve, interfaces }
  }

  /** Rejects if the server cannot be asked. Undefined for a response that changes the protocol. */
  async send(request: GuardedRequest): Promise<GuardedResponse | undefined> {
    const { url } = request
    if (url.protocol !== 'https:' && !this.#allowPrivate) throw new Error('the address does not use https')
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
    // Node looks up no address.
    if (isIP(host) !== 0 && !(await this.#isAllowed(host))) throw refused()
    return this.#exchange(request)
  }

  async #isAllowed(address: string): Promise<boolean> {
    if (this.#allowPrivate) return true
    return isPublicAddress(address) && !(await isOwnAddress(address, this.#facts.interfaces))
  }

  #exchange(request: GuardedRequest): Promise<GuardedResponse | undefined> {
    const { url, method, headers = {}, body } = request
    const isAllowed = (address: string): Promise<boolean> => this.#isAllowed(address)
    const options = {
      method,
      // A separate connection, checked for this request.
      agent: false as const,
      lookup: checkedLookup({ resolve: this.#facts.resolve, isAllowed, maxAddresses, refused }),
      maxHeaderSize,
      signal: this.#signal,
      headers: {
        Accept: 'application/json',
        'User-Agent': 'latchkey-facilitator',
        // Sellers recognize these requests in their logs and hooks.
        'X-Request-Id': `${catalogueRequestPrefix}${randomUUID()}`,
        Connection: 'close',
        ...headers,
      },
    }
    return new Promise((resolve, reject) => {
      const sent: ClientRequest = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options)
      sent.on('response', (response) => {
        response.on('error', reject)
        readBody(response, request)
          .then((text) => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }), reject)
          .finally(() => sent.destroy())
      })
      sent.on('error', reject)
      sent.on('socket', (socket: Socket) => {
        // Before anything is sent over TLS, and without TLS only where private addresses are allowed.
        socket.once('connect', () => {
          if (!this.#allowPrivate && isOwnPeer(socket)) sent.destroy(refused())
        })
      })
      sent.on('upgrade', () => {
        sent.destroy()
        resolve(undefined)
      })
      sent.end(body)
    })
  }
}

async function readBody(response: IncomingMessage, { maxBodyBytes, isEnough }: GuardedRequest): Promise<string> {
  if (maxBodyBytes === undefined) return ''
  const decoder = new TextDecoder()
  let [text, bytes] = ['', 0]
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) throw new Error(`the response is larger than ${maxBodyBytes} bytes`)
    text += decoder.decode(chunk, { stream: true })
    if (isEnough?.(text, response.headers) === true) return text
  }
  return text + decoder.decode()
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

function refused(): Error {
  return new Error('the address is not a public address of another machine')
}
