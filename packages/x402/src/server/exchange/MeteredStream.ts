/**
 * A response that is charged after it was sent. It ends while its authorization can still be settled: when its time is
 * up, before its last valid round, and when the gate cannot know the round or store the charge. The charge so far is
 * stored at once when it is no longer 0, and then at short intervals, so that another gate can settle it. A gate that
 * was paused may find that another one has done that.
 */
import { UptoPayment } from '@latchkey/x402-wire'
import type { Sale } from '../store/Sales.js'
import type { UsageStore, WorkState } from '../store/UsageStore.js'
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
  /** How long a stream continues while no node responds. */
  readonly silenceMs: number
  /** How long a stream continues while its charge cannot be stored. */
  readonly unstoredMs: number
}

export const defaultTimes: StreamTimes = {
  watchMs: 1_000,
  noteMs: 5_000,
  verifyMs: 10_000,
  silenceMs: 20_000,
  unstoredMs: 10_000,
}

/**
 * Longer than a stream continues without being stored, so that only the work of a gate that ended or hangs is taken. The
 * lease is renewed until the charge is settled. An authorization is valid for `UptoPayment.settleSeconds` after the
 * longest work: long enough for this lease, and several tries of the recovery.
 */
export const workLeaseMs = 15_000
/** Longer than the settlement of a stream that has ended is tried. */
const maxSettleMs = 120_000

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
  #hasCharge = false
  #isOwn = false
  #isKept = false

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
    const { payment } = options.paid
    const { transactionId, payer } = payment
    const work = { transactionId, payer, charge: 0n, order: stream.#order }
    return (await options.store.begin(work, workLeaseMs, Date.now())) ? stream : undefined
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

  /**
   * Whether the whole charge is stored, and no other gate had taken the work before. If not, another gate may have
   * settled what was stored earlier.
   */
  get isOwn(): boolean {
    return this.#isOwn
  }

  /** The charge has changed. The first one is stored at once. */
  charged(): void {
    if (this.#isOver || this.#hasCharge || this.#options.paid.usage!.soFar() === 0n) return
    this.#hasCharge = true
    this.#noteNext()
  }

  /**
   * The response has ended. Stores its charge before it is settled; the store may fail. Keeps its lease until
   * {@link MeteredStream.close}.
   */
  async finish(charge: bigint): Promise<void> {
    await this.#stop()
    try {
      this.#isOwn = (await this.#store(charge)) !== 'gone'
    } catch (error) {
      this.#options.onError(error)
    }
    this.#isKept = this.#isOwn
    this.#keep(charge, performance.now() + maxSettleMs)
  }

  /** The settlement is decided, or is left to another gate. */
  async close(): Promise<void> {
    await this.#stop()
  }

  /** The work costs nothing. */
  async drop(): Promise<void> {
    await this.#stop()
    await this.#options.store.end(this.#options.paid.payment.transactionId)
  }

  /** Leaves the settlement to the next run of a recovery, of any gate. */
  async giveBack(): Promise<void> {
    await this.#stop()
    const { store, paid } = this.#options
    const { transactionId } = paid.payment
    await store.giveBack({ transactionId, order: this.#order }, 0, Date.now())
  }

  /** After this, nothing is stored by an earlier call. */
  async #stop(): Promise<void> {
    this.#isOver = true
    this.#isKept = false
    clearTimeout(this.#timer)
    await this.#noting
  }

  /** Renews the lease while the charge is settled, so that no other gate settles it at the same time. */
  #keep(charge: bigint, endMs: number): void {
    if (!this.#isKept || performance.now() > endMs) return
    this.#timer = setTimeout(() => {
      // A store that fails leaves the work to another gate.
      const storing = this.#store(charge).catch(() => {})
      this.#noting = storing.then(() => this.#keep(charge, endMs))
    }, this.#times.noteMs)
    this.#timer.unref?.()
  }

  #check(): void {
    if (this.#isOver) return
    const nowMs = performance.now()
    const { noteMs, verifyMs, silenceMs, unstoredMs } = this.#times
    if (nowMs >= this.#endMs || this.#roundMs < nowMs - silenceMs || this.#notedMs < nowMs - unstoredMs) {
      this.#end()
      return
    }
    this.#reading ??= this.#readRound().finally(() => {
      this.#reading = undefined
    })
    if (nowMs - this.#notedMs >= noteMs && this.#noting === undefined) this.#noteNext()
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

  #noteNext(): void {
    const noting = (this.#noting ?? Promise.resolve())
      .then(() => this.#note())
      .finally(() => {
        if (this.#noting === noting) this.#noting = undefined
      })
    this.#noting = noting
  }

  /** Never throws. A store that fails ends the stream after a while. */
  async #note(): Promise<void> {
    try {
      // Another stream of the payer may have ended unpaid, or another gate may have taken the work.
      if ((await this.#store(this.#options.paid.usage!.soFar())) !== 'noted') this.#end()
    } catch (error) {
      this.#options.onError(error)
    }
  }

  async #store(charge: bigint): Promise<WorkState> {
    const { store, paid } = this.#options
    const { transactionId, payer } = paid.payment
    const nowMs = performance.now()
    const state = await store.note({ transactionId, payer, charge }, workLeaseMs, Date.now())
    this.#notedMs = nowMs
    return state
  }
}
