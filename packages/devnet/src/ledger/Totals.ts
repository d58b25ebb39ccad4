/** The Algos of all accounts by their status. */
import type { Account, Status } from './Account.js'
import * as Consensus from './Consensus.js'

/** `rewardUnits` counts whole Algos, account by account. */
export type Total = { readonly microAlgos: bigint; readonly rewardUnits: bigint }
export type Totals = { readonly [status in Status]: Total }

const rewardUnitMicroAlgos = 1_000_000n

export const none: Totals = {
  Offline: { microAlgos: 0n, rewardUnits: 0n },
  Online: { microAlgos: 0n, rewardUnits: 0n },
  'Not Participating': { microAlgos: 0n, rewardUnits: 0n },
}

export function of(accounts: Iterable<Account>): Totals {
  const sums: { [status in Status]: Total } = { ...none }
  for (const { status, microAlgos } of accounts) {
    const sum = sums[status]
    sums[status] = {
      microAlgos: sum.microAlgos + microAlgos,
      rewardUnits: sum.rewardUnits + microAlgos / rewardUnitMicroAlgos,
    }
  }
  return sums
}

/** The totals after an account changed. */
export function changed(totals: Totals, before: Account, after: Account): Totals {
  const minus = totals[before.status]
  const without: Totals = {
    ...totals,
    [before.status]: {
      microAlgos: minus.microAlgos - before.microAlgos,
      rewardUnits: minus.rewardUnits - before.microAlgos / rewardUnitMicroAlgos,
    },
  }
  const plus = without[after.status]
  return {
    ...without,
    [after.status]: {
      microAlgos: plus.microAlgos + after.microAlgos,
      rewardUnits: plus.rewardUnits + after.microAlgos / rewardUnitMicroAlgos,
    },
  }
}

/** The Algos of the accounts that were online after each of the last rounds: agreement looks back 320 rounds. */
export class OnlineStake {
  readonly #byRound = new Map<bigint, bigint>()

  record(round: bigint, microAlgos: bigint): void {
    this.#byRound.set(round, microAlgos)
    this.#byRound.delete(round - Consensus.balanceLookbackRounds - 1n)
  }

  /** Restarts from a state without its history: its online stake is used for all earlier rounds. */
  restart(round: bigint, microAlgos: bigint): void {
    this.#byRound.clear()
    this.record(round, microAlgos)
  }

  /** Returns the stake that counts for agreement in a round. */
  countedIn(round: bigint): bigint {
    const lookback = round > Consensus.balanceLookbackRounds ? round - Consensus.balanceLookbackRounds : 0n
    const [earliest] = this.#byRound.values()
    return this.#byRound.get(lookback) ?? earliest ?? 0n
  }
}
