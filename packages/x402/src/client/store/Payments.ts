/** The payment log of a buyer. Records every signed payment, so that limits hold and no payment is made twice. */

import type { Algod } from '@latchkey/algod'
import { BoundedMap } from '@latchkey/algorand'
import { UptoPayment } from '@latchkey/x402-wire'
import { PartyError } from '../../errors.js'
import { BlockSearches } from './BlockSearches.js'

/**
 * The state of a payment. `open`: signed, and may still be settled. `settled`: on the ledger. `expired`: can never be
 * settled.
 */
export type PaymentState = 'open' | 'settled' | 'expired'

/** A payment in the payment log. Amounts and rounds are decimal strings. */
export type Payment = {
  readonly transactionId: string
  /** The canonical CAIP-2 id. */
  readonly network: string
  /** The URL that the buyer requested; empty if the caller of `Buyer.pay` did not pass a request. */
  readonly url: string
  /** The seller's name for the resource. This is an unconfirmed claim. */
  readonly claimedResource?: string | undefined
  /** Identifies the paid request by payer, method, URL, headers and body. */
  readonly requestId?: string | undefined
  readonly payTo: string
  /** The id of the asset; `0` is ALGO. */
  readonly asset: string
  /** The amount in base units. */
  readonly amount: string
  /** The amount in millionths of a dollar, if the asset is the dollar of its network. */
  readonly microDollars: string | undefined
  /** The first round in which the payment can be settled. */
  readonly firstValid: string
  /** The last round in which the payment can be settled. */
  readonly lastValid: string
  /** When the payment was signed, in milliseconds since 1970. */
  readonly signedMs: number
  readonly state: PaymentState
  /**
   * The charge within the authorized maximum, which is `amount`. Undefined for fixed prices, and until the charge was
   * found on the ledger.
   */
  readonly charge?: Charge | undefined
  /** The receipt that the seller has signed, as a compact JWS, if there is a valid one. */
  readonly signedReceipt?: string | undefined
}

/** The charge of an authorization, as found on the ledger. */
export type Charge = {
  /** In base units. */
  readonly amount: string
  /** In millionths of a dollar, if the asset is the dollar of its network. */
  readonly microDollars?: string | undefined
  /** The id of the transaction; undefined if the seller did not report it, and the charge was found in a block. */
  readonly transactionId?: string | undefined
}

/** The totals of all payments that are settled or may still be settled. */
export type Spent = {
  readonly microDollars: bigint
  /** Base units by network and asset: the key is `<CAIP-2 id> <asset id>`. */
  readonly assets: ReadonlyMap<string, bigint>
}

/** A payment that was sent and has no answer. */
export type UnansweredPayment = {
  readonly payment: Payment
  /** The PAYMENT-SIGNATURE header that sends the payment again. May contain the buyer's secret. */
  readonly header: string
}

/**
 * A payment log, implemented by `MemoryPayments` and `FilePayments` (`@latchkey/x402/file`). Implement this type to use
 * another store. Methods are synchronous, so that checking a limit and recording a payment are one step.
 */
export type PaymentLog = {
  /** Records a payment durably, before it is signed. The caller then waits for the answer until it calls `finish`. */
  readonly add: (payment: Payment) => void
  /**
   * Records the state of an open payment. Settled and expired payments keep their state. With a `charge`, the payment
   * counts with that amount instead of the authorized maximum.
   */
  readonly update: (transactionId: string, state: PaymentState, charge?: Charge | undefined) => void
  /** The payment; undefined if it is not in the log. */
  readonly get: (transactionId: string) => Payment | undefined
  /** The latest payments, the oldest first. */
  readonly all: () => readonly Payment[]
  /**
   * Includes every `add` and `update` immediately, so that two concurrent payments cannot both use the rest of a limit.
   */
  readonly spent: () => Spent
  /** Runs `work` while no other process can change the log, after reading the records of other processes. */
  readonly exclusive: <T>(work: () => T) => T
  /** Records the header that sends a payment again, durably, before the payment is first sent. */
  readonly keep: (transactionId: string, header: string) => void
  /**
   * Returns the oldest payment for a request on one of the networks that was sent and has no answer, may still be
   * settled or answered, and has no waiting caller in this or another process. The caller then waits for its answer.
   */
  readonly resume: (requestId: string, networks: readonly string[]) => UnansweredPayment | undefined
  /** Ends the wait for an answer. An answered payment is not sent again, and its header is deleted. */
  readonly finish: (transactionId: string, outcome: 'answered' | 'unanswered') => void
  /**
   * Keeps the receipt that the seller has signed for a payment. Only valid receipts of this payment are passed.
   *
   * @default receipts are not kept
   */
  readonly keepReceipt?: ((transactionId: string, jws: string) => void) | undefined
}

