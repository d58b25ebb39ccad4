/** Keeps unlocks in progress during a measurement, each on its own connection and wallet. */
import { Connection } from './Connection.js'
import { password, unlockWalletNames } from './Fixtures.js'
import type { Instance } from './Instance.js'

export class UnlockLoad {
  readonly #connections: Connection[]
  #failure: Error | undefined

  private constructor(connections: Connection[]) {
    this.#connections = connections
  }

  static async begin(instance: Instance): Promise<UnlockLoad> {
    const { daemon } = instance
    const open = () => Connection.open(daemon.port, { keepBody: false })
    const unlocks = new UnlockLoad(await Promise.all(unlockWalletNames.map(open)))
    for (const [index, connection] of unlocks.#connections.entries()) {
      const body = { wallet_id: instance.wallet(unlockWalletNames[index]!).id, wallet_password: password }
      unlocks.#repeat(connection, daemon.build('POST', '/v1/wallet/init', body))
    }
    return unlocks
  }

  /** Throws if an unlock failed. Unlocks in progress are left to the daemon, which is killed next. */
  end(): void {
    for (const connection of this.#connections) connection.close()
    if (this.#failure !== undefined) throw this.#failure
  }

  #repeat(connection: Connection, request: Uint8Array): void {
    const fail = (error: Error): void => {
      this.#failure ??= error
    }
    const done = (status: number): void => {
      if (status === 200) connection.send(request, { done, fail })
      else fail(new Error(`an unlock beside the load returned status ${status}`))
    }
    connection.send(request, { done, fail })
  }
}
