/** Kibisis: an extension that communicates by messages of the page (ARC-27). */
import { AVMWebClient } from '@agoralabs-sh/avm-web-provider'
import { signedBytes, walletTransactions } from './arc1.js'
import type { Connection, ConnectorFailure, ConnectorOptions } from './Connector.js'

const providerId = 'f6d1c86b-4493-42fb-b88d-a62407b4cdf6'
/** Time for the person to decide. */
const timeoutMs = 180_000

type Result<T> = { error?: unknown; result?: T | null }

export async function connect({ network }: ConnectorOptions): Promise<Connection> {
  const client = AVMWebClient.init()
  const { accounts } = await request<{ accounts: { address: string }[] }>(client, (respond) => {
    const listener = client.onEnable((message) => respond(message as never))
    client.enable({ genesisHash: network.genesisHash, providerId })
    return listener
  })
  return {
    addresses: accounts.map(({ address }) => address),
    sign: async (group) => {
      const { stxns } = await request<{ stxns: (string | null)[] }>(client, (respond) => {
        const listener = client.onSignTransactions((message) => respond(message as never))
        client.signTransactions({ txns: walletTransactions(group), providerId })
        return listener
      })
      return signedBytes(stxns)
    },
  }
}

/** Sends a request and waits for its response. Without the extension none arrives. */
function request<T>(client: AVMWebClient, send: (respond: (message: Result<T>) => void) => string): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer)
      client.removeListener(listener)
    }
    const listener = send(({ error, result }) => {
      end()
      if (result) resolve(result)
      else reject(error ?? ({ connectorCode: 'wallet_failed' } satisfies ConnectorFailure))
    })
    const timer = setTimeout(() => {
      end()
      reject({ connectorCode: 'wallet_not_installed' } satisfies ConnectorFailure)
    }, timeoutMs)
  })
}
