/** One request and its single payment, which continues regardless of its callers. */
import {
  Buyer,
  fromAgent,
  type Offer,
  type Payment,
  type PaymentState,
  payingFetch,
  type Receipt,
  type SignedPayment,
  type Signer,
} from '@latchkey/x402/client'
import { openPayments } from '../client/openPayments.js'
import type { FetchRequest } from './FetchRequest.js'
import { type AssetAmount, amountText, isSameQuote, type Quote, quoteOf } from './money.js'
import { OpenPaymentError } from './OneOpenPayment.js'
import { type ReceivedBody, receiveBody } from './receiveBody.js'
import { ToolError } from './ToolError.js'
import type { WalletParts } from './WalletParts.js'

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

export type PurchaseOptions = {
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
    const sign: Signer.Signer['sign'] = async (transaction, purpose) => {
      const signed = await signer.sign(transaction, purpose)
      this.#isSigned = true
      return signed
    }
    return { ...signer, sign }
  }

  #note({ payment }: SignedPayment, receipt: Receipt | undefined, state: PaymentState): void {
    this.#made = { payment, state, isRepeat: this.#isRepeat, receipt }
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
      const message = `the price was ${before.price} to ${before.payTo} and is now ${quote.price} to ${quote.payTo}`
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
