/** A `callTool` that pays when a server asks for a payment, and otherwise behaves like the client's own `callTool`. */

import { Json } from '@latchkey/algorand'
import {
  type Buyer,
  decodePayment,
  LostResponseError,
  type Offer,
  type Payment,
  type PaymentRequired,
  type PaymentState,
  payingFetch,
  paymentRequired,
  paymentResponse,
  paymentSignature,
  type Receipt,
  type SignedPayment,
} from '@latchkey/x402/client'
import type {
  CallToolRequestOptions,
  CallToolRequestParams,
  CallToolResult,
  Client,
} from '@modelcontextprotocol/client'
import { McpError } from '../errors.js'
import {
  type Bounds,
  boundsProblem,
  canonicalJson,
  type Dialect,
  digestOf,
  errorKey,
  messageBounds,
  paymentKey,
  paymentResponseKey,
  paymentText,
  toHeader,
} from '../wire/ToolMessage.js'
import { LostToolResultError } from './LostToolResultError.js'
import { openError, openPayments, yieldToEarlier } from './openPayments.js'

/** Options of {@link payingCallTool}. */
export type PayingCallToolOptions = {
  /**
   * The URL of the server, or a name for a server that this program starts itself. Payments are recorded under it, and
   * a payment that got no answer is only sent again to the same server. The name that a server gives itself is ignored.
   */
  server: string
  /**
   * Called before anything is signed, with the offers that can currently be paid, the preferred one first. Return
   * `true` to pay the first offer, or an offer to pay exactly that one or nothing. For any other value the result that
   * asks for the payment is returned.
   *
   * @default pays the first offer that can be paid
   */
  onPaymentRequired?:
    | ((
        required: PaymentRequired,
        call: CallToolRequestParams,
        offers: readonly [Offer, ...Offer[]],
      ) => boolean | Offer | Promise<boolean | Offer>)
    | undefined
  /** Called instead of `onPaymentRequired` when an earlier payment for the same call is sent again. */
  onRepeat?: ((payment: Payment) => void) | undefined
  /** Called with every payment that was sent, its receipt if one arrived, and its state on the ledger. */
  onPayment?: ((payment: SignedPayment, receipt: Receipt | undefined, state: PaymentState) => void) | undefined
  /**
   * Delay before a payment is sent a second time. Each further delay is longer.
   *
   * @default 500
   */
  repeatMs?: number | undefined
  /**
   * The approximate size limit of a result.
   *
   * @default 10 MiB
   */
  maxResultBytes?: number | undefined
}

/** The payment that was sent for a result. */
export type ToolPayment = {
  readonly payment: Payment
  /**
   * The state on the ledger when the result arrived. `open` means that it is not known yet; `buyer.lookUp` checks
   * again.
   */
  readonly state: PaymentState
  /** The settlement as reported by the server, or undefined if the server reported none. */
  readonly receipt: Receipt | undefined
}

const defaultMaxResultBytes = 10 * 1024 * 1024
/** A result of the largest size exceeds these bounds only if it was crafted to be slow. */
const resultShape = { maxDepth: 200, maxCount: 1_000_000 }

const payments = new WeakMap<object, ToolPayment>()

/**
 * Returns the payment that {@link payingCallTool} sent for a result, with its state on the ledger, or undefined if it
 * sent none.
 */
export function paymentOf(result: CallToolResult): ToolPayment | undefined {
  return payments.get(result)
}

/**
 * Wraps `client.callTool`. If the server answers a call with a payment requirement, the wrapper pays and repeats the
 * call, at most once, within the limits of the buyer. A requirement that cannot be parsed, or that follows a payment,
 * is returned unchanged as a result with `isError`. Calls with the same tool and arguments pay one after the other. A
 * payment that got no answer is sent again with the next of these calls.
 *
 * @returns a `callTool` that throws the errors of the wrapped one, and:
 * - `PaymentRefusedError` if none of the offers may or can be paid; nothing is signed then
 * - {@link LostToolResultError} if the payment was sent and the call was not served
 * - {@link McpError} if a result without a payment is too large, or an earlier payment for the same call may still be
 *   settled
 * - `SignerError` if the signer returns no valid signature
 * - `PaymentLogError` if the payment cannot be recorded; nothing is signed then
 * @throws McpError if the server name cannot be part of a URL
 * @example
 * const callTool = payingCallTool(client, buyer, { server: 'https://example.com/mcp' })
 * const result = await callTool({ name: 'forecast', arguments: { city: 'Lisbon' } })
 * console.log(result.content, paymentOf(result)?.state)
 */
