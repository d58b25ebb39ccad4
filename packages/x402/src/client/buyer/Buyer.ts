/** Pays sellers' offers within limits, on the given networks. Every payment is recorded before it is signed. */

import * as Tracing from '@latchkey/algod/tracing'
import { Bytes, Network } from '@latchkey/algorand'
import {
  type BuiltPayment,
  buildPayment,
  checkFee,
  PaymentGroup,
  PaymentHeaders,
  PaymentIdentifier,
  type PaymentPayload,
  type PaymentRequired,
  PaymentSecret,
  UptoPayment,
  withoutSpellings,
} from '@latchkey/x402-wire'
import { type Chain, chainList } from '../../chain/Chain.js'
import { OptionsError } from '../../errors.js'
import * as Signer from '../../signer/Signer.js'
import { BlockSearches } from '../store/BlockSearches.js'
import {
  findAuthorizationState,
  findPaymentState,
  isPastAnswer,
  MemoryPayments,
  type Payment,
  type PaymentLog,
  PaymentLogError,
  type PaymentState,
} from '../store/Payments.js'
import * as Offers from './Offer.js'
import { FundsCache, isReason, type LimitOptions, Limits, orReason, reasonOfFunds } from './Offer.js'
import * as PaidRequest from './PaidRequest.js'
import { PaymentRefusedError, type RefusalReason } from './PaymentRefusedError.js'

