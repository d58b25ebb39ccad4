/**
 * A response that is charged after it was sent. It ends while its authorization can still be settled: when its time is
 * up, before its last valid round, and when the gate cannot know the round or store the charge. The charge so far is
 * stored at short intervals, so that another gate can settle it.
 */
import { UptoPayment } from '@latchkey/x402-wire'
import type { Sale } from '../store/Sales.js'
import type { UsageStore } from '../store/UsageStore.js'
import type { PaidRequest } from './PaidRequest.js'

export type MeteredStreamOptions = {
  readonly store: UsageStore
  readonly paid: Pick<PaidRequest, 'chain' | 'payment' | 'payload' | 'requirement' | 'claimant' | 'usage'>
  /** The sale, for the gate that settles the charge if this one ends. */
  readonly sale: Sale
  /** Whether the authorization can still be charged, as far as that is known. Errors mean that it is not known. */
  readonly isChargeable: () => Promise<boolean>
  /** Called once, after the response was cut: its charge must be settled now. Never throws. */
  readonly onCut: () => void
  /** Never throws. */
  readonly onError: (error: unknown) => void
  readonly times?: Partial<StreamTimes> | undefined
}

/** In milliseconds. */
export type StreamTimes = {
  /** How often the ledger is asked for its round. Gates ask a node at most once a second. */
  readonly watchMs: number
  /** How often the charge is stored. */
  readonly noteMs: number
  /** How often the facilitator is asked whether the authorization can still be charged. */
  readonly verifyMs: number
  /** How long a stream continues while no node responds, or while the charge cannot be stored. */
  readonly silenceMs: number
}

const defaultTimes: StreamTimes = { watchMs: 1_000, noteMs: 5_000, verifyMs: 10_000, silenceMs: 20_000 }

/** Longer than the settlement of a stream that has ended is tried. */
export const workLeaseMs = 90_000
/**
 * Longer than a stream continues without being stored, and its first settlement takes. With the time between two runs of
 * the recovery, shorter than an authorization is valid after the longest work.
 */
export const runningLeaseMs = 45_000

const settleRounds = UptoPayment.roundsIn(UptoPayment.settleSeconds)

/** The settlement of a stream, as it is stored. */
export type SettlementOrder = Pick<PaidRequest, 'payload' | 'requirement' | 'claimant'> & { readonly sale: Sale }

export class MeteredStream {
  readonly #options: MeteredStreamOptions
  readonly #times: StreamTimes
  readonly #order: string
  readonly #cut = new AbortController()
  readonly #endMs: number
  /** When the last known round was asked for, and when the charge was last stored. */
  #roundMs = performance.now()
  #notedMs = performance.now()
  #verifiedMs = performance.now()
  #reading: Promise<void> | undefined
  #noting: Promise<void> | undefined
  #verifying: Promise<void> | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOver = false

  private constructor(options: MeteredStreamOptions) {
    const { payload, requirement, claimant } = options.paid
    this.#options = options
    this.#times = { ...defaultTimes, ...options.times }
    this.#endMs = performance.now() + requirement.maxTimeoutSeconds * 1000
    // Extensions are as large as the buyer likes, and not needed to settle.
    const { extensions: _, ...needed } = payload
    const order: SettlementOrder = { payload: needed, requirement, claimant, sale: options.sale }
    this.#order = JSON.stringify(order)
  }

  /**
   * Stores that the work begins.
   *
   * @returns undefined if the payer has left earlier work unpaid
   */
  static async begin(options: MeteredStreamOptions): Promise<MeteredStream | undefined> {
    const stream = new MeteredStream(options)
    return (await stream.#store(0n, runningLeaseMs)) ? stream : undefined
  }

  /** Aborted when nothing more may be sent. */
  get cut(): AbortSignal {
    return this.#cut.signal
  }

  /** Begins to watch the clock and the ledger. */
  watch(): void {
    const nowMs = performance.now()
    this.#timer = setTimeout(() => this.#check(), Math.max(0, Math.min(this.#times.watchMs, this.#endMs - nowMs)))
    this.#timer.unref?.()
  }

  /** The response has ended. Stores its charge before it is settled; the store may fail. */
  async finish(charge: bigint): Promise<void> {
    await this.#stop()
    await this.#store(charge, workLeaseMs).catch(this.#options.onError)
  }

  /** The work costs nothing. */
  async drop(): Promise<void> {
    await this.#stop()
    await this.#options.store.end(this.#options.paid.payment.transactionId)
  }

  /** After this, nothing is stored by an earlier call. */
  async #stop(): Promise<void> {
    this.#isOver = true
    clearTimeout(this.#timer)
    await this.#noting
  }

  #check(): void {
    if (this.#isOver) return
    const nowMs = performance.now()
    const { noteMs, verifyMs, silenceMs } = this.#times
    const oldestMs = nowMs - silenceMs
    if (nowMs >= this.#endMs || this.#roundMs < oldestMs || this.#notedMs < oldestMs) {
      this.#end()
      return
    }
    this.#reading ??= this.#readRound().finally(() => {
      this.#reading = undefined
    })
    if (nowMs - this.#notedMs >= noteMs) {
      this.#noting ??= this.#note().finally(() => {
        this.#noting = undefined
      })
    }
    if (nowMs - this.#verifiedMs >= verifyMs) {
      this.#verifying ??= this.#verify().finally(() => {
        this.#verifiedMs = performance.now()
        this.#verifying = undefined
      })
    }
    this.watch()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#cut.abort()
    this.#options.onCut()
  }

  /** Never throws. A node that does not respond ends the stream after a while. */
  async #readRound(): Promise<void> {
    const { chain, payment } = this.#options.paid
    const nowMs = performance.now()
    try {
      const { lastRound } = await chain.parameters()
      this.#roundMs = nowMs
      if (lastRound + settleRounds > payment.lastValid) this.#end()
    } catch {
      // Many streams would report the same failure. The request that follows reports it.
    }
  }

  /** Never throws. */
  async #verify(): Promise<void> {
    try {
      if (!(await this.#options.isChargeable())) this.#end()
    } catch {
      // The settlement reports a facilitator that does not respond.
    }
  }

  /** Never throws. A store that fails ends the stream after a while. */
  async #note(): Promise<void> {
    try {
      // Another stream of the payer may have ended unpaid.
      if (!(await this.#store(this.#options.paid.usage!.soFar(), runningLeaseMs))) this.#end()
    } catch (error) {
      this.#options.onError(error)
    }
  }

  async #store(charge: bigint, leaseMs: number): Promise<boolean> {
    const { store, paid } = this.#options
    const { transactionId, payer } = paid.payment
    const nowMs = performance.now()
    const work = { transactionId, payer, charge, order: this.#order }
    const isNoted = await store.note(work, leaseMs, Date.now())
    this.#notedMs = nowMs
    return isNoted
  }
}
