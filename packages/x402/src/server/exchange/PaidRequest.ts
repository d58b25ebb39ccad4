/** A payment read from a request, and matched with the price of its route. */
import * as Tracing from '@latchkey/algod/tracing'
import {
  Discovery,
  PaymentHeaders,
  PaymentIdentifier,
  type PaymentPayload,
  type PaymentRequired,
  type PaymentRequirements,
  PaymentSecret,
  UptoPayment,
} from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import type { EventPayment, EventRequest } from '../gate/GateEvents.js'
import type { PaymentIdentifierOption, Route } from '../gate/GateOptions.js'
import { type HeaderList, invalidIdentifier } from '../gate/responses.js'
import type { Passes, PassOffer } from '../passes/Passes.js'
import { bindingOf, claimantOf, digest, type GateRequest, pathsOf, proofOf, resourceOf } from '../routes/GateRequest.js'
import { type Accept, type Requirements, usagePrice } from '../routes/Requirements.js'
import { hasDynamicPrice, type PaidRoute } from '../routes/RouteTable.js'
import type { ClaimLease, ClaimPurchase, ClaimStore, StoredPurchase } from '../store/Claims.js'
import type { GateResponse } from './Admission.js'
import {
  assetOf,
  describePayment,
  type LedgerPayment,
  type LedgerStatus,
  type Payment,
  PaymentStatus,
  readLedgerPayment,
} from './Payment.js'
import { Usage } from './Usage.js'

/** A way to pay for a route. */
export type RouteAccept = { readonly accept: Accept; readonly chain: Chain }
/** A way to pay for a request, with its price. */
export type PricedAccept = RouteAccept & { readonly requirement: PaymentRequirements }

/** The price of a request. */
export type Offer = {
  readonly request: GateRequest
  readonly paidRoute: PaidRoute
  /** The ways to pay that a facilitator serves now. */
  readonly accepts: readonly PricedAccept[]
  /** Whether a way to pay lets the response be streamed, even one that no facilitator serves now. */
  readonly isStreamed: boolean
  readonly required: PaymentRequired
  readonly pass: PassOffer | undefined
  /** The request as reported to hooks. */
  readonly event: EventRequest
}

/** A request with a payment that matches its route. */
export type PaidRequest = {
  readonly request: GateRequest
  readonly chain: Chain
  /** The payload in the form that facilitators get. */
  readonly payload: PaymentPayload
  readonly requirement: PaymentRequirements
  readonly required: PaymentRequired
  readonly payment: LedgerPayment
  readonly binding: string
  readonly proof: ClaimLease['proof']
  readonly claimant: string
  /** The id of the claim store when the claimant was computed. The id changes if the store loses its claims. */
  readonly claimsId: string
  /** Whether the payment is settled before the handler runs. */
  readonly isSettledFirst: boolean
  readonly isStreamed: boolean
  /** The charge of a price by usage; undefined for other prices. */
  readonly usage: Usage | undefined
  /** Whether the requirement is not a current one, but that of an earlier claim. The claim must then exist. */
  readonly isOfEarlierClaim: boolean
  readonly refuse: (error: string, message?: string) => GateResponse
  /** The payment as reported to hooks. */
  readonly event: EventPayment
  /** Returns the headers of the pass that the buyer gets after settlement; undefined if there are no passes. */
  readonly issuePass: (() => Promise<HeaderList>) | undefined
  /** The purchase that the buyer named. */
  readonly purchase: ClaimPurchase | undefined
  /** Reads the first payment of the purchase in place of this one, on behalf of its payer. */
  readonly follow: (first: StoredPurchase, isPatient: boolean) => Promise<PaidRequest | GateResponse>
}

/** The parts of a gate that payments are read with. */
export type PaidRequestParts = {
  readonly requirements: Requirements
  readonly claims: ClaimStore
  /** Undefined if no route has passes. */
  readonly passes: Passes | undefined
  readonly refuse: (offer: Offer, error: string, message?: string, paid?: EventPayment) => GateResponse
  /** Whether buyers may or must name purchases of the route. */
  readonly identifier: PaymentIdentifierOption | undefined
  readonly respond: (request: Request, response: Response) => GateResponse
}

/** Reads the payment of a request, and refuses one that is not for the offer. */
export function read(
  parts: PaidRequestParts,
  offer: Offer,
  header: string,
): Promise<PaidRequest | GateResponse> | GateResponse {
  const { required, request } = offer
  const invalid = (message: string): GateResponse => parts.refuse(offer, 'invalid_payload', message)
  const payload = decode(header)
  if (typeof payload === 'string') return invalid(payload)
  if (!isForThis(payload, required)) return invalid('the payment is for another resource')
  if (parts.identifier === undefined) return readPayload(parts, offer, payload)
  const id = PaymentIdentifier.read(payload)
  if (id === null || (id === undefined && parts.identifier === 'required')) {
    return parts.respond(request.request, invalidIdentifier(id === undefined))
  }
  return readPayload(parts, offer, payload, { id })
}

