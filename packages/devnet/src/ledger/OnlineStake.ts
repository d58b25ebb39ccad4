import * as Consensus from './Consensus.js'

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
