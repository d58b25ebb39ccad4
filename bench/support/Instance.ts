/** Runs a daemon on copies of the template wallet, with handles to them. */
import { Daemon } from './Daemon.js'
import * as DataDirectory from './DataDirectory.js'
import { type Fixtures, password, walletNames } from './Fixtures.js'

export class Instance {
  readonly daemon: Daemon
  readonly #wallets: Map<string, DataDirectory.Wallet>
  readonly #handles = new Map<string, Promise<string>>()

  private constructor(daemon: Daemon, wallets: readonly DataDirectory.Wallet[]) {
    this.daemon = daemon
    this.#wallets = new Map(wallets.map((wallet) => [wallet.name, wallet]))
  }

  /** Accepts a data directory without wallets, or with the wallets of an earlier instance. */
  static async start(command: readonly string[], dataDir: string, fixtures: Fixtures): Promise<Instance> {
    const wallets = DataDirectory.copyWallet(fixtures.wallet, dataDir, walletNames)
    return new Instance(await Daemon.start(command, dataDir), wallets)
  }

  wallet(name: string): DataDirectory.Wallet {
    return this.#wallets.get(name)!
  }

  /** Returns a handle of the wallet, which is unlocked on the first call. */
  handle(name: string): Promise<string> {
    let handle = this.#handles.get(name)
    if (handle === undefined) {
      handle = this.daemon.unlock(this.wallet(name).id, password)
      this.#handles.set(name, handle)
    }
    return handle
  }
}
