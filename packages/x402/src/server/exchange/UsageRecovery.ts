/**
 * Settles the charges of streams whose gate ended, or whose settlement stayed undecided. A facilitator that does not
 * respond, or refuses, may have settled the charge before, so the ledger decides. A payer that has withdrawn its
 * authorization is refused from then on.
 */
import type { Chain } from '../../chain/Chain.js'
import type { GateEvents } from '../gate/GateEvents.js'
import type { TransferSearch } from '../sales/UptoTransfers.js'
import type { Sale } from '../store/Sales.js'
import type { MeteredWork, UsageStore } from '../store/UsageStore.js'
import type { Facilitators } from './Facilitators.js'
import type { SettlementOrder } from './MeteredStream.js'
import { readLedgerPayment } from './Payment.js'
import { type SettlementResult, settlePayment } from './settlePayment.js'
import { failureCause, type Withdrawals } from './Withdrawals.js'

export type UsageRecoveryOptions = {
  readonly store: UsageStore
  readonly facilitators: Facilitators
  readonly chains: readonly Chain[]
  readonly events: GateEvents
  readonly withdrawals: Withdrawals
  /** Never throws. */
  readonly onError: (error: unknown) => void
}

/** How long a payer that left work unpaid is refused. */
export const refuseMs = 60 * 60_000
/** Short, because the authorizations of killed streams expire. */
export const recoveryMs = 5_000
/** How many are settled at the same time. A settlement takes as long as a block. */
const batchSize = 40
/** How many batches a run settles. The next run continues. */
const maxBatches = 25
/** How long a run may take for its work until another gate takes it. */
const takenLeaseMs = 30_000
/** After this time, another try is made for a settlement that is not decided, or that failed. */
export const retryMs = 5_000
const failedRetryMs = 20_000
/** How far a node may be behind the others. */
const lagRounds = 100n

export class UsageRecovery {
  readonly #options: UsageRecoveryOptions
  #timer: ReturnType<typeof setInterval> | undefined
  #running: Promise<void> | undefined

  constructor(options: UsageRecoveryOptions) {
    this.#options = options
  }

  start(): void {
    void this.run()
    this.#timer = setInterval(() => void this.run(), recoveryMs)
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
    const { store, withdrawals, onError } = this.#options
    try {
      withdrawals.beginRun()
      for (let batches = 0; batches < maxBatches; batches++) {
        const taken = await store.takeAbandoned(batchSize, takenLeaseMs, nowMs)
        await Promise.all(taken.map((work) => this.#settle(work, nowMs).catch(onError)))
        if (taken.length < batchSize) return
      }
    } catch (error) {
      onError(error)
    }
  }

  /** Work that cannot be decided is given back, because its authorization may end before the lease of this gate. */
  async #settle(work: MeteredWork, nowMs: number): Promise<void> {
    const { store, chains } = this.#options
    const { transactionId, payer } = work
    const order = JSON.parse(work.order) as StoredOrder
    const chain = chains.find((one) => one.matches(order.requirement.network))
    // Another gate with the same store has the network.
    if (chain === undefined) return store.giveBack(work, retryMs, nowMs)
    let decision: Decision | Retry
    try {
      decision = await this.#decide(chain, work, order)
    } catch (error) {
      await store.giveBack(work, retryMs, nowMs)
      throw error
    }
    if ('afterMs' in decision) {
      const { afterMs, isRejected = false } = decision
      const next = isRejected ? JSON.stringify({ ...order, isRejected } satisfies StoredOrder) : work.order
      return store.giveBack({ transactionId, order: next }, afterMs, nowMs)
    }
    const { isUnpaid, ...outcome } = decision
    if (isUnpaid) await store.leaveUnpaid({ transactionId, payer, refuseMs }, nowMs)
    else await store.end(transactionId)
    if (outcome.outcome !== undefined) {
      this.#options.events.recovered({ ...order.sale, ...outcome, outcome: outcome.outcome, timeMs: Date.now() })
    }
  }

  /**
   * Asks the facilitator, and then the ledger about a charge that the facilitator has not settled.
   *
   * @throws AlgodError if no node responds
   */
  async #decide(chain: Chain, work: MeteredWork, order: StoredOrder): Promise<Decision | Retry> {
    const { facilitators, withdrawals, onError } = this.#options
    const { transactionId: requestId, charge } = work
    const { payload, requirement, claimant, sale } = order
    const payment = readLedgerPayment(payload, requirement, chain)
    if (typeof payment === 'string') throw new Error(`stored work of ${requestId}: ${payment}`)
    const settling = { facilitators, chain, payload, requirement, payment, claimant, requestId, charge, onError }
    const result = await settlePayment({ ...settling, isOnLedger: false })
    // A smaller charge was settled by a gate of this seller, before the work was taken.
    const known = chargedOf(result)
    if (known !== undefined) return { ...known, outcome: 'settled', code: '' }
    if (charge === 0n && result.state === 'failed') return {}
    const code = result.state === 'failed' ? (result.receipt.errorReason ?? 'settlement_failed') : ''
    const { lastRound } = await chain.parameters()
    if (lastRound <= BigInt(sale.lastValid)) {
      const isPending = result.state === 'pending'
      const cause = isPending ? 'unknown' : failureCause(code)
      if (cause === 'seller' || charge === 0n) return { afterMs: isPending ? retryMs : failedRetryMs }
      const evidence = await withdrawals.evidence(chain, { payment, sale, charge })
      // What the ledger has not decided yet is a matter of the recovery of sales.
      if (evidence === 'withdrawn') return isPending ? { isUnpaid: true } : { outcome: 'refused', code, isUnpaid: true }
      return { afterMs: isPending ? retryMs : failedRetryMs, isRejected: cause === 'ledger' && evidence === 'nothing' }
    }
    const found = charge === 0n ? notCharged : await withdrawals.find(chain, sale, lastRound)
    if (found.type === 'found') {
      return { outcome: 'settled', code: '', amount: `${found.amount}`, round: Number(found.round) }
    }
    if (found.type === 'absent') {
      // The ledger rejected the transfer while the authorization was valid, or another transaction has its lease.
      const isUnpaid = found.isVoided || order.isRejected === true
      return { outcome: isUnpaid ? 'refused' : 'cancelled', code: code || 'not_settled', isUnpaid }
    }
    // A node that lags does not have the latest blocks yet.
    const isPast = found.type === 'unreadable' && lastRound > BigInt(sale.lastValid) + lagRounds
    return isPast ? { outcome: 'unknown', code: code || 'settlement_failed' } : { afterMs: retryMs }
  }
}

/** `isRejected`: whether the ledger rejected the transfer while the authorization was valid. */
type StoredOrder = SettlementOrder & { readonly isRejected?: boolean | undefined }

/** What becomes of the sale; without an outcome, nothing was used. `isUnpaid`: whether the payer is at fault. */
type Decision = Partial<Pick<Sale, 'outcome' | 'code' | 'amount' | 'round'>> & { readonly isUnpaid?: boolean }
type Retry = { readonly afterMs: number; readonly isRejected?: boolean }

const notCharged: TransferSearch = { type: 'absent', isVoided: false }

/** The amount that was charged, even if it is not the whole charge. */
function chargedOf(result: SettlementResult): Pick<Sale, 'amount' | 'round'> | undefined {
  const found = result.state === 'settled' ? result : result.state === 'failed' ? result.short : undefined
  if (found === undefined) return undefined
  const { amount = '0' } = found.receipt
  return { amount, round: found.round === undefined ? undefined : Number(found.round) }
}