export function payingCallTool(
  client: Pick<Client, 'callTool'>,
  buyer: Buyer,
  options: PayingCallToolOptions,
): Client['callTool'] {
  checkServer(options.server)
  const queue = queueOf(buyer)
  return async (params, callOptions) => {
    // The call already carries a payment.
    if (params._meta?.[paymentKey] !== undefined) return client.callTool(params, callOptions)
    const purchase = new Purchase({ client, buyer, options, queue, params, callOptions })
    try {
      return await purchase.result()
    } finally {
      purchase.leave()
    }
  }
}

/** One queue per buyer, shared by all of its clients. */
const queues = new WeakMap<Buyer, KeyedQueue>()

function queueOf(buyer: Buyer): KeyedQueue {
  const queue = queues.get(buyer) ?? new KeyedQueue()
  queues.set(buyer, queue)
  return queue
}

type PurchaseParts = {
  readonly client: Pick<Client, 'callTool'>
  readonly buyer: Buyer
  readonly options: PayingCallToolOptions
  readonly queue: KeyedQueue
  readonly params: CallToolRequestParams
  readonly callOptions: CallToolRequestOptions | undefined
}

type SentPayment = { readonly paid: SignedPayment; readonly receipt: Receipt | undefined; readonly state: PaymentState }

/** The last answer of the server, and whether it was the answer to a payment. */
type Answer = { readonly isPaid: boolean } & (
  | { readonly type: 'result'; readonly result: CallToolResult }
  /** A protocol error, or a result that is too large. */
  | { readonly type: 'error'; readonly why: string; readonly error: unknown }
)

/** One call and its payment. A paying `fetch` makes the payment, with calls in place of HTTP requests. */
class Purchase {
  readonly #parts: PurchaseParts
  readonly #url: string
  readonly #bounds: Bounds
  #leave: (() => void) | undefined
  #answer: Answer | undefined
  #sent: SentPayment | undefined
  /** Whether the next payment was never sent before. */
  #isNew = false
  /** The dialect in which the server last asked for a payment. */
  #dialect: Dialect = 'object'

  constructor(parts: PurchaseParts) {
    const { params, options } = parts
    this.#parts = parts
    this.#url = callUrl(options.server, params.name, digestOf(params.arguments ?? {}))
    this.#bounds = { maxBytes: options.maxResultBytes ?? defaultMaxResultBytes, ...resultShape }
  }

  leave(): void {
    this.#leave?.()
  }

