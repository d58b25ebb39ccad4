/** What happens at a gate, passed on to the hooks of its seller. */
import { BoundedMap, Bytes } from '@latchkey/algorand'
import type { Chain } from '../chain/Chain.js'
import type { PaymentRequirements } from '../wire/types.js'
import type { GateEvent } from './GateHooks.js'
import * as LedgerPayment from './LedgerPayment.js'
import type { Notifications } from './Notifications.js'
import { assetOf, describePayment, type PaymentStatus } from './Payment.js'

/** The request that something happens to. */
export type EventRequest = Pick<GateEvent, 'route' | 'method' | 'path'>

/** A payment for a request. */
export type EventPayment = EventRequest & { readonly chain: Chain; readonly status: PaymentStatus }

/** Clients choose methods and paths. */
const maxMethodLength = 20
const maxPathLength = 500
const maxTold = 10_000

export function eventRequest(route: string, { method, url }: Request): EventRequest {
  const { pathname } = new URL(url)
  return { route, method: method.slice(0, maxMethodLength), path: pathname.slice(0, maxPathLength) }
}

export class GateEvents {
  readonly #notifications: Notifications
  /** Payments whose settlement was told: a repeat has it settled again. */
  readonly #told = new BoundedMap<string, true>(maxTold)

  constructor(notifications: Notifications) {
    this.#notifications = notifications
  }

  /** A request without a payment got the price. */
  paymentRequired(request: EventRequest, offers: readonly { chain: Chain; requirement: PaymentRequirements }[]): void {
    if (!this.#notifications.has('onPaymentRequired')) return
    const id = Bytes.toHex(Bytes.random(16))
    const prepare = async (event: GateEvent) => ({ ...event, prices: await Promise.all(offers.map(priceOf)) })
    this.#notifications.emit('onPaymentRequired', { ...eventOf(id, request), prices: [] }, { prepare })
  }

  /** A payment is valid, and its handler runs. */
  verified({ status, ...request }: EventPayment): void {
    if (!this.#notifications.has('onVerified')) return
    const payment = status.current
    this.#notifications.emit('onVerified', { ...eventOf(payment.transactionId, request), payment })
  }

  settled({ status, chain, ...request }: EventPayment, round: bigint | undefined): void {
    const payment = status.change({ state: 'settled', round: round === undefined ? undefined : Number(round) })
    const { transactionId } = payment
    if (!this.#notifications.has('onSettled') || this.#told.get(transactionId) === true) return
    this.#told.set(transactionId, true)
    const event = { ...eventOf(transactionId, request), payment }
    const prepare = async (): Promise<typeof event> => {
      const found = status.current.round === undefined ? await LedgerPayment.roundOf(chain, transactionId) : undefined
      if (found === undefined) return { ...event, payment: status.current }
      return { ...event, payment: status.change({ state: 'settled', round: Number(found) }) }
    }
    this.#notifications.emit('onSettled', event, { prepare })
  }

  /** The ledger has not decided. */
  pending({ status }: EventPayment): void {
    status.change({ state: 'pending' })
  }

  /** The handler failed, and nothing was charged. */
  cancelled({ status }: EventPayment): void {
    status.change({ state: 'failed' })
  }

  /** A payment opened nothing. */
  refused(request: EventRequest, code: string, message: string, status?: PaymentStatus): void {
    const payment = status?.change({ state: 'failed' })
    if (!this.#notifications.has('onRefused')) return
    const id = payment?.transactionId ?? Bytes.toHex(Bytes.random(16))
    this.#notifications.emit('onRefused', { ...eventOf(id, request), code, message, payment })
  }
}

function eventOf(id: string, { route, method, path }: EventRequest): GateEvent {
  return { id, timeMs: Date.now(), route, method, path }
}

async function priceOf({ chain, requirement }: { chain: Chain; requirement: PaymentRequirements }): Promise<string> {
  const asset = await assetOf(chain, requirement.asset)
  const payment = { transactionId: '', payer: '', lastValid: 0n }
  return describePayment({ chain, requirement, payment, route: '', asset }).amountText
}