/** Includes the network, because the same asset id is a different asset on another network. */
export function assetKey(network: string, asset: string): string {
  return `${network} ${asset}`
}

/** A change of a payment. */
export type Change = {
  readonly transactionId: string
  readonly state?: PaymentState | undefined
  readonly charge?: Charge | undefined
  /** The header that sends the payment again; null if the payment is not sent again. */
  readonly header?: string | null | undefined
  /** The process that waits for the answer; null if none does. */
  readonly owner?: string | null | undefined
  readonly signedReceipt?: string | undefined
}

/** A payment without an answer. */
export type Unanswered = { readonly header?: string | undefined; readonly owner?: string | undefined }

/** Payments beyond this number are counted but not sent again. */
const maxUnanswered = 10_000
/**
 * Sellers keep the answer to a settled payment for minutes. After this time a new payment may be made for the request.
 */
const settledMs = 60 * 60 * 1000

/** Payments in memory: their totals, and which of them have no answer yet. */
export class PaymentTable {
  /** An evicted payment stays counted in any state, so a limit is never exceeded because of it. */
  readonly #payments: BoundedMap<string, Payment>
  readonly #unanswered = new BoundedMap<string, Unanswered>(maxUnanswered)
  readonly #assets: Map<string, bigint>
  #microDollars: bigint

  constructor(maxPayments: number, spent?: Spent | undefined) {
    this.#payments = new BoundedMap(maxPayments)
    this.#microDollars = spent?.microDollars ?? 0n
    this.#assets = new Map(spent?.assets)
  }

  add(payment: Payment, unanswered: Unanswered): void {
    this.#payments.set(payment.transactionId, payment)
    // Without a request, the payment cannot be sent again.
    if (payment.requestId !== undefined) this.#unanswered.set(payment.transactionId, unanswered)
    if (payment.state !== 'expired') this.#count(payment, 1n)
  }

  change({ transactionId, state, charge, header, owner, signedReceipt }: Change): void {
    if (signedReceipt !== undefined) this.#keepReceipt(transactionId, signedReceipt)
    const payment = this.#payments.get(transactionId)
    if (payment === undefined) return
    // Only an open payment changes its state. The decision of the ledger is final.
    if (payment.state === 'open' && state !== undefined && state !== 'open') {
      const changed = { ...payment, state, ...(charge === undefined ? {} : { charge }) }
      this.#payments.set(transactionId, changed)
      if (state === 'expired' || charge !== undefined) this.#count(payment, -1n)
      if (state === 'settled' && charge !== undefined) this.#count(changed, 1n)
    }
    const before = this.#unanswered.get(transactionId)
    const isOver = header === null || this.#payments.get(transactionId)?.state === 'expired'
    if (isOver) this.#unanswered.delete(transactionId)
    else if (payment.requestId !== undefined && (header !== undefined || owner !== undefined)) {
      const after = {
        header: header ?? before?.header,
        owner: owner === undefined ? before?.owner : (owner ?? undefined),
      }
      this.#unanswered.set(transactionId, after)
    }
  }

