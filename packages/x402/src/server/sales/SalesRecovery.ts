/**
 * Finishes the work of an earlier process: settlements that were not reported to a hook, and payments whose outcome is
 * not recorded. Runs when a gate opens and every minute, in parallel with requests.
 */
import { AlgodError } from '@latchkey/algod'
import { BoundedMap, Network } from '@latchkey/algorand'
import { UptoPayment } from '@latchkey/x402-wire'
import { type Chain, ChainError } from '../../chain/Chain.js'
import { formatAmount, lookUpPayment, type Payment } from '../exchange/Payment.js'
import type { GateEvents } from '../gate/GateEvents.js'
import type { Sale, SalePosition, SaleStore, SalesLog } from '../store/Sales.js'
import { UptoTransfers } from './UptoTransfers.js'

export type SalesRecoveryOptions = {
  readonly store: SaleStore
  readonly chains: readonly Chain[]
  readonly events: GateEvents
  readonly log: SalesLog
  readonly onError: (error: unknown) => void
  /** Whether there is a hook to call. */
  readonly hasHook: boolean
}

const everyMs = 60_000
/** The process that had the payment settled retries a hook for about a minute. This is well after that. */
const dueAfterMs = 180_000
/**
 * Before this time, a request is most likely still being served. Looking up its payment does no harm, because the
 * ledger decides.
 */
const undecidedAfterMs = 120_000
/** Nodes find a transaction by its id for about this many rounds. Older transactions cannot be decided. */
const lookupRounds = 900n
/** How far a node may be behind the others. */
const lagRounds = 100n
const batch = 200
/** A hook that keeps failing is called again at this interval, and each failure is reported. */
const againMs = 600_000
const maxTold = 10_000

export class SalesRecovery {
  readonly #options: SalesRecoveryOptions
  /** When each settlement was last reported to the hook. */
  readonly #told = new BoundedMap<string, number>(maxTold)
  /**
   * Where the next run continues, so that sales that stay open, such as those of another network, do not block others.
   */
  readonly #next: { due?: SalePosition | undefined; undecided?: SalePosition | undefined } = {}
  /** Keyed by network. */
  readonly #transfers = new Map<string, UptoTransfers>()
  #timer: ReturnType<typeof setInterval> | undefined
  #isStopped = false
  #running: Promise<void> | undefined

  constructor(options: SalesRecoveryOptions) {
    this.#options = options
  }

  start(): void {
    void this.run()
    this.#timer = setInterval(() => void this.run(), everyMs)
    this.#timer.unref?.()
  }

  stop(): void {
    this.#isStopped = true
    clearInterval(this.#timer)
  }

  /** Never throws. Runs do not overlap. */
  run(nowMs = Date.now()): Promise<void> {
    this.#running ??= this.#recover(nowMs).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #recover(nowMs: number): Promise<void> {
    const { events, hasHook, onError } = this.#options
    try {
      // Without a hook, nothing is reported.
      const due = hasHook ? await this.#open('due', nowMs - dueAfterMs) : []
      for (const sale of due) {
        if ((this.#told.get(sale.transactionId) ?? 0) > nowMs - againMs) continue
        this.#told.set(sale.transactionId, nowMs)
        events.tellSettled(eventOf(sale))
      }
      for (const transfers of this.#transfers.values()) transfers.beginRun()
      for (const sale of await this.#open('undecided', nowMs - undecidedAfterMs)) {
        if (this.#isStopped) return
        await this.#decide(sale)
      }
    } catch (error) {
      try {
        onError(error)
      } catch {
        // A reporter that throws must not end the process.
      }
    }
  }

  async #open(which: 'due' | 'undecided', beforeMs: number): Promise<readonly Sale[]> {
    if (this.#isStopped) return []
    const sales = await this.#options.store.open(which, beforeMs, batch, this.#next[which])
    this.#next[which] = sales.length < batch ? undefined : sales.at(-1)
    return sales
  }

  /** Asks the ledger about a payment that a process left. */
  async #decide(sale: Sale): Promise<void> {
    const chain = this.#options.chains.find(({ caip2 }) => caip2 === sale.network)
    if (chain === undefined) return
    try {
      await (UptoPayment.isId(sale.transactionId) ? this.#decideCharge(chain, sale) : this.#decidePayment(chain, sale))
    } catch (error) {
      // The next run tries again.
      if (!(error instanceof AlgodError || error instanceof ChainError)) throw error
    }
  }

  async #decidePayment(chain: Chain, sale: Sale): Promise<void> {
    const { transactionId } = sale
    const lookUp = { transactionId, lastValid: BigInt(sale.lastValid) }
    const { state, round, settledRound } = await lookUpPayment(chain, lookUp)
    if (state === 'settled') this.#settled(sale, { round: Number(settledRound) })
    else if (state === 'expired') this.#expired(sale, isRecent(sale, round))
  }

  /**
   * The ledger decides the charge too. A facilitator is not asked, because it would settle an authorization that it does
   * not know, for an answer that its buyer may not have.
   */
  async #decideCharge(chain: Chain, sale: Sale): Promise<void> {
    const { lastRound } = await chain.parameters()
    const found = await this.#transfersOf(chain).find(sale, lastRound)
    const lastValid = BigInt(sale.lastValid)
    if (found.type === 'found') this.#settled(sale, { round: Number(found.round), amount: found.amount.toString() })
    else if (found.type === 'absent' && lastRound > lastValid) this.#expired(sale, true)
    // A node that lags does not have the latest blocks yet.
    const isPast = lastRound > lastValid + lagRounds && !isRecent(sale, lastRound)
    if (found.type === 'unreadable' && isPast) this.#expired(sale, false)
  }

  #transfersOf({ caip2, algod }: Chain): UptoTransfers {
    const transfers = this.#transfers.get(caip2) ?? new UptoTransfers(algod)
    this.#transfers.set(caip2, transfers)
    return transfers
  }

  #settled(sale: Sale, found: Pick<Sale, 'round'> & Partial<Pick<Sale, 'amount'>>): void {
    const { log, events } = this.#options
    const settled: Sale = { ...sale, ...found, outcome: 'settled', code: '', timeMs: Date.now() }
    log.add(settled)
    // If the hook belongs to another gate, that gate's own recovery calls it.
    if (sale.isDue) events.tellSettled(eventOf(settled))
  }

  /** A payment that is too old to be looked up may have been settled, so it is not recorded as a failure. */
  #expired(sale: Sale, isCertain: boolean): void {
    if (isCertain) this.#options.log.add({ ...sale, outcome: 'cancelled', code: 'not_settled', timeMs: Date.now() })
    else this.#options.log.add({ ...sale, outcome: 'unknown', timeMs: Date.now() })
  }
}

/** Whether nodes still know the transactions since the first valid round of the sale. */
function isRecent({ firstValid }: Sale, round: bigint): boolean {
  return round - BigInt(firstValid) < lookupRounds
}

function eventOf(sale: Sale): Parameters<GateEvents['tellSettled']>[0] {
  const { transactionId: id, timeMs, route, method, path } = sale
  return { id, timeMs, route, method, path, payment: paymentOfSale(sale) }
}

function paymentOfSale(sale: Sale): Payment {
  const { transactionId, payer, payTo, amount, asset, assetName, decimals, network, route, round } = sale
  return {
    transactionId,
    payer,
    payTo,
    amount,
    amountText: formatAmount(amount, decimals, assetName),
    asset,
    assetName,
    decimals,
    network,
    networkName: Network.displayName(network),
    route,
    state: 'settled',
    round,
  }
}
