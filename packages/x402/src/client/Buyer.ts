/** Pays offers of sellers: within limits, on the networks it was given, and never without recording the payment first. */

import { AlgodError } from '@latchkey/algod'
import { Address, Network } from '@latchkey/algorand'
import { type AssetInfo, type Chain, ChainError, chainList, parseAssetId } from '../chain/Chain.js'
import * as Funds from '../chain/Funds.js'
import { type BuiltPayment, buildPayment, FeeError } from '../exact/buildPayment.js'
import * as PaymentGroup from '../exact/PaymentGroup.js'
import * as Signer from '../signer/Signer.js'
import * as Headers from '../wire/Headers.js'
import type { PaymentPayload, PaymentRequired, PaymentRequirements } from '../wire/types.js'
import { findPaymentState } from './findPaymentState.js'
import { type LimitOptions, Limits } from './Limits.js'
import { PaymentRefusedError, type RefusalCode, type RefusalReason } from './PaymentRefusedError.js'
import { MemoryPayments, type Payment, type PaymentLog, PaymentLogError, type PaymentState } from './Payments.js'

/** Options of a {@link Buyer}. */
export type BuyerOptions = LimitOptions & {
  /** The key that pays. */
  signer: Signer.Signer
  /** The networks to pay on, the preferred one first. */
  chains: Chain | readonly Chain[]
  /**
   * The highest fee for all transactions of a payment together, whichever account pays it.
   *
   * @default 10_000n
   */
  maxFeeMicroAlgos?: bigint | undefined
  /**
   * Where payments are recorded.
   *
   * @default new MemoryPayments()
   */
  payments?: PaymentLog | undefined
}

/** A payment requirement that the buyer understands, with what was looked up about it. */
export type Offer = {
  readonly requirement: PaymentRequirements
  readonly chain: Chain
  readonly asset: AssetInfo
  /** In base units. */
  readonly amount: bigint
  /** The account that pays the fees, if it is not the buyer. */
  readonly feePayer: string | undefined
  /** The price in millionths of a dollar, if it is in dollars. */
  readonly microDollars: bigint | undefined
}

/** A payment that is recorded and signed. */
export type SignedPayment = {
  readonly payment: Payment
  readonly payload: PaymentPayload
  /** The value of the header PAYMENT-SIGNATURE. */
  readonly header: string
}

/** Options of {@link Buyer.pay}. */
export type PayOptions = {
  /** Cancels the payment until it is signed. */
  signal?: AbortSignal | undefined
}

const defaultMaxFeeMicroAlgos = 10_000n
const maxTimeoutSecondsAccepted = 24 * 60 * 60
/** Sellers send one or two offers; the rest is not read. */
const maxOffers = 64
/** How many open payments are looked up when a limit is reached. */
const maxReviewed = 16
const maxUrlLength = 2_048

/**
 * Pays within limits, with a key that a signer holds.
 *
 * @example
 * const buyer = new Buyer({ signer, chains: chain, maxPerPayment: '$0.10', maxTotal: '$5' })
 * const response = await payingFetch(buyer)('https://example.com/weather')
 */
export class Buyer {
  /** The account that pays. */
  readonly address: string
  /** The payment log. */
  readonly payments: PaymentLog
  readonly #signer: Signer.Signer
  readonly #chains: readonly Chain[]
  readonly #limits: Limits
  readonly #maxFeeMicroAlgos: bigint

  /**
   * @throws SignerError for a signer without an address
   * @throws OptionsError without a chain
   * @throws PriceError for a limit that cannot be read
   */
  constructor({ signer, chains, maxFeeMicroAlgos, payments = new MemoryPayments(), ...limits }: BuyerOptions) {
    this.address = Signer.checkSender(signer)
    this.#signer = signer
    this.#chains = chainList(chains)
    this.#limits = new Limits(limits)
    this.#maxFeeMicroAlgos = maxFeeMicroAlgos ?? defaultMaxFeeMicroAlgos
    this.payments = payments
  }