  #keepReceipt(transactionId: string, signedReceipt: string): void {
    const payment = this.#payments.get(transactionId)
    if (payment !== undefined) this.#payments.set(transactionId, { ...payment, signedReceipt })
  }

  get count(): number {
    return this.#payments.size
  }

  get(transactionId: string): Payment | undefined {
    return this.#payments.get(transactionId)
  }

  all(): Payment[] {
    return [...this.#payments.values()]
  }

  unanswered(transactionId: string): Unanswered {
    return this.#unanswered.get(transactionId) ?? {}
  }

  spent(): Spent {
    return { microDollars: this.#microDollars, assets: this.#assets }
  }

  /** The oldest payment for a request that can be sent again and that no process waits for. */
  find(
    requestId: string,
    networks: readonly string[],
    isAwaited: (owner: string) => boolean,
  ): UnansweredPayment | undefined {
    for (const [transactionId, { header, owner }] of this.#unanswered.entries()) {
      const payment = this.#payments.get(transactionId)
      if (payment?.requestId !== requestId || header === undefined || !isOpenToAnswer(payment)) continue
      if (!networks.includes(payment.network)) continue
      if (owner === undefined || !isAwaited(owner)) return { payment, header }
    }
    return undefined
  }

  #count(payment: Payment, sign: 1n | -1n): void {
    const key = assetKey(payment.network, payment.asset)
    const { amount, microDollars = 0 } = payment.charge ?? payment
    this.#assets.set(key, (this.#assets.get(key) ?? 0n) + sign * BigInt(amount))
    this.#microDollars += sign * BigInt(microDollars)
  }
}

function isOpenToAnswer({ state, signedMs }: Payment): boolean {
  return state === 'open' || (state === 'settled' && Date.now() - signedMs < settledMs)
}

/** Options of {@link MemoryPayments}. */
export type MemoryPaymentsOptions = {
  /**
   * How many payments are kept individually. Older payments are only counted.
   *
   * @default 10_000
   */
  maxPayments?: number | undefined
  /**
   * The amounts spent before.
   *
   * @default nothing
   */
  spent?: Spent | undefined
}

export const defaultMaxPayments = 10_000

const owner = 'this process'

/** A payment log in memory. Limits over all payments hold as long as the process runs. */
export class MemoryPayments implements PaymentLog {
  readonly #table: PaymentTable

  constructor({ maxPayments = defaultMaxPayments, spent }: MemoryPaymentsOptions = {}) {
    this.#table = new PaymentTable(maxPayments, spent)
  }

  add(payment: Payment): void {
    this.#table.add(payment, { owner })
  }

  update(transactionId: string, state: PaymentState, charge?: Charge | undefined): void {
    this.#table.change({ transactionId, state, charge })
  }

  get(transactionId: string): Payment | undefined {
    return this.#table.get(transactionId)
  }

  all(): Payment[] {
    return this.#table.all()
  }

  spent(): Spent {
    return this.#table.spent()
  }

  exclusive<T>(work: () => T): T {
    return work()
  }

  keep(transactionId: string, header: string): void {
    this.#table.change({ transactionId, header })
  }

  resume(requestId: string, networks: readonly string[]): UnansweredPayment | undefined {
    const found = this.#table.find(requestId, networks, () => true)
    if (found !== undefined) this.#table.change({ transactionId: found.payment.transactionId, owner })
    return found
  }

  finish(transactionId: string, outcome: 'answered' | 'unanswered'): void {
    this.#table.change({ transactionId, owner: null, header: outcome === 'answered' ? null : undefined })
  }

  keepReceipt(transactionId: string, signedReceipt: string): void {
    this.#table.change({ transactionId, signedReceipt })
  }
}

type PaymentLogErrorCode = 'unknown_payment' | 'invalid_payment_log' | 'payment_log_locked' | 'payment_log_unwritable'

/** A payment that is not in the log, or a log that cannot be read or written. */
export class PaymentLogError extends PartyError<PaymentLogErrorCode> {
  override name = 'PaymentLogError'
}

/** How many rounds back nodes find a transaction by its id. Blocks are searched for older transactions. */
const lookupRounds = 1_000n
/** A node this many rounds past a transaction's last valid round has seen it if it was ever confirmed. */
const settledRounds = 2n

/**
 * Finds the state of a payment on the ledger. Returns `expired` only if that is certain: as many nodes as the quorum
 * report that they do not have the payment, and each of them is past its last valid round.
 *
 * @param searches continues an earlier search of the blocks
 * @throws AlgodError if no node responds
 */
