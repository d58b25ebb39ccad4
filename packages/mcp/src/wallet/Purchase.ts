/** One request and its single payment, which continues regardless of its callers. */
import type { BoundedMap } from '@latchkey/algorand'
import type { AgentClient } from '@latchkey/kmd-client'
import {
  Buyer,
  type Chain,
  fromAgent,
  type Offer,
  type PassCache,
  type Payment,
  type PaymentLog,
  type PaymentState,
  payingFetch,
  type Receipt,
  type SignedPayment,
  type Signer,
} from '@latchkey/x402/client'
import { openPayments } from '../client/openPayments.js'
import { McpError } from '../errors.js'
import type { FetchRequest } from './GuardedFetch.js'
import { type AssetAmount, amountText, isSameQuote, type Quote, quoteOf } from './money.js'
import { ToolError } from './ToolError.js'
import { plainText } from './untrusted.js'

/** The parts that all requests of a wallet share. */
export type WalletParts = {
  readonly agent: AgentClient
  /** The paying key. */
  readonly address: string
  readonly chain: Chain
  /** Refuses a second payment for a URL while one is open. */
  readonly payments: PaymentLog
  readonly passes: PassCache
  /** The maximum of a single payment, in dollars, which a model cannot raise. */
  readonly cap: string
  readonly fetch: typeof fetch
  /** The last prices shown for each request, one per asset. */
  readonly quotes: BoundedMap<string, readonly Quote[]>
  readonly bodyLimits: BodyLimits
}

/** The response to a request. */
export type Fetched = {
  readonly status: number
  readonly body: ReceivedBody
  /** Undefined if nothing was paid. */
  readonly payment: MadePayment | undefined
}

/** The payment that was sent for a request. */
export type MadePayment = {
  readonly payment: Payment
  /** The state on the ledger. */
  readonly state: PaymentState
  /** Whether an earlier call made the payment and this one sent it again. */
  readonly isRepeat: boolean
  /** The settlement as reported by the seller, or undefined if the seller reported none. */
  readonly receipt: Receipt | undefined
}

type PurchaseOptions = {
  readonly request: FetchRequest
  readonly max: AssetAmount
  /** A price above `max` that the user has agreed to. */
  readonly agreed?: Quote | undefined
}

/** Approvals expire much earlier, when the transaction becomes invalid. */
const approvalWaitMs = 24 * 60 * 60 * 1000
const bodyMs = 60_000

export class Purchase {
  readonly request: FetchRequest
  /** Settles when the purchase has ended. A rejection is always handled. */
  readonly result: Promise<Fetched>
  /** When the purchase ended. */
  endedMs: number | undefined
  /** The number of callers that wait for the result. */
  waiting = 0
  readonly #parts: WalletParts
  readonly #options: PurchaseOptions
  readonly #abort = new AbortController()
  /** Resolves with the id of an approval if one is needed, and otherwise stays pending. */
  readonly approvalNeeded: Promise<string>
  #approvalId: string | undefined
  #announce: (approvalId: string) => void = () => {}
  /** After signing, the purchase is no longer canceled, because the payment may have been sent. */
  #isSigned = false
  #made: MadePayment | undefined
  #isRepeat = false

