/** Presents a pass instead of paying, only to the origin that issued it. */
import { PaymentHeaders, PaymentPass, type PaymentRequired, PaymentSecret } from '@latchkey/x402-wire'
import { maxRequests, type PassCache, type StoredPass } from '../store/PassCache.js'
import type { SignedPayment } from './Buyer.js'

export type Send = (target: Request, changes?: RequestInit) => Promise<Response>

const passes = new WeakMap<Response, PaymentPass.PassStatus>()

/**
 * The remaining validity of the pass that {@link payingFetch} presented for a response or received with it, as reported
 * by the seller. Undefined if there is none.
 */
export function passOf(response: Response): PaymentPass.PassStatus | undefined {
  return passes.get(response)
}

/** The passes of a buyer for the requests of one call. A cache that fails is treated as empty. */
export class PassRequests {
  readonly #cache: PassCache
  readonly #send: Send

  constructor(cache: PassCache, send: Send) {
    this.#cache = cache
    this.#send = send
  }

  /**
   * The response to a request that a pass is known to open; undefined if there is none, or the request did not reach
   * the gate.
   */
  async showKnown(request: Request): Promise<Response | undefined> {
    const pass = this.#all(request).find(({ opens, requests }) => requests.includes(requestKey(request, opens)))
    if (pass === undefined) return undefined
    const response = await this.#show(pass, request)
    // A redirect in front of the gate is followed like any other, without the pass.
    const isRedirect = response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)
    if (!isRedirect || passOf(response) !== undefined) return response
    await response.body?.cancel().catch(() => {})
    return undefined
  }

  /** The response to a request that was answered with a price, if there is a pass for the offered terms. */
  async showFor(required: PaymentRequired, target: Request): Promise<Response | undefined> {
    const terms = PaymentPass.readTerms(required.extensions)
    const pass = this.#all(target).find(({ scope }) => scope === terms?.scope)
    return pass === undefined ? undefined : this.#show(pass, target)
  }

  /** Stores the pass that came with the response to a payment. */
  keep(required: PaymentRequired, target: Request, { repeatHeader }: SignedPayment, response: Response): void {
    const pass = PaymentPass.readPass(response.headers)
    const status = PaymentPass.readStatus(response.headers)
    const terms = PaymentPass.readTerms(required.extensions)
    if (pass === undefined || status === undefined || terms === undefined) return
    const secret = PaymentSecret.secretIn(PaymentHeaders.decodePayment(repeatHeader))
    const maxUntilMs = Date.now() + PaymentPass.maxPassMinutes * 60_000
    if (secret === undefined || status.requestsLeft === 0 || status.untilMs <= Date.now()) return
    const { scope, opens } = terms
    const requests = [requestKey(target, opens)]
    const untilMs = Math.min(status.untilMs, maxUntilMs)
    const { origin } = new URL(target.url)
    passes.set(response, { untilMs, requestsLeft: status.requestsLeft })
    this.#put({ origin, scope, opens, requests, pass, secret, untilMs, requestsLeft: status.requestsLeft })
  }

  async #show(pass: StoredPass, target: Request): Promise<Response> {
    const headers = new Headers(target.headers)
    headers.set(PaymentPass.passHeader, `${pass.pass}.${pass.secret}`)
    // Following a redirect would send the pass to its target.
    const response = await this.#send(target, { headers, redirect: 'manual' })
    this.#learn(pass, target, response)
    return response
  }

  /** Updates the stored pass from the response to it. */
  #learn(pass: StoredPass, target: Request, response: Response): void {
    const key = requestKey(target, pass.opens)
    const others = pass.requests.filter((one) => one !== key)
    const status = PaymentPass.readStatus(response.headers)
    if (status !== undefined) passes.set(response, status)
    if (status?.requestsLeft === 0) this.#remove(pass)
    else if (status !== undefined) {
      const requests = [key, ...others].slice(0, maxRequests)
      const isSame = requests.length === pass.requests.length && pass.requests.includes(key)
      if (!isSame || status.requestsLeft !== pass.requestsLeft) {
        this.#put({ ...pass, requests, requestsLeft: status.requestsLeft })
      }
    } else if (response.status === 402) {
      const header = response.headers.get(PaymentHeaders.paymentRequired)
      const required =
        header === null ? undefined : PaymentHeaders.orUndefined(() => PaymentHeaders.decodeRequired(header))
      // The request now has another scope, or the pass has expired.
      if (PaymentPass.readTerms(required?.extensions)?.scope === pass.scope) this.#remove(pass)
      else this.#put({ ...pass, requests: others })
    }
  }

  #all({ url, headers }: Request): readonly StoredPass[] {
    if (headers.has(PaymentPass.passHeader)) return []
    try {
      return this.#cache.all(new URL(url).origin).filter(({ untilMs }) => untilMs > Date.now())
    } catch {
      return []
    }
  }

  #put(pass: StoredPass): void {
    try {
      this.#cache.put(pass)
    } catch {
      // The response is more important. The next request is paid for, within the limits.
    }
  }

  #remove({ origin, scope }: StoredPass): void {
    try {
      this.#cache.remove(origin, scope)
    } catch {
      // The pass is refused again, and the request is then paid for.
    }
  }
}

/** The requests that a pass does not tell apart have the same key. */
function requestKey({ method, url }: Request, opens: PaymentPass.PassScope): string {
  const { pathname, search } = new URL(url)
  return `${method === 'HEAD' ? 'GET' : method} ${pathname}${opens === 'request' ? search : ''}`
}