/** The buyer's name of the purchase, or the first payment of a purchase that another one continues. */
type Naming = {
  readonly id?: string | undefined
  /** The purchase and its first payment, and the holder of the pass. */
  readonly continued?: {
    readonly first: StoredPurchase
    readonly purchase: ClaimPurchase
    readonly holder: string | undefined
  }
}

async function readPayload(
  parts: PaidRequestParts,
  offer: Offer,
  payload: PaymentPayload,
  { id, continued }: Naming = {},
): Promise<PaidRequest | GateResponse> {
  const { requirements, claims, passes, refuse } = parts
  const { request, paidRoute, required, pass } = offer
  const { key, route } = paidRoute
  const invalid = (message: string): GateResponse => refuse(offer, 'invalid_payload', message)
  const current = offer.accepts.map(({ requirement }) => requirement)
  const found = requirements.find(payload, current, request.quoteBinding)
  const requirement = found ?? (await claimedRequirement(payload, requirements, claims))
  if (requirement === undefined) return refuse(offer, 'No matching payment requirements')
  const chain = requirements.chainOf(requirement)
  const payment = readLedgerPayment(payload, requirement, chain)
  if (typeof payment === 'string') return invalid(payment)
  const proof = PaymentSecret.read(payload)
  if (typeof proof === 'string') return invalid(proof)
  if (Tracing.isOn()) {
    Tracing.annotate({ [Tracing.names.payment]: payment.transactionId, [Tracing.names.network]: chain.caip2 })
  }
  if (payment.authorization !== undefined && request.isUpgrade) {
    return invalid('an upgraded connection cannot be charged by usage')
  }
  const asset = await assetOf(chain, requirement.asset)
  const usage = usageOf(route, requirement, { payment, decimals: asset?.decimals })
  const described = describePayment({ chain, requirement, payment, route: key, asset })
  const status = new PaymentStatus(usage === undefined ? described : { ...described, ...usageMembers(usage) })
  const event = { ...offer.event, chain, status, ledger: payment }
  const isOfEarlierClaim = found === undefined
  const claimsId = claims.id
  const terms = [
    ...(isPricedByRequest(route) ? [request.quoteBinding, ...pathsOf(request)] : []),
    ...(pass === undefined ? [] : [pass.terms.scope]),
  ]
  const stripped = PaymentSecret.strip(payload)
  const purchase = continued?.purchase ?? (id === undefined ? undefined : purchaseOf(id))
  const holder = continued === undefined ? proof.hash : continued.holder
  return {
    request,
    chain,
    payload: withSellersDescription(stripped, required),
    requirement,
    required,
    payment,
    binding: continued?.first.binding ?? bindingOf(request, proof, terms),
    proof: continued === undefined ? proofOf(proof) : 'secret',
    claimant: claimantOf(claimsId, request),
    claimsId,
    // The messages of an upgraded connection are its answer.
    isSettledFirst:
      usage === undefined && (requirement.extra['paymentFlow'] === 'upfront' || request.isUpgrade || isOfEarlierClaim),
    isStreamed: usage === undefined && (request.isUpgrade || offer.isStreamed),
    usage,
    isOfEarlierClaim,
    issuePass:
      pass === undefined
        ? undefined
        : () => passes!.issue(request, pass, { payment, requirement, network: chain.caip2, holder }),
    refuse: (error, message) => refuse(offer, error, message, event),
    event,
    purchase,
    follow: (first, isPatient) => {
      const earlier = JSON.parse(first.payload) as PaymentPayload
      const named = { ...purchase!, payload: first.payload, replaces: undefined, isPatient }
      return readPayload(parts, offer, earlier, { continued: { first, purchase: named, holder: proof.hash } })
    },
  }

  /** The payer is a part of the key, so that another account cannot use the name. */
  function purchaseOf(name: string): ClaimPurchase {
    const { scheme, asset, amount, payTo } = requirement!
    const { payer } = payment as LedgerPayment
    return {
      key: digest([payer, name]),
      fingerprint: digest([scheme, chain.caip2, asset, amount, payTo, resourceOf(request), request.overrides, terms]),
      // Extensions are as large as the buyer likes, and not needed to settle.
      payload: JSON.stringify({ ...stripped, extensions: undefined }),
    }
  }
}

/**
 * The payment with the seller's description of the route, as facilitators get it. Buyers only copy the description, and
 * could change what a catalogue shows about the seller.
 */
export function withSellersDescription(
  payload: PaymentPayload,
  { resource, extensions }: PaymentRequired,
): PaymentPayload {
  const declared = extensions?.[Discovery.key]
  const { [Discovery.key]: copied, ...others } = (payload.extensions ?? {}) as { [key: string]: unknown }
  if (declared === undefined && copied === undefined) return payload
  const { url } = payload.resource ?? resource
  return {
    ...payload,
    resource: { ...resource, url },
    extensions: declared === undefined ? others : { ...others, [Discovery.key]: declared },
  }
}

