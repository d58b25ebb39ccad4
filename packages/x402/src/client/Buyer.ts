/** Somebody who pays: within limits, on networks it knows, and never without writing it down first. */

import { AlgodError } from '@latchkey/algod'
import { Address } from '@latchkey/algorand'
import { type AssetFacts, type Chain, ChainError, parseAssetId } from '../chain/Chain.js'
import * as Funds from '../chain/Funds.js'
import { type BuiltPayment, buildPayment, FeeError } from '../exact/buildPayment.js'
import * as PaymentGroup from '../exact/PaymentGroup.js'
import * as Signer from '../signer/Signer.js'
import * as Headers from '../wire/Headers.js'
import type { PaymentPayload, PaymentRequired, PaymentRequirements } from '../wire/types.js'
import { findPaymentState } from './findPaymentState.js'
import { type LimitOptions, Limits } from './Limits.js'
import { MemoryPayments, type Payment, type PaymentLog, type PaymentState } from './Payments.js'

export type BuyerOptions = LimitOptions & {
  signer: Signer.Signer
  /** Networks it pays on, the preferred first. */
  chains: Chain | readonly Chain[]
  /** For all transactions of a payment together, whoever pays it. 10,000 unless told. */
  maxFeeMicroAlgos?: bigint | undefined
  payments?: PaymentLog | undefined
}

/** A requirement that is understood, with everything that was found out about it. */
export type Offer = {
  readonly requirement: PaymentRequirements
  readonly chain: Chain
  readonly asset: AssetFacts
  readonly amount: bigint
  readonly feePayer: string | undefined
  /** In millionths, if the price is in dollars. */
  readonly microDollars: bigint | undefined
}

export type SignedPayment = {
  readonly payment: Payment
  readonly payload: PaymentPayload
  /** The value of the header PAYMENT-SIGNATURE. */
  readonly header: string
}

export type PayOptions = { signal?: AbortSignal | undefined }

const defaultMaxFeeMicroAlgos = 10_000n
const longestTimeoutSeconds = 24 * 60 * 60
/** Sellers ask for one or two; the rest is not looked at. */
const maxAccepts = 64
/** How many old payments are looked up when a limit is reached. */
const maxReviewed = 16
const maxUrlLength = 2_048

export class Buyer {
  /** The account that is paid from. */
  readonly address: string
  readonly payments: PaymentLog
  readonly #signer: Signer.Signer
  readonly #chains: readonly Chain[]
  readonly #limits: Limits
  readonly #maxFeeMicroAlgos: bigint

  constructor({ signer, chains, maxFeeMicroAlgos, payments = new MemoryPayments(), ...limits }: BuyerOptions) {
    this.address = signer.sender ?? signer.address
    if (!Address.isValid(this.address)) throw new Signer.SignerError('the signer has no valid address')
    this.#signer = signer
    this.#chains = Array.isArray(chains) ? chains : [chains as Chain]
    this.#limits = new Limits(limits)
    this.#maxFeeMicroAlgos = maxFeeMicroAlgos ?? defaultMaxFeeMicroAlgos
    this.payments = payments
  }