export async function findPaymentState(
  { transactionId, ...payment }: Pick<Payment, 'transactionId' | 'firstValid' | 'lastValid'>,
  algod: Algod,
  searches: BlockSearches = new BlockSearches(),
): Promise<PaymentState> {
  const [firstValid, lastValid] = [BigInt(payment.firstValid), BigInt(payment.lastValid)]
  // Most payments are already settled when they are looked up.
  if ((await algod.transaction(transactionId)).type === 'confirmed') return 'settled'
  // The round is requested first, so that a transaction confirmed after it is still found.
  const round = await algod.lastRound()
  const isPast = round > lastValid + settledRounds
  const { state, absences } = isPast ? await algod.lookUpEverywhere(transactionId) : await algod.lookUp(transactionId)
  if (state.type === 'confirmed') return 'settled'
  const past = absences.filter((absence) => absence.round > lastValid + settledRounds)
  if (state.type === 'pending' || !isPast || past.length < algod.quorum) return 'open'
  const covering = past.filter((absence) => absence.round - firstValid < lookupRounds)
  if (covering.length >= algod.quorum) return 'expired'
  const isIn = async (round: bigint) => ((await algod.isInBlock(transactionId, round)) ? true : undefined)
  return (await searches.find(transactionId, [firstValid + 1n, lastValid], isIn)) ? 'settled' : 'expired'
}

/**
 * Whether a payment can no longer be settled, and its seller no longer has its answer. Unlike its state, that can be
 * known from nodes that have dropped the blocks in which it could be. False if no node responds.
 */
export async function isPastAnswer({ lastValid, signedMs }: Payment, algod: Algod): Promise<boolean> {
  if (Date.now() - signedMs < settledMs) return false
  const round = await algod.lastRound().catch(() => 0n)
  return round > BigInt(lastValid) + settledRounds
}

/** An authorization of the payment log, and the account that made it. */
export type AuthorizedPayment = Pick<
  Payment,
  'transactionId' | 'payTo' | 'asset' | 'amount' | 'firstValid' | 'lastValid'
> & {
  readonly payer: string
}

/** The state of an authorization, and its charge in base units if it is settled. */
export type AuthorizationState = { readonly state: PaymentState; readonly amount?: bigint }

/**
 * Finds the outcome of an authorization: the transfer that the seller reports, if the ledger has it and it is the
 * authorized one, or, after the last valid round, the transaction with its lease in any block.
 *
 * @param searches continues an earlier search of the blocks
 * @param settlement the transaction that the seller reports
 * @throws AlgodError if no node responds, or too few have the blocks
 */
export async function findAuthorizationState(
  payment: AuthorizedPayment,
  algod: Algod,
  searches: BlockSearches,
  settlement?: string | undefined,
): Promise<AuthorizationState> {
  const lease = UptoPayment.leaseOfId(payment.transactionId)
  const { payer, payTo } = payment
  const [assetId, maxAmount] = [BigInt(payment.asset), BigInt(payment.amount)]
  if (settlement !== undefined && /^[A-Z2-7]{52}$/.test(settlement)) {
    const { state, transaction } = await algod.transactionDetails(settlement)
    const isIts =
      transaction !== undefined && UptoPayment.isTransfer({ payer, payTo, assetId, maxAmount, lease }, transaction)
    if (isIts && state.type === 'confirmed') return { state: 'settled', amount: transaction.aamt ?? 0n }
  }
  const [firstValid, lastValid] = [BigInt(payment.firstValid), BigInt(payment.lastValid)]
  if ((await algod.lastRound()) <= lastValid + settledRounds) return { state: 'open' }
  const used = await searches.find(payment.transactionId, [firstValid + 1n, lastValid], (round) =>
    algod.leaseInBlock(round, payer, lease),
  )
  // The lease was used by another transaction of the buyer, so the authorization was never settled.
  if (used === undefined || used.receiver !== payTo || used.assetId !== assetId) return { state: 'expired' }
  return { state: 'settled', amount: used.amount }
}
