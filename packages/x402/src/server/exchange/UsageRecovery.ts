/**
 * Settles the charges of streams whose gate ended, or whose settlement stayed undecided. A payer whose authorization
 * has expired without a settlement is refused from then on.
 */
import { AlgodError } from '@latchkey/algod'
import type { Chain } from '../../chain/Chain.js'
import type { GateEvents } from '../gate/GateEvents.js'
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

export class UsageRecovery {
  readonly #options: UsageRecoveryOptions
  #timer: ReturnType<typeof setInterval> | undefined
  #running: Promise<void> | undefined

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
    const { store, facilitators, chains, events, onError } = this.#options
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
    const settled = chargedOf(result)
    if (settled !== undefined) {
      events.recovered({ ...sale, ...settled, outcome: 'settled', code: '', timeMs: Date.now() })
    }
    if (result.state === 'settled' || (result.state === 'failed' && charge === 0n)) return store.end(transactionId)
    if (result.state === 'pending' && !(await isExpired(chain, payment.lastValid))) {
      await store.note(work, retryMs, nowMs)
      return
    }
    // Without a decision until the end of its validity, nothing can be charged any more.
    await store.leaveUnpaid({ transactionId, payer: work.payer, refuseMs }, nowMs)
    if (settled !== undefined) return
    const code = result.receipt.errorReason ?? 'settlement_failed'
    const outcome = result.state === 'pending' ? 'unknown' : 'refused'
    events.recovered({ ...sale, outcome, code, timeMs: Date.now() })
  }
}

/** The amount that was charged, even if it is not the whole charge. */
function chargedOf(result: SettlementResult): Pick<Sale, 'amount' | 'round'> | undefined {
  const found = result.state === 'settled' ? result : result.state === 'failed' ? result.short : undefined
  if (found === undefined) return undefined
  const { amount = '0' } = found.receipt
  return { amount, round: found.round === undefined ? undefined : Number(found.round) }
}

async function isExpired(chain: Chain, lastValid: bigint): Promise<boolean> {
  try {
    return (await chain.parameters()).lastRound > lastValid
  } catch (error) {
    if (error instanceof AlgodError) return false
    throw error
  }
}
