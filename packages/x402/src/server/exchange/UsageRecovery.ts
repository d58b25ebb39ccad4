/**
 * Settles the charges of streams whose gate ended, or whose settlement stayed undecided. A payer whose authorization
 * has expired without a transfer on the ledger is refused from then on. A facilitator that does not respond, or refuses,
 * may have settled the charge before, so the ledger decides.
 */
import type { Chain } from '../../chain/Chain.js'
import type { GateEvents } from '../gate/GateEvents.js'
import { type TransferSearch, UptoTransfers } from '../sales/UptoTransfers.js'
import type { Sale } from '../store/Sales.js'
import type { MeteredWork, UsageStore } from '../store/UsageStore.js'
import type { Facilitators } from './Facilitators.js'
import { type SettlementOrder, workLeaseMs } from './MeteredStream.js'
import { readLedgerPayment } from './Payment.js'
import { type SettlementResult, settlePayment } from './settlePayment.js'

export type UsageRecoveryOptions = {
  readonly store: UsageStore
  readonly facilitators: Facilitators
  readonly chains: readonly Chain[]
  readonly events: GateEvents
  /** Never throws. */
  readonly onError: (error: unknown) => void
}

/** How long a payer that left work unpaid is refused. */
export const refuseMs = 60 * 60_000
/** Short, because the authorizations of killed streams expire. */
const everyMs = 10_000
/** How many are settled at the same time. A settlement takes as long as a block. */
const batchSize = 40
/** How many batches a run settles. The next run continues. */
const maxBatches = 25
/** After this time, another try is made for a settlement that is not decided. */
const retryMs = 10_000
/** How far a node may be behind the others. */
const lagRounds = 100n

export class UsageRecovery {
  readonly #options: UsageRecoveryOptions
  /** Keyed by network. */
  readonly #transfers = new Map<string, UptoTransfers>()
  #timer: ReturnType<typeof setInterval> | undefined
  #running: Promise<void> | undefined
  #searches: Promise<unknown> = Promise.resolve()

  constructor(options: UsageRecoveryOptions) {
    this.#options = options
  }

  start(): void {
    void this.run()
    this.#timer = setInterval(() => void this.run(), everyMs)
    this.#timer.unref?.()
  }

  stop(): void {
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
    const { store, onError } = this.#options
    try {
      for (const transfers of this.#transfers.values()) transfers.beginRun()
      for (let batches = 0; batches < maxBatches; batches++) {
        const taken = await store.takeAbandoned(batchSize, workLeaseMs, nowMs)
        await Promise.all(taken.map((work) => this.#settle(work, nowMs).catch(onError)))
        if (taken.length < batchSize) return
      }
    } catch (error) {
      onError(error)
    }
  }

  async #settle(work: MeteredWork, nowMs: number): Promise<void> {
    const { store, facilitators, chains, onError } = this.#options
    const { transactionId, charge } = work
    const { payload, requirement, claimant, sale } = JSON.parse(work.order) as SettlementOrder
    const chain = chains.find((one) => one.matches(requirement.network))
    // Another gate with the same store has the network.
    if (chain === undefined) return
    const payment = readLedgerPayment(payload, requirement, chain)
    if (typeof payment === 'string') throw new Error(`stored work of ${transactionId}: ${payment}`)
    const requestId = transactionId
    const order = { facilitators, chain, payload, requirement, payment, claimant, requestId, charge, onError }
    const result = await settlePayment({ ...order, isOnLedger: false })
    if (result.state === 'settled' || (result.state === 'failed' && charge === 0n)) {
      const settled = chargedOf(result)
      if (settled !== undefined) this.#report(sale, { ...settled, outcome: 'settled', code: '' })
      return store.end(transactionId)
    }
    const known = chargedOf(result)
    const decision = known === undefined ? await this.#lookUp(chain, work, sale, result) : settledAs(known)
    if (decision === 'undecided') {
      await store.note(work, retryMs, nowMs)
      return
    }
    const paid = decision.outcome === 'settled' ? BigInt(decision.amount!) : 0n
    if (paid >= charge) await store.end(transactionId)
    else await store.leaveUnpaid({ transactionId, payer: work.payer, refuseMs }, nowMs)
    this.#report(sale, decision)
  }

  /**
   * Asks the ledger about a charge that the facilitator has not settled.
   *
   * @throws AlgodError if no node responds
   */
  async #lookUp(chain: Chain, { charge }: MeteredWork, sale: Sale, result: Unsettled): Promise<Decision | 'undecided'> {
    const { lastRound } = await chain.parameters()
    const lastValid = BigInt(sale.lastValid)
    const isPending = result.state === 'pending'
    if (isPending && lastRound <= lastValid) return 'undecided'
    const found: TransferSearch = charge === 0n ? { type: 'absent' } : await this.#find(chain, sale, lastRound)
    if (found.type === 'found') return settledAs({ amount: `${found.amount}`, round: Number(found.round) })
    if (found.type === 'later') return 'undecided'
    if (!isPending) return { outcome: 'refused', code: result.receipt.errorReason ?? 'settlement_failed' }
    if (found.type === 'absent') return { outcome: 'cancelled', code: 'not_settled' }
    // A node that lags does not have the latest blocks yet.
    const isPast = lastRound > lastValid + lagRounds
    return isPast ? { outcome: 'unknown', code: result.receipt.errorReason ?? 'settlement_failed' } : 'undecided'
  }

  /** One search at a time, so that each block is read once. */
  #find(chain: Chain, sale: Sale, lastRound: bigint): Promise<TransferSearch> {
    const search = this.#searches.then(() => this.#transfersOf(chain).find(sale, lastRound))
    this.#searches = search.catch(() => {})
    return search
  }

  #transfersOf({ caip2, algod }: Chain): UptoTransfers {
    const transfers = this.#transfers.get(caip2) ?? new UptoTransfers(algod)
    this.#transfers.set(caip2, transfers)
    return transfers
  }

  #report(sale: Sale, decision: Decision): void {
    this.#options.events.recovered({ ...sale, ...decision, timeMs: Date.now() })
  }
}

type Unsettled = Exclude<SettlementResult, { readonly state: 'settled' }>

/** What becomes of the sale. */
type Decision = Pick<Sale, 'outcome' | 'code'> & Partial<Pick<Sale, 'amount' | 'round'>>

function settledAs(charge: Pick<Sale, 'amount' | 'round'>): Decision {
  return { ...charge, outcome: 'settled', code: '' }
}

/** The amount that was charged, even if it is not the whole charge. */
function chargedOf(result: SettlementResult): Pick<Sale, 'amount' | 'round'> | undefined {
  const found = result.state === 'settled' ? result : result.state === 'failed' ? result.short : undefined
  if (found === undefined) return undefined
  const { amount = '0' } = found.receipt
  return { amount, round: found.round === undefined ? undefined : Number(found.round) }
}