  async result(): Promise<CallToolResult> {
    const { buyer, options, params, callOptions } = this.#parts
    const pay = payingFetch(buyer, {
      fetch: (input, init) => this.#send(new Request(input, init), init?.signal ?? undefined),
      onPaymentRequired: (required, _, offers) => this.#consent(required, offers),
      onRepeat: options.onRepeat,
      onPayment: (paid, receipt, state) => {
        // A payment that was withheld is not reported.
        if (this.#answer?.isPaid === false) return
        this.#sent = { paid, receipt, state }
        options.onPayment?.(paid, receipt, state)
      },
      repeatMs: options.repeatMs,
      passes: false,
      rememberPrices: false,
    })
    const body = canonicalJson({ name: params.name, arguments: params.arguments ?? {} })
    try {
      await pay(this.#url, { method: 'POST', body, ...(callOptions?.signal ? { signal: callOptions.signal } : {}) })
    } catch (error) {
      throw error instanceof LostResponseError ? this.#lost(error.transactionId, error.state, error) : error
    }
    return this.#served()
  }

  #served(): CallToolResult {
    const [answer, sent] = [this.#answer!, this.#sent]
    if (answer.type === 'result') {
      if (sent !== undefined) {
        // The log also has the charge of a price by usage.
        const { payment } = sent.paid
        const logged = this.#parts.buyer.payments.get(payment.transactionId) ?? payment
        payments.set(answer.result, { payment: logged, state: sent.state, receipt: sent.receipt })
      }
      return answer.result
    }
    // An error must not hide the payment.
    if (sent !== undefined) throw this.#lost(sent.paid.payment.transactionId, sent.state, undefined)
    throw answer.error
  }

  #lost(transactionId: string, state: PaymentState, lost: LostResponseError | undefined): LostToolResultError {
    const [answer, known] = [this.#answer, { transactionId, state }]
    // The payment itself got no answer.
    if (answer === undefined || !answer.isPaid) {
      return new LostToolResultError({ ...known, why: 'no result arrived', cause: lost?.cause })
    }
    if (answer.type === 'error') {
      return new LostToolResultError({ ...known, why: answer.why, cause: answer.error })
    }
    const why = 'the server returned an error'
    return new LostToolResultError({ ...known, why, result: answer.result, cause: lost?.cause })
  }

  async #send(request: Request, signal: AbortSignal | undefined): Promise<Response> {
    const header = request.headers.get(paymentSignature)
    const response = await this.#call(header, signal)
    if (header !== null || response.status !== 402 || this.#leave !== undefined) return response
    const { queue } = this.#parts
    const { leave, hasWaited } = await queue.enter(this.#url, signal)
    this.#leave = leave
    // The price may have changed while waiting.
    return hasWaited ? this.#call(null, signal) : response
  }

  async #call(header: string | null, signal: AbortSignal | undefined): Promise<Response> {
    const { client, buyer, params, callOptions } = this.#parts
    const isPaid = header !== null
    const payment = isPaid ? decodePayment(header) : undefined
    this.#answer = undefined
    if (payment !== undefined && this.#isNew) {
      this.#isNew = false
      const error = yieldToEarlier(buyer.payments, this.#url, payment)
      if (error !== undefined) return this.#fail({ isPaid: false, why: error.message, error })
    }
    const send = (): Promise<CallToolResult> => {
      const shown = this.#dialect === 'text' ? paymentText(payment) : payment
      const call = isPaid ? { ...params, _meta: { ...params._meta, [paymentKey]: shown } } : params
      return client.callTool(call, { ...callOptions, ...(signal === undefined ? {} : { signal }) })
    }
    let result: CallToolResult
    try {
      const before = this.#dialect
      result = await send()
      this.#dialect = dialectOf(result) ?? before
      // The server has not read the payment, for example one of an earlier process: it is sent as the server reads it.
      if (isPaid && before === 'object' && this.#dialect === 'text') result = await send()
    } catch (error) {
      if (!isPaid || !isProtocolError(error)) throw error
      return this.#fail({ isPaid, why: 'the server returned a protocol error', error })
    }
    const problem = boundsProblem(result, this.#bounds)
    if (problem !== undefined) {
      const error = new McpError('tool_result_too_large', `the tool's result cannot be used: ${problem}`)
      return this.#fail({ isPaid, why: 'the result exceeds a limit', error })
    }
    this.#answer = { type: 'result', isPaid, result }
    return responseOf(result)
  }

  #fail(parts: { isPaid: boolean; why: string; error: unknown }): Response {
    this.#answer = { type: 'error', ...parts }
    return new Response(null, { status: 500 })
  }

  /** Asks the caller, after checking that no other payment for the same call may still be settled. */
  async #consent(required: PaymentRequired, offers: readonly [Offer, ...Offer[]]): Promise<boolean | Offer> {
    const { buyer, options, params } = this.#parts
    for (const payment of openPayments(buyer.payments, this.#url)) {
      const state = await buyer.lookUp(payment.transactionId).catch((): PaymentState => 'open')
      if (state === 'open') throw openError(payment)
    }
    this.#isNew = true
    return options.onPaymentRequired === undefined ? true : options.onPaymentRequired(required, params, offers)
  }
}

/** JSON-RPC errors have numeric codes. Connection errors and timeouts, which leave the outcome unknown, have names. */
function isProtocolError(error: unknown): boolean {
  return error instanceof Error && typeof (error as { code?: unknown }).code === 'number'
}

/** Keeps the URL, with the tool and the digest, within the length that a payment log records. */
const maxServerLength = 1_000

/** @throws McpError if the server name is empty or too long */
function checkServer(server: string): void {
  if (typeof server === 'string' && server !== '' && authorityOf(server).length <= maxServerLength) return
  const message = `server cannot be ${JSON.stringify(typeof server === 'string' ? server.slice(0, 100) : server)}`
  throw new McpError('invalid_tool_option', message, { hint: 'Pass the URL of the server, or a name for it.' })
}

/** Returns `mcp://example.com/mcp/tools/forecast?arguments=...`, or `mcp://name/tools/...` for a named server. */
export function callUrl(server: string, name: string, digest: string): string {
  return new URL(`mcp://${authorityOf(server)}/tools/${plain(String(name))}?arguments=${digest}`).href
}

/** Removes the scheme of a URL and keeps its path. */
function authorityOf(server: string): string {
  const url = URL.canParse(server) ? new URL(server) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return plain(server)
  const { host, pathname, search } = url
  return `${host}${pathname.replace(/\/+$/, '')}${search === '' ? '' : `/${digestOf(search)}`}`
}

/** Returns the name unchanged if every program encodes it identically in a URL, and otherwise a digest of it. */
function plain(name: string): string {
  return /^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}$/.test(name) ? name : digestOf(name)
}

/** The status tells whether the call was served. The result itself is not part of the response. */
export function responseOf(result: CallToolResult): Response {
  const headers = new Headers()
  const receipt = headerOf(result._meta?.[paymentResponseKey])
  if (receipt !== undefined) headers.set(paymentResponse, receipt)
  if (result.isError !== true) return new Response(null, { status: 200, headers })
  const required = headerOf(requiredIn(result))
  if (required !== undefined) {
    headers.set(paymentRequired, required)
    return new Response(null, { status: 402, headers })
  }
  const seconds = Json.isObject(result.structuredContent) ? result.structuredContent['retryAfterSeconds'] : undefined
  if (typeof seconds !== 'number') return new Response(null, { status: 500, headers })
  headers.set('Retry-After', '5')
  return new Response(null, { status: 503, headers })
}

/** The dialect in which a result asks for a payment; undefined if it does not. */
function dialectOf({ isError, structuredContent, _meta }: CallToolResult): Dialect | undefined {
  if (isError !== true) return undefined
  if (isRequired(structuredContent)) return 'object'
  return isRequired(_meta?.[errorKey]) ? 'text' : undefined
}

/**
 * Returns the payment requirement in the structured content, the `_meta` of the other dialect or the text of a result,
 * or undefined if there is none.
 */
function requiredIn({ structuredContent, content, _meta }: CallToolResult): unknown {
  if (isRequired(structuredContent)) return structuredContent
  const other = _meta?.[errorKey]
  if (isRequired(other)) return other
  const [first] = Array.isArray(content) ? content : []
  if (first?.type !== 'text' || first.text.length > messageBounds.maxBytes) return undefined
  const value = Json.parseObject(first.text)
  return isRequired(value) ? value : undefined
}

function isRequired(value: unknown): boolean {
  return Json.isObject(value) && value['x402Version'] !== undefined && Array.isArray(value['accepts'])
}

/**
 * Encodes a protocol value for the functions that read and check it. Returns undefined if it is absent or above the
 * limits.
 */
function headerOf(value: unknown): string | undefined {
  if (!Json.isObject(value) || boundsProblem(value, messageBounds) !== undefined) return undefined
  return toHeader(value)
}

/** Limits the number of waiting calls, each of which holds a promise. Exceeding it is a bug in the caller. */
const maxWaiting = 1_000

/** A queue per key, so that two calls never pay for the same thing at the same time. */
class KeyedQueue {
  /** The last entry of each queue, removed once it has left. */
  readonly #last = new Map<string, Promise<void>>()
  #waiting = 0

  /**
   * Waits until every earlier entry with the same key has left.
   *
   * @returns a function that leaves the queue, and whether the call had to wait
   * @throws McpError if too many calls are waiting
   * @throws the reason of the signal, if it aborts while waiting
   */
  async enter(key: string, signal?: AbortSignal | undefined): Promise<{ leave: () => void; hasWaited: boolean }> {
    signal?.throwIfAborted()
    const before = this.#last.get(key)
    if (before !== undefined && this.#waiting >= maxWaiting) {
      throw new McpError('too_many_tool_calls', `${maxWaiting} calls are already waiting`)
    }
    let end = (): void => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    // An entry that gives up leaves only after the entries before it, so that the next one cannot overtake them.
    const own = before === undefined ? ended : before.then(() => ended)
    this.#last.set(key, own)
    const leave = (): void => {
      end()
      void own.then(() => {
        if (this.#last.get(key) === own) this.#last.delete(key)
      })
    }
    if (before === undefined) return { leave, hasWaited: false }
    this.#waiting++
    try {
      await orAborted(before, signal)
    } catch (error) {
      leave()
      throw error
    } finally {
      this.#waiting--
    }
    return { leave, hasWaited: true }
  }
}

async function orAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return promise
  let onAbort = (): void => {}
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
  })
  await Promise.race([promise, aborted]).finally(() => signal.removeEventListener('abort', onAbort))
}
