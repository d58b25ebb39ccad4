/**
 * Ends the holds of payments that the ledger no longer accepts. The rounds of the ledger decide and no clock does:
 * rounds take longer on some networks, and on a development network they stand still.
 */
import { type Algod, AlgodError } from '@latchkey/algod'
import type { Chain } from '../../chain/Chain.js'
import type { ErrorListener } from '../FacilitatorOptions.js'
import type { SettlementStore } from '../store/Settlements.js'
import type { Reservations } from './Reservations.js'

type HoldExpiryOptions = {
  readonly store: SettlementStore
  readonly reservations: Reservations
  readonly onError: ErrorListener
}

const everyMs = 60_000
/**
 * How many rounds after the last valid one a payment still belongs to its claimant in the store. A gate that was
 * restarted meanwhile can then still end it.
 */
const keptRounds = 1_000n
/** No transaction has this id. */
const unknownId = 'A'.repeat(52)

export class HoldExpiry {
  readonly #options: HoldExpiryOptions
  readonly #chains = new Set<Chain>()
  #timer: ReturnType<typeof setInterval> | undefined
  #isStopped = false

  constructor(options: HoldExpiryOptions) {
    this.#options = options
  }

  /** Call this if payments on the network are held. */
  watch(chain: Chain): void {
    this.#chains.add(chain)
    if (this.#timer !== undefined) return
    this.#timer = setInterval(() => void this.run(), everyMs)
    // Node's timers keep the process running and need `unref`. Timers in browsers are numbers.
    if (typeof this.#timer === 'object') this.#timer.unref()
  }

  /** Ends what has expired now. Never rejects. */
  async run(): Promise<void> {
    const { store, reservations, onError } = this.#options
    for (const { caip2, algod } of this.#chains) {
      try {
        const round = await passedRound(algod)
        if (this.#isStopped || round === undefined) continue
        reservations.forget(caip2, round)
        if (round > keptRounds) await store.holds.forget(caip2, round - keptRounds)
      } catch (error) {
        // /health reports nodes that do not respond.
        if (!(error instanceof AlgodError)) onError(error)
      }
    }
  }

  stop(): void {
    this.#isStopped = true
    clearInterval(this.#timer)
  }
}

/** A round that the ledger has reached, according to as many nodes as the quorum; undefined if too few respond. */
async function passedRound(algod: Algod): Promise<bigint | undefined> {
  if (algod.quorum === 1) return algod.lastRound()
  const { absences } = await algod.lookUpEverywhere(unknownId)
  const rounds = absences.map(({ round }) => round).sort((a, b) => (a < b ? 1 : a > b ? -1 : 0))
  return rounds[algod.quorum - 1]
}