/** The charge of an authorization, by the route's price for its scheme. */
function usageOf(
  { accepts }: Route,
  { asset }: PaymentRequirements,
  { payment, decimals }: { readonly payment: LedgerPayment; readonly decimals: number | undefined },
): Usage | undefined {
  if (payment.authorization === undefined) return undefined
  const { maxAmount } = payment.authorization.terms
  const prices = [accepts].flat().flatMap((accept) => usagePrice(accept as Accept) ?? [])
  // If the route's terms have changed since the authorization, the buyer's advantage decides.
  const whenUnset = prices.length > 0 && prices.every((one) => one.whenUnset === 'maximum') ? 'maximum' : 'nothing'
  const isStreamed = prices.some(({ stream }) => stream === true)
  return new Usage({ asset, decimals, maxAmount, whenUnset, isStreamed })
}

function usageMembers(usage: Usage): Pick<Payment, 'charge' | 'maxAmount'> {
  return { charge: (price) => usage.charge(price), maxAmount: usage.maxAmount.toString() }
}

/** The requirement of a payment that was claimed here and whose price has changed since. */
async function claimedRequirement(
  payload: PaymentPayload,
  requirements: Requirements,
  claims: ClaimStore,
): Promise<PaymentRequirements | undefined> {
  const accepted = requirements.claimed(payload)
  if (accepted === undefined) return undefined
  const payment = readLedgerPayment(payload, accepted, requirements.chainOf(accepted))
  // The transaction has the amount and the payee of the claim.
  return typeof payment !== 'string' && (await claims.has(payment.transactionId)) ? accepted : undefined
}

/** Whether the price of a route may differ between requests. A claim is then bound to the same values as its quote. */
function isPricedByRequest(route: Route): boolean {
  return hasDynamicPrice(route) || route.varyBy !== undefined
}

function decode(header: string): PaymentPayload | string {
  try {
    return PaymentHeaders.decodePayment(header)
  } catch (error) {
    if (error instanceof PaymentHeaders.HeaderError) return error.message
    throw error
  }
}

/** Checks that the payment names this resource. The host may differ, because servers have several names. */
function isForThis({ resource }: PaymentPayload, required: PaymentRequired): boolean {
  if (resource?.url === undefined || resource.url === required.resource.url) return true
  if (!URL.canParse(resource.url)) return false
  const [paid, current] = [new URL(resource.url), new URL(required.resource.url)]
  // The fragment of a route's own `resource` is a part of its name.
  const isSamePart = current.hash === '' || paid.hash === current.hash
  return paid.pathname === current.pathname && paid.search === current.search && isSamePart
}

/** How long a handler may take beyond `maxTimeoutSeconds`. */
const graceMs = 60_000
/** How long the facilitators may take after the handler. */
export const settleMs = 240_000
/** An answer is no longer stored this long before its claim ends, because another request may get the claim. */
export const holdMarginMs = 30_000
/** How long a claim is kept after its payment has expired. */
export const keepClaimRounds = 1_000n

/**
 * How long the handler of a payment may take. The handler of a price by usage gets no more than its authorization
 * covers.
 */
export function handlerMs({ requirement, usage }: Pick<PaidRequest, 'requirement' | 'usage'>): number {
  return requirement.maxTimeoutSeconds * 1000 + (usage === undefined ? graceMs : 0)
}

/** A transaction is valid for at most 1,000 rounds, and a node may lag behind the buyer's node. */
const maxAheadRounds = 2_000n

/** Why a payment opens nothing. */
export type LedgerProblem = { readonly code: string; readonly message: string }

/**
 * Returns why the payment opens nothing, by its rounds, before a facilitator is asked; undefined if a facilitator
 * decides.
 */
export function ledgerProblem(
  ledger: LedgerStatus,
  paid: Pick<PaidRequest, 'payment' | 'usage' | 'requirement'>,
  isKnown: boolean,
): LedgerProblem | undefined {
  const { state, round } = ledger
  const { payment, usage } = paid
  const code = usage === undefined ? 'invalid_exact_avm_payload_validity' : 'invalid_upto_avm_payload_validity'
  // An authorization that was claimed here may have been settled in time, and its answer may be held.
  if (state === 'expired' && !(usage !== undefined && isKnown)) return { code, message: 'the payment has expired' }
  // Such a payment would be claimed and stay undecided for as long as its sender chooses.
  if (state === 'unsubmitted' && payment.lastValid > round + maxAheadRounds) {
    return { code, message: 'the payment is not valid yet' }
  }
  return isKnown ? undefined : validityProblem(ledger, paid)
}

/** Returns why the handler must not run: the authorization would expire before the longest work can be settled. */
export function validityProblem(
  { round }: LedgerStatus,
  { payment, usage, requirement }: Pick<PaidRequest, 'payment' | 'usage' | 'requirement'>,
): LedgerProblem | undefined {
  const firstAllowed = round + UptoPayment.requiredRounds(requirement)
  if (usage === undefined || payment.lastValid >= firstAllowed) return undefined
  const message = `the authorization is valid until round ${payment.lastValid}; sign one that is valid until round ${firstAllowed} or later`
  return { code: 'upto_validity_too_short', message }
}

/** The refusal of a payer that left earlier work unpaid. */
export const leftUnpaid: LedgerProblem = {
  code: 'payer_left_unpaid',
  message: 'an earlier payment of this account could not be settled after the work',
}