/** Options of a {@link Buyer}. */
export type BuyerOptions = LimitOptions & {
  /** The key that pays. */
  signer: Signer.Signer
  /** The networks to pay on, the preferred one first. */
  chains: Chain | readonly Chain[]
  /**
   * The highest fee for all transactions of a payment together, including fees paid by another account.
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

type Offer = Offers.Offer
/** A payment to sign: transactions, or an authorization for a price by usage. */
type Prepared = BuiltPayment | UptoPayment.UnsignedAuthorization

/** A recorded and signed payment. */
export type SignedPayment = {
  readonly payment: Payment
  readonly payload: PaymentPayload
  /** The PAYMENT-SIGNATURE header for the first attempt. */
  readonly header: string
  /** The PAYMENT-SIGNATURE header for repeats. Proves that the same buyer sends the payment. */
  readonly repeatHeader: string
}

/** Options of {@link Buyer.pay}. */
export type PayOptions = {
  /**
   * The offer to pay, from the result of {@link Buyer.offers} for the same 402. No other offer is paid.
   *
   * @default the first one that can be paid
   */
  offer?: Offer | undefined
  /**
   * The request that is paid for. The request is recorded. {@link Buyer.resume} finds the payment by it after the
   * caller has reported with `buyer.payments.finish` that no answer came.
   */
  request?: PaidRequest.PaidRequest | undefined
  /**
   * A payment for the same request that the seller refused and that may still be settled. Both payments must be in one
   * asset, and together within the limit for one payment.
   *
   * @default none
   */
  refused?: Payment | undefined
  /**
   * The name of the purchase: 16 to 128 letters, digits, `-` and `_`. A seller that supports names charges all payments
   * under one name once. Ignored by other sellers.
   *
   * @default none; a random one if the seller requires a name
   */
  paymentIdentifier?: string | undefined
  /**
   * Called with the offer that is about to be recorded and signed. An error thrown here ends the call, and nothing is
   * signed.
   */
  onSelected?: ((offer: Offer) => Promise<void> | void) | undefined
  /** Cancels the payment if it is not signed yet. */
  signal?: AbortSignal | undefined
}

type PrepareOptions = {
  readonly refused?: Payment | undefined
  /** Whether to look up funds now instead of using cached balances. */
  readonly isFresh: boolean
}

type Signing = {
  readonly payment: Payment
  readonly required: PaymentRequired
  readonly paymentIdentifier: string | undefined
  readonly signal: AbortSignal | undefined
}

/** The usable offers, and the reasons why others are left out. */
export type OfferList = { offers: Offer[]; reasons: RefusalReason[] }

const defaultMaxFeeMicroAlgos = 10_000n
/** Sellers send one or two offers. Further offers are not read. */
const maxOffers = 64
/** Each check sends requests to the node, and sellers choose the number of offers. */
const maxChecked = 16
/** How many open payments are looked up when a limit is reached. */
const maxReviewed = 16
const maxUrlLength = 2_048
const maxDescriptionLength = 500

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
  readonly #funds = new FundsCache()
  readonly #searches = new BlockSearches()

  /**
   * @throws SignerError for a signer without an address
   * @throws OptionsError if no chain is passed
   * @throws PriceError for a limit that cannot be parsed
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
   * Lists the offers that the buyer understands, the best one first. Offers are sorted by the order of networks, then
   * of assets with the dollar first, then by price. At the same price, offers that charge after serving come first.
   * `reasons` explains why the others are left out. {@link Buyer.payableOffers} and {@link Buyer.pay} check limits and
   * funds.
   */
  async offers(required: PaymentRequired): Promise<OfferList> {
    const prices = withoutSpellings(required)
    const reader = this.#reader()
    const results = await Promise.all(prices.slice(0, maxOffers).map((price) => Offers.read(price, reader)))
    const reasons = results.filter(isReason)
    const offers = results.filter((result): result is Offer => !isReason(result))
    if (prices.length > maxOffers) {
      reasons.push({ code: 'too_many_offers', message: `only the first ${maxOffers} offers are read` })
    }
    return { offers: Offers.sort(offers, reader), reasons }
  }

  /** Lists the offers of {@link Buyer.offers} that are within the limits and that the account can pay now. */
  async payableOffers(required: PaymentRequired): Promise<OfferList> {
    const { offers, reasons } = await this.offers(required)
    if (offers.length > maxChecked) {
      reasons.push({ code: 'too_many_offers', message: `only the best ${maxChecked} offers are checked` })
    }
    const best = offers.slice(0, maxChecked)
    const results = await Promise.all(
      best.map(async (offer) => ({ offer, built: await this.#prepare(offer, { isFresh: true }) })),
    )
    const payable = results.flatMap(({ offer, built }) => (isReason(built) ? [] : [offer]))
    const problems = results.flatMap(({ offer, built }) => (isReason(built) ? [reasonFor(offer, built)] : []))
    return { offers: payable, reasons: [...reasons, ...problems] }
  }

  /**
   * Chooses an offer, checks it, records the payment and signs it. With `offer`, no other offer is paid.
   *
   * @throws PaymentRefusedError if none of the offers may or can be paid; nothing is signed then
   * @throws SignerError if the signer returns no valid signature
   * @throws PaymentLogError if the payment cannot be recorded; nothing is signed then
   * @throws OptionsError for a `paymentIdentifier` of another form
   */
  async pay(required: PaymentRequired, options: PayOptions = {}): Promise<SignedPayment> {
    const { offer: chosen, request, refused, paymentIdentifier, onSelected, signal } = options
    if (paymentIdentifier !== undefined && !PaymentIdentifier.isValid(paymentIdentifier)) {
      throw new OptionsError('paymentIdentifier is not 16 to 128 letters, digits, hyphens and underscores')
    }
    const { offers, reasons } = await (chosen === undefined ? this.offers(required) : this.#pinned(required, chosen))
    for (const offer of offers) {
      const built = await this.#prepare(offer, { refused, isFresh: chosen !== undefined })
      if (onSelected !== undefined && !isReason(built)) await onSelected(offer)
      signal?.throwIfAborted()
      const reason = isReason(built) ? built : this.#reserve(offer, built, required, request)
      if (!isReason(reason)) {
        this.#funds.spend(offer.chain, this.address, offer.asset.assetId, offer.amount)
        return this.#sign(offer, built as Prepared, { payment: reason, required, paymentIdentifier, signal })
      }
      reasons.push(reasonFor(offer, reason))
    }
    throw new PaymentRefusedError(reasons)
  }

  /**
   * Finds a payment that was sent earlier for the same request and has no answer. Send that payment again with its
   * `repeatHeader` instead of making a new one. Payments that can no longer be settled are not returned.
   * `buyer.payments.finish` ends the wait for the answer.
   *
   * @throws PaymentRefusedError if the payment may still be settled and exceeds a limit that was lowered since
   */
  async resume(request: PaidRequest.PaidRequest): Promise<SignedPayment | undefined> {
    const requestId = PaidRequest.idOf(request, this.address)
    const networks = this.#chains.map(({ caip2 }) => caip2)
    for (;;) {
      const found = this.payments.resume(requestId, networks)
      if (found === undefined) return undefined
      const { payment, header } = found
      // If no node responds, the payment may still be settled, and another payment could be a second charge.
      const state = await this.lookUp(payment.transactionId).catch(() => 'open' as const)
      const { algod } = this.#chains.find(({ caip2 }) => caip2 === payment.network)!
      const isPast = state === 'open' && (await isPastAnswer(payment, algod))
      if (isPast) this.payments.finish(payment.transactionId, 'answered')
      if (state === 'expired' || isPast) continue
      const problem = state === 'open' ? await this.#limitProblem(payment) : undefined
      if (problem === undefined) {
        const payload = PaymentHeaders.decodePayment(header)
        return { payment: { ...payment, state }, payload, header, repeatHeader: header }
      }
      this.payments.finish(payment.transactionId, 'unanswered')
      throw new PaymentRefusedError([problem])
    }
  }

  /**
   * Looks up the state of a payment on the ledger and records it. The seller's report does not count.
   *
   * @param settlement the transaction that the seller reports as the charge of an authorization; it counts only if the
   * ledger has it, and it is the authorized transfer
   * @throws PaymentLogError if the payment is not in the log
   * @throws AlgodError if no node responds
   */
  async lookUp(transactionId: string, settlement?: string | undefined): Promise<PaymentState> {
    const payment = this.payments.get(transactionId)
    const chain = this.#chains.find(({ caip2 }) => caip2 === payment?.network)
    if (payment === undefined || chain === undefined) {
      const message = `the payment ${transactionId} is not in the log, or its network is not one of the buyer's`
      throw new PaymentLogError('unknown_payment', message)
    }
    if (payment.state !== 'open') return payment.state
    if (UptoPayment.isId(transactionId)) return this.#lookUpCharge(payment, chain, settlement)
    const state = await findPaymentState(payment, chain.algod, this.#searches)
    if (state !== 'open') this.payments.update(transactionId, state)
    return state
  }

  async #lookUpCharge(payment: Payment, chain: Chain, settlement: string | undefined): Promise<PaymentState> {
    const { transactionId } = payment
    const authorization = { ...payment, payer: this.address }
    const found = await findAuthorizationState(authorization, chain.algod, this.#searches, settlement)
    if (found.state === 'expired') this.payments.update(transactionId, 'expired')
    if (found.state !== 'settled') return found.state
    const asset = await chain.asset(BigInt(payment.asset))
    const microDollars = this.#limits.microDollars(found.amount!, asset, chain)?.toString()
    const charge = { amount: found.amount!.toString(), microDollars, transactionId: settlement }
    this.payments.update(transactionId, 'settled', charge)
    return 'settled'
  }

  #reader(): Offers.OfferReader {
    return { address: this.address, chains: this.#chains, limits: this.#limits }
  }

  /** Reads the chosen offer again from this 402, so neither the seller nor the caller can change it in between. */
  async #pinned(required: PaymentRequired, chosen: Offer): Promise<OfferList> {
    const { offers } = await this.offers(required)
    const offer = offers.find((one) => Offers.isSame(one, chosen))
    if (offer !== undefined) return { offers: [offer], reasons: [] }
    const message = 'the chosen offer is not one of the offers, or has changed since it was shown'
    return { offers: [], reasons: [reasonFor(chosen, { code: 'offer_changed', message })] }
  }

  /** Builds the transactions to sign, or returns the reason why the offer cannot be paid. */
  async #prepare(offer: Offer, { refused, isFresh }: PrepareOptions): Promise<Prepared | RefusalReason> {
    const { requirement, chain, asset, amount, feePayer } = offer
    const { payTo, maxTimeoutSeconds } = requirement
    const { assetId } = asset
    const problem = refused === undefined ? undefined : this.#pairProblem(offer, refused)
    const ownProblem = this.#limits.paymentProblem(amount, asset, chain)
    if (ownProblem !== undefined || problem !== undefined) return (ownProblem ?? problem)!
    return orReason(async () => {
      if (this.#totalProblem(offer) !== undefined) await this.#review(chain)
      const totalProblem = this.#totalProblem(offer)
      if (totalProblem !== undefined) return totalProblem
      const [payer, parameters] = [this.address, await chain.parameters()]
      const isPublicNetwork = isPublic(parameters.genesisHash)
      const common = { isPublicNetwork, payer, payTo, assetId, maxTimeoutSeconds }
      if (requirement.scheme === 'upto' && this.#signer.signUpto === undefined) return noUpto
      const built: Prepared =
        requirement.scheme === 'upto'
          ? UptoPayment.buildAuthorization({ ...common, ...parameters, maxAmount: amount, facilitator: feePayer! })
          : buildPayment({ ...common, parameters, amount, feePayer })
      if (!isAuthorization(built)) checkFee(built, this.#maxFeeMicroAlgos)
      const feeMicroAlgos = isAuthorization(built) ? 0n : built.feeMicroAlgos
      const problems = await Promise.all([
        this.#funds.payerProblem(chain, { payer, assetId, amount, feeMicroAlgos }, { isFresh }),
        this.#funds.receiverProblem(chain, payTo, assetId, { isFresh }),
      ])
      const fundsProblem = problems.find((one) => one !== undefined)
      return fundsProblem === undefined ? built : reasonOfFunds(fundsProblem)
    })
  }

  /**
   * Returns the reason why a payment may not be made in addition to one that the seller refused; otherwise undefined.
   */
  #pairProblem({ amount, asset, chain }: Offer, refused: Payment): RefusalReason | undefined {
    const { transactionId, network } = refused
    const why = `the payment ${transactionId} of the same request was refused and may still be settled`
    if (network !== chain.caip2 || refused.asset !== asset.assetId.toString()) {
      return { code: 'above_payment_limit', message: `${why}, in another asset` }
    }
    const problem = this.#limits.paymentProblem(amount + BigInt(refused.amount), asset, chain)
    return problem === undefined ? undefined : { ...problem, message: `${why}; together with it, ${problem.message}` }
  }

  /** Returns the reason why a payment signed earlier may no longer be sent; otherwise undefined. */
  async #limitProblem({ network, asset, amount, transactionId }: Payment): Promise<RefusalReason | undefined> {
    const chain = this.#chains.find(({ caip2 }) => caip2 === network)!
    const problem = await orReason(async () => {
      return this.#limits.paymentProblem(BigInt(amount), await chain.asset(BigInt(asset)), chain) ?? undefined
    })
    if (problem?.code !== 'above_payment_limit') return undefined
    const message = `the payment ${transactionId} of an earlier attempt may still be settled, but ${problem.message}`
    return { ...problem, message, network, asset }
  }

  #totalProblem({ amount, asset, chain }: Offer): RefusalReason | undefined {
    return this.#limits.totalProblem(amount, asset, chain, this.payments.spent())
  }

  /** Finds payments that have expired, the latest first: nodes may have dropped the blocks of older ones. */
  async #review(chain: Chain): Promise<void> {
    const { lastRound } = await chain.parameters()
    const old = this.payments
      .all()
      .filter(
        ({ state, network, lastValid }) => state === 'open' && network === chain.caip2 && BigInt(lastValid) < lastRound,
      )
    await Promise.allSettled(old.slice(-maxReviewed).map(({ transactionId }) => this.lookUp(transactionId)))
  }

  /**
   * Checks the total limit and records the payment in one step. Other processes with the same log respect that step.
   */
  #reserve(
    offer: Offer,
    built: Prepared,
    required: PaymentRequired,
    request: PaidRequest.PaidRequest | undefined,
  ): Payment | RefusalReason {
    const requestId = request === undefined ? undefined : PaidRequest.idOf(request, this.address)
    const payment = recordOf(offer, built, required, { url: request?.url ?? '', requestId })
    return this.payments.exclusive(() => {
      const problem = this.#totalProblem(offer)
      if (problem === undefined) this.payments.add(payment)
      return problem ?? payment
    })
  }

  async #sign(
    { requirement }: Offer,
    built: Prepared,
    { payment, required, paymentIdentifier, signal }: Signing,
  ): Promise<SignedPayment> {
    const { transactionId, url } = payment
    try {
      const description = required.resource.description?.slice(0, maxDescriptionLength)
      const purpose = { url, description, signal }
      const attributes = { [Tracing.names.payment]: transactionId, [Tracing.names.network]: payment.network }
      const signed = await Tracing.span(
        'buyer.sign',
        { attributes },
        (): Promise<PaymentPayload['payload']> =>
          isAuthorization(built)
            ? Signer.signAuthorization(this.#signer, built, purpose)
            : signGroup(this.#signer, built, purpose),
      )
      signal?.throwIfAborted()
      const { resource, extensions } = required
      const unnamed: PaymentPayload = {
        x402Version: 2,
        resource,
        accepted: requirement,
        payload: signed,
        // The seller's extensions are echoed unchanged, as the protocol requires, except for this buyer's additions.
        ...(extensions === undefined ? {} : { extensions }),
      }
      const isNameRequired = PaymentIdentifier.declared(extensions) === 'required'
      const id = paymentIdentifier ?? (isNameRequired ? PaymentIdentifier.create() : undefined)
      const plain = id === undefined ? unnamed : PaymentIdentifier.add(unnamed, id)
      const { secret, hash } = PaymentSecret.create()
      const payload = PaymentSecret.add(plain, hash)
      const repeatHeader = PaymentHeaders.encode(PaymentSecret.reveal(plain, secret))
      if (payment.requestId !== undefined) this.payments.keep(transactionId, repeatHeader)
      return { payment, payload, header: PaymentHeaders.encode(payload), repeatHeader }
    } catch (error) {
      // The signed transaction never leaves this process, so it can never be settled.
      this.payments.update(transactionId, 'expired')
      throw error
    }
  }
}

const noUpto: RefusalReason = {
  code: 'unsupported_scheme',
  message: 'the signer does not sign authorizations of the scheme upto',
}

function isAuthorization(built: Prepared): built is UptoPayment.UnsignedAuthorization {
  return 'nonce' in built
}

/** Signs the transaction that pays, and returns the payload of the group. */
async function signGroup(signer: Signer.Signer, built: BuiltPayment, purpose: Signer.SigningPurpose) {
  const members = [...built.encoded]
  const { snd: sender } = built.transactions[built.paymentIndex]!
  const transfer = { bytes: members[built.paymentIndex]!, sender }
  members[built.paymentIndex] = await Signer.signCanonical(signer, transfer, purpose)
  return PaymentGroup.toPayload(members, built.paymentIndex)
}

function isPublic(genesisHash: Uint8Array): boolean {
  const text = Bytes.toBase64(genesisHash)
  return Network.known.some((network) => network.genesisHash === text)
}

function recordOf(
  { requirement, chain, microDollars }: Offer,
  built: Prepared,
  required: PaymentRequired,
  { url, requestId }: { url: string; requestId: string | undefined },
): Payment {
  const { transactionId, firstValid, lastValid } = idAndRounds(built)
  const { payTo, asset, amount } = requirement
  return {
    transactionId,
    network: chain.caip2,
    url: url.slice(0, maxUrlLength),
    claimedResource: required.resource.url.slice(0, maxUrlLength),
    ...(requestId === undefined ? {} : { requestId }),
    payTo,
    asset,
    amount,
    microDollars: microDollars?.toString(),
    firstValid: firstValid.toString(),
    lastValid: lastValid.toString(),
    signedMs: Date.now(),
    state: 'open',
  }
}

function idAndRounds(built: Prepared): { transactionId: string; firstValid: bigint; lastValid: bigint } {
  if (isAuthorization(built)) {
    const { id: transactionId, terms, firstValid } = built
    return { transactionId, firstValid, lastValid: terms.lastValid }
  }
  const { transactionId, transactions, paymentIndex, lastValid } = built
  return { transactionId, firstValid: transactions[paymentIndex]!.fv ?? 0n, lastValid }
}

function reasonFor({ requirement: { network, asset } }: Offer, reason: RefusalReason): RefusalReason {
  return { ...reason, network, asset }
}
