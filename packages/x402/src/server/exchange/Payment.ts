/**
 * A seller's view of a payment: the payer, the amount and the state; the payment that opened a request; and the checks
 * that the gate makes without trusting a facilitator: whether a payment matches its requirement, and whether it is on
 * the ledger.
 */

import { AlgodError } from '@latchkey/algod'
import { Address, Amount, Bytes, Network, VisibleText } from '@latchkey/algorand'
import {
  PaymentGroup,
  type PaymentPayload,
  type PaymentRequirements,
  type Price,
  UptoPayment,
} from '@latchkey/x402-wire'
import { type AssetInfo, algoAssetId, type Chain, parseAssetId } from '../../chain/Chain.js'

/**
 * A payment that the gate has checked. All members come from the transaction that the buyer signed, and can be
 * serialized as JSON.
 */
export type Payment = {
  /**
   * The permanent id of the payment: the same in every event, on the ledger and in the buyer's receipt. For a price by
   * usage, the id of the authorization; `settlement` is then the id on the ledger.
   */
  readonly transactionId: string
  /** The address of the account that pays. */
  readonly payer: string
  /** The address that is paid. */
  readonly payTo: string
  /**
   * The exact amount in base units, such as `10000`. For a price by usage, the authorized maximum until it is settled,
   * then the charge.
   */
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
  /**
   * Sets the charge of a price by usage: the total so far, in dollars or base units. A later call replaces it. Fractions
   * of a base unit are not charged. Undefined for other prices. Not part of the JSON.
   *
   * @throws UsageError if the amount cannot be parsed, or is above the maximum
   */
  readonly charge?: ((price: Price) => void) | undefined
  /** The authorized maximum of a price by usage, in base units. */
  readonly maxAmount?: string | undefined
  /** The id of the transaction that settled a price by usage; empty if nothing was charged. */
  readonly settlement?: string | undefined
}

/** The remaining validity of the pass that opened a request. */
export type PassUse = {
  /** When the pass expires, in milliseconds since 1970. */
  readonly untilMs: number
  /** How many more requests the pass opens; undefined if requests are not counted. */
  readonly requestsLeft: number | undefined
}

/** A change of a payment. */
export type PaymentChange = Pick<Payment, 'state'> & {
  readonly round?: number | undefined
  /** The charge within a price by usage. */
  readonly charged?: Charged | undefined
}

/** The settlement of a price by usage. */
export type Charged = { readonly amount: string; readonly settlement: string }

/** The current state of a payment. Each change replaces the object, so that a caller's copy stays unchanged. */
export class PaymentStatus {
  #current: Payment

  constructor(payment: Payment) {
    this.#current = Object.freeze(payment)
  }

  get current(): Payment {
    return this.#current
  }

