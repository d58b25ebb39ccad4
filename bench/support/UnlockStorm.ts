/** Unlocks that are kept under way beside a measurement, each on its own connection and of its own wallet. */
import { Connection } from './Connection.js'
import { password, unlockWalletNames } from './Fixtures.js'
import type { Instance } from './Instance.js'

export class UnlockStorm {
  readonly #connections: Connection[]
  #failure: Error | undefined

  private constructor(connections: Connection[]) {
    this.#connections = connections
  }

  static async begin(instance: Instance): Promise<UnlockStorm> {
    const { daemon } = instance
    const open = () => Connection.open(daemon.port, { keepBody: false })
    const storm = new UnlockStorm(await Promise.all(unlockWalletNames.map(open)))
    for (const [index, connection] of storm.#connections.entries()) {
      const body = { wallet_id: instance.wallet(unlockWalletNames[index]!).id, wallet_password: password }
      storm.#repeat(connection, daemon.build('POST', '/v1/wallet/init', body))
    }
    return storm
  }

  /** Throws if it was not a storm of unlocks all along. What is under way is left to the daemon, which is to be killed. */
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
      else fail(new Error(`unlocking beside the load answered with status ${status}`))
    }
    connection.send(request, { done, fail })
  }
}