  /**
   * What is understood of what is asked, the best first: by the order of networks, then of assets with the dollar
   * before all, then the cheapest, then what is only charged once it is served. The rest is passed over.
   */
  async offers({ accepts }: PaymentRequired): Promise<{ offers: Offer[]; faults: string[] }> {
    const looked = await Promise.all(accepts.slice(0, maxAccepts).map((requirement) => this.#offerOf(requirement)))
    const faults = looked.filter((one) => typeof one === 'string')
    const offers = looked.filter((one) => typeof one !== 'string')
    offers.sort((a, b) => compare(this.#preference(a), this.#preference(b)))
    if (accepts.length > maxAccepts) faults.push(`only the first ${maxAccepts} requirements are looked at`)
    return { offers, faults }
  }

  /**
   * Chooses, checks, writes down and signs. Throws a PaymentRefusedError, with nothing signed, if nothing that is asked
   * may or can be paid.
   */
  async pay(required: PaymentRequired, { signal }: PayOptions = {}): Promise<SignedPayment> {
    const { offers, faults } = await this.offers(required)
    for (const offer of offers) {
      const built = await this.#prepare(offer)
      signal?.throwIfAborted()
      // Nothing is waited for between this look at the limit and the payment that counts from now on.
      const fault = typeof built === 'string' ? built : this.#sumFault(offer)
      if (typeof built !== 'string' && fault === undefined) return this.#sign(offer, built, required, signal)
      faults.push(fault!)
    }
    throw new PaymentRefusedError(faults)
  }

  /** Writes down what a seller said of a payment. That it was not settled is for the ledger alone to say. */
  receive(transactionId: string, receipt: Headers.Receipt | undefined): void {
    if (receipt?.success && receipt.transaction === transactionId) this.payments.update(transactionId, 'settled')
  }

  /** What became of a payment, by the ledger; writes it down. Throws a NodeError if the ledger cannot be asked. */
  async lookUp(transactionId: string): Promise<PaymentState> {
    const payment = this.payments.get(transactionId)
    const chain = this.#chains.find(({ caip2 }) => caip2 === payment?.network)
    if (payment === undefined || chain === undefined) throw new UnknownPaymentError(transactionId)
    if (payment.state !== 'open') return payment.state
    const state = await findPaymentState(payment, chain.algod)
    if (state !== 'open') this.payments.update(transactionId, state)
    return state
  }

  async #offerOf(requirement: PaymentRequirements): Promise<Offer | string> {
    const { scheme, network, asset, amount, payTo, maxTimeoutSeconds, extra } = requirement
    if (scheme !== 'exact') return `the scheme ${quote(scheme)} is not known`
    const chain = this.#chains.find((one) => one.matches(network))
    if (chain === undefined) return `${quote(network)} is not a network that is paid on`
    const assetId = parseAssetId(asset)
    if (assetId === undefined) return `${quote(asset)} is not the number of an asset`
    // Before a node is asked about it: whoever asks for money does not choose what we ask.
    if (this.#limits.rank(assetId, chain) === undefined) {
      return `payments in asset ${assetId} are not allowed; name it among the assets with a limit`
    }
    const units = /^[1-9][0-9]{0,19}$/.test(amount) ? BigInt(amount) : 0n
    if (units === 0n || units >= 2n ** 64n) return `${quote(amount)} is not an amount`
    if (!Address.isValid(payTo)) return `payTo is not an address: ${quote(payTo)}`
    if (!(maxTimeoutSeconds > 0 && maxTimeoutSeconds <= longestTimeoutSeconds)) return 'the time limit makes no sense'
    const flow = extra?.['paymentFlow'] ?? 'authorization'
    if (flow !== 'authorization' && flow !== 'upfront') return 'the payment flow is not known'
    return orFault(async () => {
      const facts = await chain.asset(assetId)
      const microDollars = this.#limits.microDollars(units, facts, chain)
      const feePayer = this.#feePayerOf(extra?.['feePayer'])
      return { requirement, chain, asset: facts, amount: units, feePayer, microDollars }
    })
  }

  #preference({ requirement, chain, asset, amount }: Offer): bigint[] {
    const isUpfront = requirement.extra?.['paymentFlow'] === 'upfront'
    const rank = this.#limits.rank(asset.assetId, chain)!
    return [BigInt(this.#chains.indexOf(chain)), BigInt(rank), amount, isUpfront ? 1n : 0n]
  }

  /** Somebody who pays the fees and is named as ourselves pays nothing for us. */
  #feePayerOf(feePayer: unknown): string | undefined {
    const isOther = typeof feePayer === 'string' && Address.isValid(feePayer) && feePayer !== this.address
    return isOther ? feePayer : undefined
  }

  /** The transactions, ready to be signed; or why they cannot be. */
  async #prepare(offer: Offer): Promise<BuiltPayment | string> {
    const { requirement, chain, asset, amount, feePayer } = offer
    const { payTo, maxTimeoutSeconds } = requirement
    const { assetId } = asset
    const fault = this.#limits.fault(amount, asset, chain)
    if (fault !== undefined) return fault
    return orFault(async () => {
      if (this.#sumFault(offer) !== undefined) await this.#review(chain)
      const sumFault = this.#sumFault(offer)
      if (sumFault !== undefined) return sumFault
      const [payer, parameters] = [this.address, await chain.parameters()]
      const maxFeeMicroAlgos = this.#maxFeeMicroAlgos
      const order = { chain, parameters, payer, payTo, assetId, amount, feePayer, maxTimeoutSeconds, maxFeeMicroAlgos }
      const built = buildPayment(order)
      const faults = await Promise.all([
        Funds.payerFault(chain, { payer, assetId, amount, feeMicroAlgos: built.feeMicroAlgos }),
        Funds.receiverFault(chain, payTo, assetId),
      ])
      return faults.find((one) => one !== undefined) ?? built
    })
  }

  #sumFault({ amount, asset, chain }: Offer): string | undefined {
    return this.#limits.sumFault(amount, asset, chain, this.payments.spent())
  }

  /** Payments that nobody ever settled do not count for ever. */
  async #review(chain: Chain): Promise<void> {
    const { lastRound } = await chain.parameters()
    const old = this.payments
      .all()
      .filter(
        ({ state, network, lastValid }) => state === 'open' && network === chain.caip2 && BigInt(lastValid) < lastRound,
      )
    await Promise.all(old.slice(0, maxReviewed).map(({ transactionId }) => this.lookUp(transactionId)))
  }

  async #sign(
    offer: Offer,
    built: BuiltPayment,
    required: PaymentRequired,
    signal?: AbortSignal,
  ): Promise<SignedPayment> {
    const { requirement } = offer
    const transfer = built.transactions[built.paymentIndex]!
    const payment = paymentOf(offer, built, required.resource.url)
    const members = built.transactions.map((txn) => PaymentGroup.bareBytes(txn))
    this.payments.add(payment)
    try {
      members[built.paymentIndex] = await Signer.signTransaction(this.#signer, transfer)
      signal?.throwIfAborted()
    } catch (error) {
      // Whatever was signed goes nowhere from here, so that it can never be settled.
      this.payments.update(payment.transactionId, 'expired')
      throw error
    }
    const { resource, extensions } = required
    const payload: PaymentPayload = {
      x402Version: 2,
      resource,
      accepted: requirement,
      payload: PaymentGroup.toPayload(members, built.paymentIndex),
      // What a seller declared is said back to it unchanged.
      ...(extensions === undefined ? {} : { extensions }),
    }
    return { payment, payload, header: Headers.encode(payload) }
  }
}

function paymentOf({ requirement, chain, microDollars }: Offer, built: BuiltPayment, url: string): Payment {
  const { transactionId, transactions, paymentIndex, lastValid } = built
  const { payTo, asset, amount } = requirement
  return {
    transactionId,
    network: chain.caip2,
    url: url.slice(0, maxUrlLength),
    payTo,
    asset,
    amount,
    microDollars: microDollars?.toString(),
    firstValid: (transactions[paymentIndex]!.fv ?? 0n).toString(),
    lastValid: lastValid.toString(),
    signedMs: Date.now(),
    state: 'open',
  }
}

/** What the world is not ready for is no reason not to look at the next requirement. */
async function orFault<T>(work: () => Promise<T>): Promise<T | string> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AlgodError || error instanceof ChainError || error instanceof FeeError) return error.message
    throw error
  }
}

function compare(a: readonly bigint[], b: readonly bigint[]): number {
  for (const [index, value] of a.entries()) if (value !== b[index]) return value < b[index]! ? -1 : 1
  return 0
}

/** Words of a stranger: not too many, and nothing that a terminal would obey. */
function quote(text: string): string {
  return JSON.stringify(text.slice(0, 60)).replace(/[\x7f-\x9f]/g, '?')
}

const maxReasons = 10

/** Nothing was signed. */
export class PaymentRefusedError extends Error {
  override name = 'PaymentRefusedError'
  readonly reasons: readonly string[]

  constructor(reasons: readonly string[]) {
    const more = reasons.length > maxReasons ? [`and ${reasons.length - maxReasons} reasons more`] : []
    super(`not paid: ${[...reasons.slice(0, maxReasons), ...more].join('; ')}`)
    this.reasons = reasons
  }
}

export class UnknownPaymentError extends Error {
  override name = 'UnknownPaymentError'

  constructor(transactionId: string) {
    super(`no payment ${transactionId} is known here, or its network is not`)
  }
}
