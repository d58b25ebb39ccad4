/** A seller's view of a payment: the payer, the amount and the state; and the payment that opened a request. */
import { Amount, Network, VisibleText } from '@latchkey/algorand'
import type { PaymentRequirements } from '@latchkey/x402-wire'
import { type AssetInfo, type Chain, parseAssetId } from '../../chain/Chain.js'
import type { LedgerPayment } from './LedgerPayment.js'

/**
 * A payment that the gate has checked. All members come from the transaction that the buyer signed, and can be
 * serialized as JSON.
 */
export type Payment = {
  /** The permanent id of the payment: the same in every event, on the ledger and in the buyer's receipt. */
  readonly transactionId: string
  /** The address of the account that pays. */
  readonly payer: string
  /** The address that is paid. */
  readonly payTo: string
  /** The exact amount in base units, such as `10000`. */
  readonly amount: string
  /** The exact amount with its unit, such as `0.01 USDC`. */
  readonly amountText: string
  /** The id of the asset; `0` is ALGO. */
  readonly asset: string
  /** The unit name of the asset; `asset 123` if it has none, or no node has reported it. */
  readonly assetName: string
  /** The decimals of the asset; undefined if no node has reported them. */
  readonly decimals: number | undefined
  /** The canonical CAIP-2 id of the network. */
  readonly network: string
  /** The display name of the network, such as `TestNet` or `local network`. */
  readonly networkName: string
  /** The key of the paid route, such as `GET /weather`. */
  readonly route: string
  /**
   * `verified`: valid, and not settled yet. `settled`: on the ledger. `pending`: submitted, and the ledger has not
   * decided. `failed`: not settled, or the handler failed and nothing was charged.
   */
  readonly state: 'verified' | 'settled' | 'pending' | 'failed'
  /** The round of the settlement, when it is known. */
  readonly round: number | undefined
  /** Set if the payment opened an earlier request, and its pass opened this one. */
  readonly pass?: PassUse | undefined
}

/** The remaining validity of the pass that opened a request. */
export type PassUse = {
  /** When the pass expires, in milliseconds since 1970. */
  readonly untilMs: number
  /** How many more requests the pass opens; undefined if requests are not counted. */
  readonly requestsLeft: number | undefined
}

/** A change of a payment. */
export type PaymentChange = Pick<Payment, 'state'> & { readonly round?: number | undefined }

/** The current state of a payment. Each change replaces the object, so that a caller's copy stays unchanged. */
export class PaymentStatus {
  #current: Payment

  constructor(payment: Payment) {
    this.#current = Object.freeze(payment)
  }

  get current(): Payment {
    return this.#current
  }

  change({ state, round = this.#current.round }: PaymentChange): Payment {
    // A settlement on the ledger is final, even if a later repeat fails.
    if (this.#current.state === 'settled' && state !== 'settled') return this.#current
    this.#current = Object.freeze({ ...this.#current, state, round })
    return this.#current
  }
}

export type PaymentParts = {
  readonly chain: Chain
  readonly requirement: Pick<PaymentRequirements, 'amount' | 'asset' | 'payTo'>
  readonly payment: Pick<LedgerPayment, 'transactionId' | 'payer'>
  readonly route: string
  readonly asset: AssetInfo | undefined
}

export function describePayment({ chain, requirement, payment, route, asset }: PaymentParts): Payment {
  const { amount, payTo } = requirement
  const assetName = asset === undefined ? `asset ${requirement.asset}` : unitOf(asset)
  const amountText = formatAmount(amount, asset?.decimals, assetName)
  const { transactionId, payer } = payment
  return {
    transactionId,
    payer,
    payTo,
    amount,
    amountText,
    asset: requirement.asset,
    assetName,
    decimals: asset?.decimals,
    network: chain.caip2,
    networkName: Network.displayName(chain.caip2),
    route,
    state: 'verified',
    round: undefined,
  }
}

/** An amount with its unit; base units if the decimals are not known. */
export function formatAmount(amount: string, decimals: number | undefined, assetName: string): string {
  if (decimals === undefined) return `${amount} base units of ${assetName}`
  return `${Amount.format(BigInt(amount), decimals)} ${assetName}`
}

/**
 * The asset of a requirement; undefined if no node reports it. Looked up once, and never a reason to refuse a payment.
 */
export async function assetOf(chain: Chain, asset: string): Promise<AssetInfo | undefined> {
  const assetId = parseAssetId(asset)
  if (assetId === undefined) return undefined
  try {
    return await chain.asset(assetId)
  } catch {
    return undefined
  }
}

/** Sanitized, because the creator of an asset chooses its name, which appears in terminals and pages. */
function unitOf({ name }: AssetInfo): string {
  return VisibleText.replaceHidden(name.slice(0, 40), '?')
}

/** Keyed by the request object itself, so that nothing a client sends can set the payment of a request. */
const payments = new WeakMap<object, PaymentStatus>()

/** Stores the payment of a request, for {@link paymentOf}. */
export function notePayment(request: object, status: PaymentStatus): void {
  payments.set(request, status)
}

/** Stores the payment of a request, if there is one, for the objects that a framework derives from the request. */
export function sharePayment(request: object, others: readonly (object | undefined)[]): void {
  const status = payments.get(request)
  if (status === undefined) return
  for (const other of others) if (other !== undefined) payments.set(other, status)
}

/**
 * The payment that opened a request: the payer, the amount and the transaction. Undefined if nothing was paid: on a
 * free route, and before the gate.
 *
 * In a handler a payment is `verified`, or `settled` if the route settles first. Call `paymentOf` again after the
 * response to get the outcome. When a buyer repeats a paid request to get the same response again, the handler does not
 * run, and middleware around the gate sees the same payment.
 *
 * @param request the request of `node:http`, Express or Fastify, the context or request of Hono, or the `Request` that was
 * passed to `gate.decide`
 * @example
 * app.get('/weather', (request, response) => {
 *   const payment = paymentOf(request)
 *   console.log(`${payment?.payer} pays ${payment?.amountText}`)
 *   response.json({ weather: 'sunny' })
 * })
 */
export function paymentOf(request: object): Payment | undefined {
  return find(request)?.current
}

/** Frameworks wrap requests: Fastify in `raw`, Hono in `req.raw`, and Hono's server on Node in `env.incoming`. */
function find(request: object | undefined | null, depth = 0): PaymentStatus | undefined {
  if (typeof request !== 'object' || request === null) return undefined
  const known = payments.get(request)
  if (known !== undefined || depth === 2) return known
  const { raw, req, env } = request as { raw?: object; req?: object; env?: { incoming?: object } }
  return find(raw, depth + 1) ?? find(req, depth + 1) ?? find(env?.incoming, depth + 1)
}
