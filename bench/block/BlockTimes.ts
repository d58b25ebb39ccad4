/** Records when the blocks of a devnet were made, as seen from this process. */
import { Algod } from '@latchkey/algod'

const waitMs = 60_000

export class BlockTimes {
  readonly #algod: Algod
  readonly #times = new Map<bigint, number>()
  readonly #listeners = new Set<() => void>()
  #isStopped = false
  #cancel: (() => void) | undefined
  #round = 0n

  constructor(url: string) {
    this.#algod = new Algod({ nodes: [{ url }] })
  }

  /** Runs until `stop` is called. */
  async run(): Promise<void> {
    this.#round = await this.#algod.lastRound()
    while (!this.#isStopped) {
      const round = await this.#algod
        .waitForBlock(this.#round, { timeoutMs: waitMs, onStart: this.#onStart })
        .catch(() => {
          if (!this.#isStopped) throw new Error('the devnet does not support waiting for a block')
          return undefined
        })
      const now = performance.now()
      for (let next = this.#round + 1n; next <= (round ?? 0n); next++) this.#times.set(next, now)
      this.#round = round ?? this.#round
      for (const listener of this.#listeners) listener()
      this.#listeners.clear()
    }
  }

  readonly #onStart = (cancel: () => void): void => {
    this.#cancel = cancel
  }

  next(): Promise<void> {
    return new Promise((resolve) => this.#listeners.add(resolve))
  }

  /** Returns when the block that contains the transaction was made. */
  async ofTransaction(id: string): Promise<number> {
    const state = await this.#algod.transaction(id)
    if (state.type !== 'confirmed') throw new Error(`${id} was reported as settled, and is not in a block`)
    while (!this.#times.has(state.round)) await this.next()
    return this.#times.get(state.round)!
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel?.()
    await this.#algod.close()
  }
}
