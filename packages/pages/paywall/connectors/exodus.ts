/** Exodus: an extension that injects an ARC-1 provider into the page. */
import { signedBytes, type WalletTransaction, walletTransactions } from './arc1.js'
import type { Connection, ConnectorFailure, ConnectorOptions } from './Connector.js'

type Provider = {
  enable: (options: object) => Promise<{ accounts: string[] }>
  signTxns: (transactions: WalletTransaction[]) => Promise<(string | null)[]>
}

export async function connect({ siteName, network }: ConnectorOptions): Promise<Connection> {
  const provider = (globalThis as { algorand?: Provider }).algorand
  if (provider === undefined) throw { connectorCode: 'wallet_not_installed' } satisfies ConnectorFailure
  const { genesisId, genesisHash } = network
  const { accounts } = await provider.enable({ siteName, genesisID: genesisId, genesisHash })
  return {
    addresses: accounts,
    sign: async (group) => signedBytes(await provider.signTxns(walletTransactions(group))),
  }
}