  /**
   * The offers that the buyer understands, the best one first: by the order of networks, then of assets with the dollar
   * before all others, then by price, then those that are charged only once they are served. `reasons` says why the
   * others are left out. Limits and funds are checked by {@link Buyer.pay}.
   */
  async offers({ accepts }: PaymentRequired): Promise<{ offers: Offer[]; reasons: RefusalReason[] }> {
    const prices = withoutSpellings(accepts)
    const results = await Promise.all(prices.slice(0, maxOffers).map((requirement) => this.#readOffer(requirement)))
    const reasons = results.filter(isReason)
    const offers = results.filter((result): result is Offer => !isReason(result))
    offers.sort((a, b) => compare(this.#preference(a), this.#preference(b)))
    if (prices.length > maxOffers) {
      reasons.push({ code: 'too_many_offers', message: `only the first ${maxOffers} offers are read` })
    }
    return { offers, reasons }
  }

  /**
   * Chooses an offer, checks it, records the payment and signs it.
   *
   * @throws PaymentRefusedError if none of the offers may or can be paid; nothing is signed then
   * @throws SignerError if the signer returns no valid signature
   */
  async pay(required: PaymentRequired, { signal }: PayOptions = {}): Promise<SignedPayment> {
    const { offers, reasons } = await this.offers(required)
    for (const offer of offers) {
      const built = await this.#prepare(offer)
      signal?.throwIfAborted()
      // Nothing is awaited between this check of the limit and the record of the payment, which counts from then on.
      const reason = isReason(built) ? built : this.#totalProblem(offer)
      if (reason === undefined) return this.#sign(offer, built as BuiltPayment, required, signal)
      const { network, asset } = offer.requirement
      reasons.push({ ...reason, network, asset })
    }
    throw new PaymentRefusedError(reasons)
  }

  /** Records that a seller reports a payment as settled. That a payment is not settled only the ledger can say. */
  receive(transactionId: string, receipt: Headers.Receipt | undefined): void {
    if (receipt?.success && receipt.transaction === transactionId) this.payments.update(transactionId, 'settled')
  }

  /**
   * Looks up the state of a payment on the ledger, and records it.
   *
   * @throws PaymentLogError if the payment is not in the log
   * @throws AlgodError if no node responds
   */
  async lookUp(transactionId: string): Promise<PaymentState> {
    const payment = this.payments.get(transactionId)
    const chain = this.#chains.find(({ caip2 }) => caip2 === payment?.network)
    if (payment === undefined || chain === undefined) {
      const message = `the payment ${transactionId} is not in the log, or its network is not one of the buyer's`
      throw new PaymentLogError('unknown_payment', message)
    }
    if (payment.state !== 'open') return payment.state
    const state = await findPaymentState(payment, chain.algod)
    if (state !== 'open') this.payments.update(transactionId, state)
    return state
  }

  async #readOffer(requirement: PaymentRequirements): Promise<Offer | RefusalReason> {
    const { scheme, network, asset, amount, payTo, maxTimeoutSeconds, extra } = requirement
    const refuse = (code: RefusalCode, message: string): RefusalReason => ({ code, message, network, asset })
    if (scheme !== 'exact') return refuse('unsupported_scheme', `the scheme ${quote(scheme)} is not supported`)
    const chain = this.#chains.find((one) => one.matches(network))
    if (chain === undefined) return refuse('unsupported_network', `${quote(network)} is not a network that is paid on`)
    const assetId = parseAssetId(asset)
    if (assetId === undefined) return refuse('invalid_offer', `${quote(asset)} is not the id of an asset`)
    // Before a node is queried about it: a seller does not choose what the buyer requests of its node.
    if (this.#limits.rank(assetId, chain) === undefined) {
      const message = `payments in asset ${assetId} are not allowed; add it to \`assets\` with a limit`
      return refuse('asset_not_allowed', message)
    }
    const units = /^[1-9][0-9]{0,19}$/.test(amount) ? BigInt(amount) : 0n
    if (units === 0n || units >= 2n ** 64n) return refuse('invalid_offer', `${quote(amount)} is not an amount`)
    if (!Address.isValid(payTo)) return refuse('invalid_offer', `payTo is not an address: ${quote(payTo)}`)
    if (!(maxTimeoutSeconds > 0 && maxTimeoutSeconds <= maxTimeoutSecondsAccepted)) {
      return refuse('invalid_offer', 'maxTimeoutSeconds is out of range')
    }
    const flow = extra?.['paymentFlow'] ?? 'authorization'
    if (flow !== 'authorization' && flow !== 'upfront') {
      return refuse('unsupported_payment_flow', 'the payment flow is not supported')
    }
    const offer = await orReason(async () => {
      const info = await chain.asset(assetId)
      const microDollars = this.#limits.microDollars(units, info, chain)
      const feePayer = this.#feePayerOf(extra?.['feePayer'])
      return { requirement, chain, asset: info, amount: units, feePayer, microDollars }
    })
    return isReason(offer) ? { ...offer, network, asset } : offer
  }

  #preference({ requirement, chain, asset, amount }: Offer): bigint[] {
    const isUpfront = requirement.extra?.['paymentFlow'] === 'upfront'
    const rank = this.#limits.rank(asset.assetId, chain)!
    return [BigInt(this.#chains.indexOf(chain)), BigInt(rank), amount, isUpfront ? 1n : 0n]
  }

  /** The buyer itself, named as the fee payer, pays the fees as if none were named. */
  #feePayerOf(feePayer: unknown): string | undefined {
    const isOther = typeof feePayer === 'string' && Address.isValid(feePayer) && feePayer !== this.address
    return isOther ? feePayer : undefined
  }

  /** The transactions, ready to be signed; or why they cannot be. */
  async #prepare(offer: Offer): Promise<BuiltPayment | RefusalReason> {
    const { requirement, chain, asset, amount, feePayer } = offer
    const { payTo, maxTimeoutSeconds } = requirement
    const { assetId } = asset
    const problem = this.#limits.paymentProblem(amount, asset, chain)
    if (problem !== undefined) return problem
    return orReason(async () => {
      if (this.#totalProblem(offer) !== undefined) await this.#review(chain)
      const totalProblem = this.#totalProblem(offer)
      if (totalProblem !== undefined) return totalProblem
      const [payer, parameters] = [this.address, await chain.parameters()]
      const maxFeeMicroAlgos = this.#maxFeeMicroAlgos
      const order = { chain, parameters, payer, payTo, assetId, amount, feePayer, maxTimeoutSeconds, maxFeeMicroAlgos }
      const built = buildPayment(order)
      const problems = await Promise.all([
        Funds.payerProblem(chain, { payer, assetId, amount, feeMicroAlgos: built.feeMicroAlgos }),
        Funds.receiverProblem(chain, payTo, assetId),
      ])
      const fundsProblem = problems.find((one) => one !== undefined)
      return fundsProblem === undefined ? built : reasonOfFunds(fundsProblem)
    })
  }

  #totalProblem({ amount, asset, chain }: Offer): RefusalReason | undefined {
    return this.#limits.totalProblem(amount, asset, chain, this.payments.spent())
  }

  /** Open payments that have expired must not count against a limit for ever. */
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
      // Nothing that was signed leaves this process, so it can never be settled.
      this.payments.update(payment.transactionId, 'expired')
      throw error
    }
    const { resource, extensions } = required
    const payload: PaymentPayload = {
      x402Version: 2,
      resource,
      accepted: requirement,
      payload: PaymentGroup.toPayload(members, built.paymentIndex),
      // Extensions of the seller are echoed unchanged, as the protocol says.
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

/** Sellers send a price once for each id of its network. It is one offer, in the spelling that comes first. */
function withoutSpellings(accepts: readonly PaymentRequirements[]): PaymentRequirements[] {
  const seen = new Map<string, PaymentRequirements>()
  for (const requirement of accepts) {
    const { network } = requirement
    const key = JSON.stringify({ ...requirement, network: Network.normalize(network) ?? network })
    if (!seen.has(key)) seen.set(key, requirement)
  }
  return [...seen.values()]
}

function isReason<T extends object>(result: T | RefusalReason): result is RefusalReason {
  return 'code' in result
}

function reasonOfFunds(problem: Funds.FundsProblem): RefusalReason {
  const { code, asked, left } = problem
  const message = Funds.describe(problem)
  if (asked === undefined || left === undefined) return { code, message }
  const unit = code === 'insufficient_algos' ? 'micro_algos' : 'base_units'
  return { code, message, asked: `${asked}`, left: `${left}`, unit }
}

/** What is wrong with a node, an asset or a fee is a reason to try the next offer. */
async function orReason<T>(work: () => Promise<T>): Promise<T | RefusalReason> {
  try {
    return await work()
  } catch (error) {
    const reason = reasonOfError(error)
    if (reason === undefined) throw error
    return reason
  }
}

function reasonOfError(error: unknown): RefusalReason | undefined {
  if (error instanceof AlgodError) return { code: 'node_unavailable', message: error.message }
  if (error instanceof FeeError) {
    const { code, message, feeMicroAlgos, maxFeeMicroAlgos } = error
    return { code, message, asked: `${feeMicroAlgos}`, limit: `${maxFeeMicroAlgos}`, unit: 'micro_algos' }
  }
  if (!(error instanceof ChainError)) return undefined
  return { code: error.code === 'wrong_network' ? 'wrong_network' : 'unknown_asset', message: error.message }
}

function compare(a: readonly bigint[], b: readonly bigint[]): number {
  for (const [index, value] of a.entries()) if (value !== b[index]) return value < b[index]! ? -1 : 1
  return 0
}

/** Text from outside: bounded, and without control characters that a terminal would obey. */
function quote(text: string): string {
  return JSON.stringify(text.slice(0, 60)).replace(/[\x7f-\x9f]/g, '?')
}
