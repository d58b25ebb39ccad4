/** Records the events of a gate in its store and passes them to the seller's hooks. */
import { BoundedMap } from '@latchkey/algorand'
import type { PaymentRequirements } from '@latchkey/x402-wire'
import type { Chain } from '../../chain/Chain.js'
import { OptionsError } from '../../errors.js'
import { HookError } from '../../hooks.js'
import {
  assetOf,
  type Charged,
  describePayment,
  type LedgerPayment,
  type PaymentStatus,
  roundOfPayment,
} from '../exchange/Payment.js'
import { type GateRequest, newId } from '../routes/GateRequest.js'
import { isFailure, type Sale, type SaleOutcome, type SalesLog } from '../store/Sales.js'
import type { GateEvent, GateHooks, HookName, PaymentEvent } from './GateOptions.js'

/** The request that an event is about. */
export type EventRequest = Pick<GateEvent, 'route' | 'method' | 'path' | 'requestId'>

/** A payment for a request. */
export type EventPayment = EventRequest & {
  readonly chain: Chain
  readonly status: PaymentStatus
  readonly ledger: LedgerPayment
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

  /** @param charged what was charged of a price by usage */
  settled(event: EventPayment, round: bigint | undefined, charged?: Charged | undefined): void {
    const { status, chain, ...request } = event
    const known = round === undefined ? undefined : Number(round)
    const payment = status.change({ state: 'settled', round: known, charged })
    const { transactionId } = payment
    if (this.#told.get(transactionId) === true) return
    this.#told.set(transactionId, true)
    this.#log.add(this.saleOf(event, 'settled'))
    this.tellSettled({ ...eventOf(transactionId, request), payment }, async () => {
      const ledgerId = payment.maxAmount === undefined ? transactionId : payment.settlement
      const isMissing = status.current.round === undefined && ledgerId !== undefined && ledgerId !== ''
      const found = isMissing ? await roundOfPayment(chain, ledgerId) : undefined
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

  /** Records the outcome of a sale whose gate ended. A hook is told by the recovery of sales. */
  recovered(sale: Sale): void {
    this.#log.add(sale)
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

  /**
   * The record of a payment, with its current outcome.
   *
   * @param claimRound the round in which a new payment was claimed; no earlier one can have the transfer of an
   * authorization
   */
  saleOf({ route, method, path, status, ledger }: EventPayment, outcome: SaleOutcome, claimRound?: bigint): Sale {
    const { authorization, firstValid: first } = ledger
    const firstValid =
      authorization !== undefined && claimRound !== undefined && claimRound > first ? claimRound : first
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
      firstValid: Number(firstValid),
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

export type NotificationsOptions = {
  readonly hooks: GateHooks
  /** Called with errors of hooks that are not retried again, and with events that were dropped. */
  readonly onError: (error: unknown) => void
  /** @default 10_000 */
  readonly maxQueued?: number | undefined
  /** @default 8 */
  readonly maxTries?: number | undefined
  /** @default 500 */
  readonly firstWaitMs?: number | undefined
  /** @default 30_000 */
  readonly timeoutMs?: number | undefined
}

type Job = {
  readonly name: HookName
  readonly event: GateEvent
  /** Completes the event, for example with the round. */
  readonly prepare: ((event: GateEvent) => Promise<GateEvent>) | undefined
  readonly onDelivered: (() => void) | undefined
  tries: number
}

type NotificationParts<Event> = {
  readonly prepare?: ((event: Event) => Promise<Event>) | undefined
  /** Called when the hook has succeeded. */
  readonly onDelivered?: (() => void) | undefined
}

const names: readonly HookName[] = ['onPaymentRequired', 'onVerified', 'onSettled', 'onRefused']
const maxWaitMs = 60_000
const maxRunning = 16
/** Anyone can trigger prices and refusals, so slow hooks for them must leave room for payments. */
const maxRunningUnpaid = 8
const reportEveryMs = 60_000

/** Calls the hooks of a gate outside the response path, in order for each payment, and again if they fail. */
export class Notifications {
  readonly #options: { maxQueued: number; maxTries: number; firstWaitMs: number; timeoutMs: number }
  readonly #hooks: GateHooks
  readonly #onError: (error: unknown) => void
  /** Keyed by event id. Events of one payment run one after another. */
  readonly #chains = new Map<string, Job[]>()
  /** Ids whose first job can run. Ids of payments are taken first. */
  readonly #ready: { readonly paid: string[]; readonly unpaid: string[] } = { paid: [], unpaid: [] }
  readonly #waiting = new Map<string, ReturnType<typeof setTimeout>>()
  readonly #idle: (() => void)[] = []
  #queued = 0
  #running = 0
  #runningUnpaid = 0
  #isScheduled = false
  #isClosed = false
  #dropped = 0
  #reportedMs = Number.NEGATIVE_INFINITY

  /** @throws OptionsError for a hook that is not a function */
  constructor({ hooks, onError, maxQueued, maxTries, firstWaitMs, timeoutMs }: NotificationsOptions) {
    for (const name of names) {
      if (hooks[name] === undefined || typeof hooks[name] === 'function') continue
      throw new OptionsError(`${name} is not a function`, 'Pass a function that takes the event.')
    }
    this.#hooks = hooks
    this.#onError = onError
    this.#options = {
      maxQueued: maxQueued ?? 10_000,
      maxTries: maxTries ?? 8,
      firstWaitMs: firstWaitMs ?? 500,
      timeoutMs: timeoutMs ?? 30_000,
    }
  }

  has(name: HookName): boolean {
    return this.#hooks[name] !== undefined
  }

  /** Queues an event. Never throws, and calls no hook before the caller has returned. */
  emit<Name extends HookName, Event extends Parameters<NonNullable<GateHooks[Name]>>[0]>(
    name: Name,
    event: Event,
    { prepare, onDelivered }: NotificationParts<Event> = {},
  ): void {
    if (!this.has(name)) return
    if (this.#isClosed || this.#queued >= this.#roomFor(name)) {
      this.#drop(name)
      return
    }
    const job: Job = { name, event, prepare: prepare as Job['prepare'], onDelivered, tries: 0 }
    this.#queued++
    const chain = this.#chains.get(event.id)
    if (chain !== undefined) {
      chain.push(job)
      return
    }
    this.#chains.set(event.id, [job])
    this.#makeReady(event.id)
  }

  /** Anyone can trigger refusals and prices, which must not displace payments. */
  #roomFor(name: HookName): number {
    const { maxQueued } = this.#options
    return name === 'onSettled' ? maxQueued : Math.floor(maxQueued / 2)
  }

  /**
   * Tries queued events once more. Resolves when that is done or the time is up. Events that are left are reported to
   * `onError`.
   */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosed = true
    for (const [id, timer] of this.#waiting) {
      clearTimeout(timer)
      this.#waiting.delete(id)
      this.#makeReady(id)
    }
    if (this.#queued > 0) {
      let timer: ReturnType<typeof setTimeout> | undefined
      const timeUp = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, timeoutMs)
      })
      await Promise.race([timeUp, new Promise<void>((resolve) => this.#idle.push(resolve))])
      clearTimeout(timer)
    }
    if (this.#queued > 0)
      this.#report('hook_events_dropped', `the gate was closed before its hooks received ${count(this.#queued)}`)
    this.#chains.clear()
    for (const ids of Object.values(this.#ready)) ids.length = 0
    this.#queued = 0
  }

  #makeReady(id: string): void {
    const job = this.#chains.get(id)?.[0]
    if (job === undefined) return
    this.#ready[isUnpaid(job) ? 'unpaid' : 'paid'].push(id)
    if (this.#isScheduled) return
    this.#isScheduled = true
    // Not a microtask, because microtasks run before the response is sent.
    setTimeout(() => {
      this.#isScheduled = false
      this.#start()
    }, 0)
  }

  #start(): void {
    while (this.#running < maxRunning) {
      const { paid, unpaid } = this.#ready
      const id = paid.shift() ?? (this.#runningUnpaid < maxRunningUnpaid ? unpaid.shift() : undefined)
      if (id === undefined) return
      const job = this.#chains.get(id)?.[0]
      if (job === undefined) continue
      this.#running++
      if (isUnpaid(job)) this.#runningUnpaid++
      void this.#run(id, job)
    }
  }

  async #run(id: string, job: Job): Promise<void> {
    try {
      const event = job.prepare === undefined ? job.event : await job.prepare(job.event)
      await this.#call(job, event)
      this.#end(id)
      job.onDelivered?.()
    } catch (error) {
      job.tries++
      if (job.tries >= this.#options.maxTries || this.#isClosed) {
        this.#end(id)
        this.#reportError(job, error)
      } else {
        this.#retry(id, job)
      }
    } finally {
      this.#running--
      if (isUnpaid(job)) this.#runningUnpaid--
      this.#start()
      if (this.#queued === 0) for (const resolve of this.#idle.splice(0)) resolve()
    }
  }

  async #call({ name }: Job, event: GateEvent): Promise<void> {
    const hook = this.#hooks[name] as ((event: GateEvent) => unknown) | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    const { timeoutMs } = this.#options
    const timeUp = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`the hook took longer than ${timeoutMs} ms`)), timeoutMs)
      timer.unref?.()
    })
    try {
      await Promise.race([hook?.(event), timeUp])
    } finally {
      clearTimeout(timer)
    }
  }

  #retry(id: string, { tries }: Job): void {
    const waitMs = Math.min(this.#options.firstWaitMs * 2 ** (tries - 1), maxWaitMs)
    const timer = setTimeout(() => {
      this.#waiting.delete(id)
      this.#makeReady(id)
    }, waitMs)
    timer.unref?.()
    this.#waiting.set(id, timer)
  }

  /** Removes the first job of a chain. */
  #end(id: string): void {
    const chain = this.#chains.get(id)
    // The gate was closed meanwhile.
    if (chain === undefined) return
    this.#queued--
    chain.shift()
    if (chain.length === 0) this.#chains.delete(id)
    else this.#makeReady(id)
  }

  #drop(name: HookName): void {
    this.#dropped++
    // A flood of requests must not become a flood of errors.
    if (performance.now() < this.#reportedMs + reportEveryMs) return
    this.#reportedMs = performance.now()
    const why = this.#isClosed ? 'the gate is closed' : 'hooks are too slow for the number of events'
    this.#report('hook_events_dropped', `${why}: dropped ${count(this.#dropped)}, the last one for ${name}`)
    this.#dropped = 0
  }

  #reportError({ name, event, tries }: Job, cause: unknown): void {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message = `${name} failed ${tries === 1 ? 'once' : `${tries} times`} for ${event.id}: ${reason}`
    this.#report('hook_failed', message, cause)
  }

  #report(code: HookError['code'], message: string, cause?: unknown): void {
    try {
      this.#onError(new HookError(code, message, { cause }))
    } catch {
      // A reporter that throws must not end the process.
    }
  }
}

function isUnpaid({ name }: Job): boolean {
  return name === 'onPaymentRequired' || name === 'onRefused'
}

function count(events: number): string {
  return events === 1 ? '1 event' : `${events} events`
}
