/**
 * Serializes changes that connect a wallet and its agents: granting its keys, deleting a key, deleting the wallet. A
 * key that is being deleted cannot be granted at the same time.
 */
export class WalletTurns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs `work` after all earlier work for the same wallet has finished. */
  async run<T>(walletId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(walletId)
    const turn = before === undefined ? work() : before.then(work)
    // The caller handles the failure; the next one only waits.
    const done = turn.then(
      () => {},
      () => {},
    )
    this.#last.set(walletId, done)
    try {
      return await turn
    } finally {
      if (this.#last.get(walletId) === done) this.#last.delete(walletId)
    }
  }
}