  constructor(parts: WalletParts, options: PurchaseOptions) {
    this.#parts = parts
    this.#options = options
    this.request = options.request
    this.approvalNeeded = new Promise((resolve) => {
      this.#announce = resolve
    })
    this.result = this.#run().finally(() => {
      this.endedMs = Date.now()
    })
    this.result.catch(() => {})
  }

  /** The approval that the purchase is waiting for, or undefined if there is none. */
  get approvalId(): string | undefined {
    return this.endedMs === undefined && !this.#isSigned ? this.#approvalId : undefined
  }

  /** Whether the purchase belongs to an approval, decided or not. */
  isFor(approvalId: string): boolean {
    return this.#approvalId === approvalId
  }

  /** Cancels the purchase if nothing is signed yet. */
  cancel(): void {
    if (!this.#isSigned) this.#abort.abort(new ToolError('declined', 'the call was canceled'))
  }

  async #run(): Promise<Fetched> {
    const { url, method, headers, body } = this.request
    try {
      const pay = await this.#payingFetch()
      const init = { method, headers: [...headers] as [string, string][], signal: this.#abort.signal }
      const response = await pay(url, body === undefined ? init : { ...init, body })
      const timer = setTimeout(() => this.#abort.abort(new Error('the body did not arrive in time')), bodyMs)
      try {
        return {
          status: response.status,
          body: await receiveBody(response, this.#parts.bodyLimits),
          payment: this.#made,
        }
      } finally {
        clearTimeout(timer)
      }
    } catch (error) {
      // Aborts a response that is not fully read.
      this.#abort.abort(error)
      throw error
    }
  }

  async #payingFetch(): Promise<typeof fetch> {
    const { agent, address, chain, payments, passes, cap, fetch } = this.#parts
    const { max } = this.#options
    const onApproval = (approvalId: string): void => {
      this.#approvalId = approvalId
      this.#announce(approvalId)
    }
    const signer = this.#watched(await fromAgent({ agent, address, approvalWaitMs, onApproval }))
    const isDollar = max.assetId === chain.dollarAssetId
    const other = { asset: max.assetId, network: chain.caip2, maxPerPayment: 2n ** 64n - 1n }
    const buyer = new Buyer({ signer, chains: chain, payments, maxPerPayment: cap, assets: isDollar ? [] : [other] })
    return payingFetch(buyer, {
      fetch,
      passes,
      answer: 'body',
      onPaymentRequired: (_, __, offers) => this.#decide(buyer, offers),
      onRepeat: () => {
        this.#isSigned = true
        this.#isRepeat = true
      },
      onPayment: (paid, receipt, state) => this.#note(paid, receipt, state),
    })
  }

  #watched(signer: Signer.Signer): Signer.Signer {
    const noted = <T>(signed: T): T => {
      this.#isSigned = true
      return signed
    }
    return {
      ...signer,
      sign: async (transaction, purpose) => noted(await signer.sign(transaction, purpose)),
      signUpto: async (authorization, purpose) => noted(await signer.signUpto!(authorization, purpose)),
    }
  }

  #note({ payment }: SignedPayment, receipt: Receipt | undefined, state: PaymentState): void {
    // The log also has the charge of a price by usage.
    const logged = this.#parts.payments.get(payment.transactionId) ?? payment
    this.#made = { payment: logged, state, isRepeat: this.#isRepeat, receipt }
  }

  /** Returns the one offer to pay, exactly as quoted, and otherwise throws the reason. */
  async #decide(buyer: Buyer, offers: readonly Offer[]): Promise<Offer> {
    const { max, agreed } = this.#options
    const { quotes, chain } = this.#parts
    const offer = offers.find(({ asset }) => asset.assetId === max.assetId)
    if (offer === undefined) {
      const prices = offers.map(quoteOf)
      const message = `the seller accepts ${prices.map(({ price }) => price).join(' or ')}, but max is in another asset`
      throw new ToolError('other_asset', message, { details: { prices } })
    }
    const quote = quoteOf(offer)
    const before = agreed ?? quotes.get(this.request.key)?.find(({ asset_id }) => asset_id === quote.asset_id)
    quotes.set(this.request.key, offers.map(quoteOf))
    if (before !== undefined && !isSameQuote(before, quote)) {
      const message = `the price was ${before.price} to ${before.pay_to} and is now ${quote.price} to ${quote.pay_to}`
      throw new ToolError('price_changed', message, { details: { before, quote } })
    }
    if (offer.amount > max.amount && agreed === undefined) {
      const message = `the price is ${quote.price}, above the max of ${amountText(max, chain)}`
      throw new ToolError('price_above_max', message, { details: { quote } })
    }
    for (const payment of openPayments(buyer.payments, this.request.url)) {
      const state = await buyer.lookUp(payment.transactionId).catch((): PaymentState => 'open')
      if (state === 'open') throw new OpenPaymentError(payment)
    }
    this.#abort.signal.throwIfAborted()
    return offer
  }
}

/**
 * Wraps a log. The check is part of `add`, which is atomic across all processes that use the log, and runs before
 * anything is signed.
 */
export function oneOpenPayment(log: PaymentLog): PaymentLog {
  return {
    add: (payment) =>
      log.exclusive(() => {
        const [open] = openPayments(log, payment.url)
        if (open !== undefined) throw new OpenPaymentError(open)
        log.add(payment)
      }),
    update: (transactionId, state, charge) => log.update(transactionId, state, charge),
    get: (transactionId) => log.get(transactionId),
    all: () => log.all(),
    spent: () => log.spent(),
    exclusive: (work) => log.exclusive(work),
    keep: (transactionId, header) => log.keep(transactionId, header),
    resume: (requestId, networks) => log.resume(requestId, networks),
    finish: (transactionId, outcome) => log.finish(transactionId, outcome),
  }
}

/** Another payment for the same URL may still be settled. Nothing was signed. */
export class OpenPaymentError extends McpError {
  override name = 'OpenPaymentError'
  readonly payment: Payment

  constructor(payment: Payment) {
    const { transactionId, lastValid } = payment
    const message = `the payment ${transactionId} for the same URL may still be settled until round ${lastValid}`
    super('tool_payment_open', message)
    this.payment = payment
  }
}