  change({ state, round = this.#current.round, charged }: PaymentChange): Payment {
    // A settlement on the ledger is final, even if a later repeat fails.
    if (this.#current.state === 'settled' && state !== 'settled') return this.#current
    this.#current = Object.freeze({ ...this.#current, state, round, ...this.#chargedMembers(charged) })
    return this.#current
  }

  #chargedMembers(charged: Charged | undefined): Partial<Payment> {
    if (charged === undefined) return {}
    const { decimals, assetName } = this.#current
    return { ...charged, amountText: formatAmount(charged.amount, decimals, assetName) }
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
  if (decimals === undefined) return `${Amount.group(amount)} base units of ${assetName}`
  return `${Amount.formatGrouped(BigInt(amount), decimals)} ${assetName}`
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

const granted = new WeakSet<object>()

/** Records that a hook granted access to a request. */
export function noteGranted(request: object): void {
  granted.add(request)
}

/** Whether a hook granted access to a request. */
export function isGranted(request: object): boolean {
  return granted.has(request)
}

/** Stores the payment of a request, if there is one, for the objects that a framework derives from the request. */
export function sharePayment(request: object, others: readonly (object | undefined)[]): void {
  if (granted.has(request)) for (const other of others) if (other !== undefined) granted.add(other)
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

const passed = new WeakMap<object, Map<object, string>>()

/**
 * Whether the request has already paid at the gate, for the same method and path. A gate that is mounted twice, for an
 * app and for its route, takes one payment.
 */
export function hasPassed(request: object, gate: object, target: string): boolean {
  return passed.get(request)?.get(gate) === target
}

/** Called when the handler has ended. A program that then passes the same request again has to pay again. */
export function forgetPassed(request: object, gate: object): void {
  passed.get(request)?.delete(gate)
}

export function notePassed(request: object, gate: object, target: string): void {
  const gates = passed.get(request) ?? new Map<object, string>()
  passed.set(request, gates.set(gate, target))
}

export type LedgerPayment = {
  readonly transactionId: string
  readonly payer: string
  readonly firstValid: bigint
  readonly lastValid: bigint
  /** The authorization of a price by usage. `transactionId` is then its id, which no ledger knows. */
  readonly authorization?: UptoPayment.Authorization | undefined
}

export type LedgerStatus = {
  /** `submitted`: pending in a node. `expired`: not on the ledger, and can never be. */
  readonly state: 'unsubmitted' | 'submitted' | 'settled' | 'expired'
  /** The current round. */
  readonly round: bigint
  /** The round of the settlement. */
  readonly settledRound?: bigint | undefined
}

/** How long a node may lag behind the node that settled a payment. */
const lagMs = 10_000
const firstWaitMs = 100
const maxWaitMs = 1_000

/** Returns the payment in a payload, or the reason why it does not match the requirement. */
export function readLedgerPayment(
  payload: PaymentPayload,
  requirement: PaymentRequirements,
  chain: Chain,
): LedgerPayment | string {
  if (requirement.scheme === 'upto') return readAuthorization(payload, requirement, chain)
  let payment: ReturnType<typeof PaymentGroup.readPayment>
  try {
    payment = PaymentGroup.readPayment(payload.payload)
  } catch (error) {
    if (error instanceof PaymentGroup.GroupError) return error.message
    throw error
  }
  const { txn, sender, transactionId } = payment
  const isAlgo = parseAssetId(requirement.asset) === algoAssetId
  if (txn.gh === undefined || !Bytes.equal(txn.gh, chain.genesisHash)) return 'the payment is for another network'
  if (txn.type !== (isAlgo ? 'pay' : 'axfer')) return 'the payment does not transfer the asset'
  if (!isAlgo && txn.xaid?.toString() !== requirement.asset) return 'the payment is in another asset'
  const [receiver, amount = 0n] = isAlgo ? [txn.rcv, txn.amt] : [txn.arcv, txn.aamt]
  if (receiver === undefined || Address.encode(receiver) !== requirement.payTo) {
    return 'the payment is to another account'
  }
  if (amount.toString() !== requirement.amount) return `the payment is ${amount} base units`
  return { transactionId, payer: sender, firstValid: txn.fv ?? 0n, lastValid: txn.lv ?? 0n }
}

const mismatches: { readonly [term in UptoPayment.Mismatch]: string } = {
  network: 'the authorization is for another network',
  asset: 'the authorization is for another asset',
  payTo: 'the authorization is for another account',
  facilitator: 'the authorization is for another facilitator',
  amount: 'the authorization is for another maximum',
}

function readAuthorization(
  payload: PaymentPayload,
  requirement: PaymentRequirements,
  chain: Chain,
): LedgerPayment | string {
  try {
    const authorization = UptoPayment.read(payload.payload)
    const term = UptoPayment.mismatch(authorization, requirement, chain.genesisHash)
    if (term !== undefined) return mismatches[term]
    const { id, terms } = authorization
    const firstValid = UptoPayment.firstValidOf(terms)
    return { transactionId: id, payer: terms.payer, firstValid, lastValid: terms.lastValid, authorization }
  } catch (error) {
    if (error instanceof UptoPayment.UptoError) return error.message
    throw error
  }
}

/**
 * The amount that a transaction on the ledger charged of an authorization, and its round; undefined if it is not there,
 * or is another transaction.
 */
export async function findCharge(
  { algod }: Chain,
  authorization: UptoPayment.Authorization,
  transactionId: string,
): Promise<{ readonly amount: bigint; readonly round: bigint } | undefined> {
  const endMs = performance.now() + lagMs
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, maxWaitMs)) {
    const { state, transaction } = await algod.transactionDetails(transactionId)
    if (transaction !== undefined && !UptoPayment.isTransfer(authorization.terms, transaction)) return undefined
    if (state.type === 'confirmed' && transaction !== undefined) {
      return { amount: transaction.aamt ?? 0n, round: state.round }
    }
    if (performance.now() + waitMs > endMs) return undefined
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}

/** Looks up a payment. Throws an AlgodError if no node responds, or too few to confirmPayment that the payment has expired. */
export async function lookUpPayment(
  chain: Chain,
  { transactionId, lastValid }: Pick<LedgerPayment, 'transactionId' | 'lastValid'>,
): Promise<LedgerStatus> {
  if (UptoPayment.isId(transactionId)) {
    // The ledger does not know the id. The facilitator decides whether the authorization was used.
    const { lastRound: round } = await chain.parameters()
    return { state: round <= lastValid ? 'unsubmitted' : 'expired', round }
  }
  const found = await chain.algod.transaction(transactionId)
  const { lastRound: round } = await chain.parameters()
  if (found.type === 'confirmed') return { state: 'settled', round, settledRound: found.round }
  if (found.type === 'pending') return { state: 'submitted', round }
  if (round <= lastValid) return { state: 'unsubmitted', round }
  return { ...(await decideExpired(chain, transactionId, lastValid)), round }
}

/**
 * Decides about a payment that was not found. A quorum of nodes, each past its last valid round, must confirmPayment the
 * expiry.
 */
async function decideExpired(
  { algod }: Chain,
  transactionId: string,
  lastValid: bigint,
): Promise<Omit<LedgerStatus, 'round'>> {
  const { state, absences } = await algod.lookUpEverywhere(transactionId)
  if (state.type === 'confirmed') return { state: 'settled', settledRound: state.round }
  if (state.type === 'pending') return { state: 'submitted' }
  const count = absences.filter(({ round }) => round > lastValid).length
  if (count >= algod.quorum) return { state: 'expired' }
  throw new AlgodError('no_quorum', `${count} of ${algod.quorum} nodes report that the payment has expired`)
}

/**
 * The round of a payment's settlement, after the node had time to catch up; undefined if the payment is not on the
 * ledger.
 */
export async function confirmPayment(chain: Chain, { transactionId }: LedgerPayment): Promise<bigint | undefined> {
  const endMs = performance.now() + lagMs
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, maxWaitMs)) {
    const round = await roundOfPayment(chain, transactionId)
    if (round !== undefined) return round
    if (performance.now() + waitMs > endMs) return undefined
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}

/** The round of a transaction's confirmation; undefined if no node knows it now. */
export async function roundOfPayment(chain: Chain, transactionId: string): Promise<bigint | undefined> {
  try {
    const found = await chain.algod.transaction(transactionId)
    return found.type === 'confirmed' ? found.round : undefined
  } catch (error) {
    if (error instanceof AlgodError) return undefined
    throw error
  }
}
