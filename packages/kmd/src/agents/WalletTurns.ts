/**
 * One change at a time of what connects a wallet and its agents: granting its keys, deleting a key, deleting the wallet. A key
 * that is being deleted is not granted meanwhile.
 */
export class WalletTurns {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs `work` once what was asked for earlier for the same wallet is done. */
  async run<T>(walletId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(walletId)
    const turn = before === undefined ? work() : before.then(work)
    // The failure is the caller's to handle; the next one only waits.
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