type ReceivedBody = {
  /** Undefined for a body that is not text. */
  readonly text: string | undefined
  /** The media type, without parameters. */
  readonly type: string
  /** The number of bytes that arrived. */
  readonly bytes: number
  /** Whether the text is only the beginning of the body. */
  readonly isCut: boolean
}

type BodyLimits = {
  /** The maximum number of bytes read from a body. */
  readonly maxBytes: number
  /** The maximum number of characters of text returned. */
  readonly maxLength: number
}

/** Never reads beyond the limit, which also applies to a decompressed body. */
export async function receiveBody(response: Response, { maxBytes, maxLength }: BodyLimits): Promise<ReceivedBody> {
  const type = plainText(response.headers.get('content-type')?.split(';')[0]?.trim() ?? '', 100)
  const reader = response.body?.getReader()
  const pieces: Uint8Array[] = []
  let bytes = 0
  for (let read = await reader?.read(); read !== undefined && !read.done; read = await reader?.read()) {
    pieces.push(read.value)
    bytes += read.value.length
    if (bytes > maxBytes) {
      // Enough of the body has arrived.
      await reader?.cancel().catch(() => {})
      break
    }
  }
  const text = decode(Buffer.concat(pieces).subarray(0, maxBytes), bytes > maxBytes)
  if (text === undefined) return { text: undefined, type, bytes, isCut: bytes > maxBytes }
  return { text: plainText(text, maxLength), type, bytes, isCut: bytes > maxBytes || text.length > maxLength }
}

/** Returns undefined for data that is not UTF-8, or that contains zeros as only binary files do. */
function decode(bytes: Uint8Array, isCut: boolean): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    // The cut may split a character.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut })
  } catch {
    return undefined
  }
}

/**
 * Resolves with the value of the promise once it is fulfilled, or with undefined on timeout or when the signal aborts.
 */
export async function within<T>(
  promise: Promise<T> | undefined,
  ms: number,
  signal: AbortSignal,
): Promise<T | undefined> {
  let end = (): void => {}
  const over = new Promise<undefined>((resolve) => {
    end = () => resolve(undefined)
  })
  const timer = setTimeout(end, ms)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    return await Promise.race([promise, over])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  }
}

/** A model with more purchases at once is probably in a loop. */
const maxRunning = 16
/** How long a result is kept if no call waits for it. */
const keptMs = 10 * 60 * 1000
const maxKept = 64
/** How long `close` waits for payments that were sent. */
const closeMs = 5_000

/** The running purchases: one at a time per URL, shared by all callers, and found again by the next call. */
export class Purchases {
  readonly #parts: WalletParts
  /** The purchases by the key of their request. */
  readonly #byKey = new Map<string, Purchase>()

  constructor(parts: WalletParts) {
    this.#parts = parts
  }

  /**
   * Returns the running or finished purchase for the same request, or a new one.
   *
   * @throws ToolError if another request for the same URL is being paid for, or too many are
   */
  join(options: PurchaseOptions): Purchase {
    this.#forget()
    const { key, url } = options.request
    const same = this.#byKey.get(key)
    if (same !== undefined) return same
    const running = [...this.#byKey.values()].filter(({ endedMs }) => endedMs === undefined)
    if (running.some(({ request }) => request.url === url)) {
      throw new ToolError('payment_open', 'a payment for the same URL is already in progress')
    }
    if (running.length >= maxRunning) throw new ToolError('busy', `${maxRunning} payments are already in progress`)
    const purchase = new Purchase(this.#parts, options)
    this.#byKey.set(key, purchase)
    return purchase
  }

  /** Returns the purchase that waits or has waited for an approval. */
  findByApproval(approvalId: string): Purchase | undefined {
    return [...this.#byKey.values()].find((purchase) => purchase.isFor(approvalId))
  }

  find(key: string): Purchase | undefined {
    return this.#byKey.get(key)
  }

  /**
   * A result is returned to the callers that wait for it and then removed. The same request later is a new purchase.
   */
  leave(purchase: Purchase): void {
    const { key } = purchase.request
    if (purchase.endedMs !== undefined && this.#byKey.get(key) === purchase) this.#byKey.delete(key)
  }

  /**
   * Cancels unsigned purchases and waits for the others, because answering a sent payment now avoids sending it again
   * later.
   */
  async close(): Promise<void> {
    const running = [...this.#byKey.values()].filter(({ endedMs }) => endedMs === undefined)
    for (const purchase of running) purchase.cancel()
    const ended = Promise.allSettled(running.map(({ result }) => result))
    await within(ended, closeMs, new AbortController().signal)
  }

  #forget(): void {
    const ended = [...this.#byKey].filter(([, { endedMs }]) => endedMs !== undefined)
    const old = ended.filter(
      ([, { endedMs }], index) => Date.now() - endedMs! > keptMs || index < ended.length - maxKept,
    )
    for (const [key] of old) this.#byKey.delete(key)
  }
}
