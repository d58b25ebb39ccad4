/** Records the events of a gate in its store and passes them to the seller's hooks. */
import { BoundedMap } from '@latchkey/algorand'
import type { PaymentRequirements } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import * as LedgerPayment from '../exchange/LedgerPayment.js'
import { assetOf, describePayment, type PaymentStatus } from '../exchange/Payment.js'
import { type GateRequest, newId } from '../routes/GateRequest.js'
import type { SalesLog } from '../sales/SalesLog.js'
import { isFailure, type Sale, type SaleOutcome } from '../store/Sales.js'
import type { GateEvent, PaymentEvent } from './GateHooks.js'
import type { Notifications } from './Notifications.js'

/** The request that an event is about. */
export type EventRequest = Pick<GateEvent, 'route' | 'method' | 'path' | 'requestId'>

/** A payment for a request. */
export type EventPayment = EventRequest & {
  readonly chain: Chain
  readonly status: PaymentStatus
  readonly ledger: LedgerPayment.LedgerPayment
}

type RefusalReason = { readonly code: string; readonly message: string }

/** Limited, because clients choose methods and paths. */
const maxMethodLength = 20
const maxPathLength = 500
const maxTold = 10_000

export function eventRequest(route: string, { id, method, url }: GateRequest): EventRequest {
  const [shortMethod, path] = [method.slice(0, maxMethodLength), url.pathname.slice(0, maxPathLength)]
  return { route, method: shortMethod, path, requestId: id }
}

export class GateEvents {
  readonly #notifications: Notifications
  readonly #log: SalesLog
  /** Payments whose settlement was reported, because a repeat settles the payment again. */
  readonly #told = new BoundedMap<string, true>(maxTold)

  constructor(notifications: Notifications, log: SalesLog) {
    this.#notifications = notifications
    this.#log = log
  }

  /** A request without a payment got the price. */
  paymentRequired(request: EventRequest, offers: readonly { chain: Chain; requirement: PaymentRequirements }[]): void {
    if (!this.#notifications.has('onPaymentRequired')) return
    const id = newId()
    const prepare = async (event: GateEvent) => ({ ...event, prices: await Promise.all(offers.map(priceOf)) })
    this.#notifications.emit('onPaymentRequired', { ...eventOf(id, request), prices: [] }, { prepare })
  }

  /** A payment is valid, and its handler runs. */
  verified({ status, ...request }: EventPayment): void {
    if (!this.#notifications.has('onVerified')) return
    const payment = status.current
    this.#notifications.emit('onVerified', { ...eventOf(payment.transactionId, request), payment })
  }

  settled(event: EventPayment, round: bigint | undefined): void {
    const { status, chain, ...request } = event
    const payment = status.change({ state: 'settled', round: round === undefined ? undefined : Number(round) })
    const { transactionId } = payment
    if (this.#told.get(transactionId) === true) return
    this.#told.set(transactionId, true)
    this.#log.add(this.saleOf(event, 'settled'))
    this.tellSettled({ ...eventOf(transactionId, request), payment }, async () => {
      const found = status.current.round === undefined ? await LedgerPayment.roundOf(chain, transactionId) : undefined
      return found === undefined ? status.current : status.change({ state: 'settled', round: Number(found) })
    })
  }

  /** Reports a settlement to the hook, now or after a restart. `complete` finds the round. */
  tellSettled(event: PaymentEvent, complete?: () => Promise<PaymentEvent['payment']>): void {
    if (!this.#notifications.has('onSettled')) return
    this.#told.set(event.id, true)
    const prepare = complete && (async () => ({ ...event, payment: await complete() }))
    this.#notifications.emit('onSettled', event, { prepare, onDelivered: () => this.#log.delivered(event.id) })
  }

  /** The ledger has not decided. */
  pending(event: EventPayment): void {
    event.status.change({ state: 'pending' })
    this.#log.add(this.saleOf(event, 'pending'))
  }

  /** The handler failed, and nothing was charged. */
  cancelled(event: EventPayment): void {
    event.status.change({ state: 'failed' })
    this.#log.add(this.saleOf(event, 'cancelled'))
  }

  /** A payment was refused and opened nothing. */
  refused(request: EventRequest & Partial<EventPayment>, { code, message }: RefusalReason): void {
    const { status, chain, ledger } = request
    const payment = status?.change({ state: 'failed' })
    if (status !== undefined && chain !== undefined && ledger !== undefined) {
      this.#log.add({ ...this.saleOf({ ...request, status, chain, ledger }, 'refused'), code })
    }
    if (!this.#notifications.has('onRefused')) return
    const id = payment?.transactionId ?? newId()
    this.#notifications.emit('onRefused', { ...eventOf(id, request), code, message, payment })
  }

  /** The record of a payment, with its current outcome. */
  saleOf({ route, method, path, status, ledger }: EventPayment, outcome: SaleOutcome): Sale {
    const { transactionId, payer, payTo, amount, asset, assetName, decimals, network, round } = status.current
    return {
      transactionId,
      timeMs: Date.now(),
      outcome,
      code: '',
      route,
      method,
      path,
      payer,
      payTo,
      amount,
      asset,
      assetName,
      decimals,
      network,
      round,
      firstValid: Number(ledger.firstValid),
      lastValid: Number(ledger.lastValid),
      // Also set before the settlement, because another gate with the same store may be the one that detects it.
      isDue: !isFailure(outcome) && this.#notifications.has('onSettled'),
    }
  }
}

function eventOf(id: string, { route, method, path, requestId }: EventRequest): GateEvent {
  return { id, timeMs: Date.now(), route, method, path, requestId }
}

async function priceOf({ chain, requirement }: { chain: Chain; requirement: PaymentRequirements }): Promise<string> {
  const asset = await assetOf(chain, requirement.asset)
  const payment = { transactionId: '', payer: '', firstValid: 0n, lastValid: 0n }
  return describePayment({ chain, requirement, payment, route: '', asset }).amountText
}
