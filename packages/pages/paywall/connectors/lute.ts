/** Lute: an extension, or a web wallet in a separate window. */
import LuteConnect from 'lute-connect'
import { signedBytes, walletTransactions } from './arc1.js'
import type { Connection, ConnectorOptions } from './Connector.js'

export const opensWindow = (): boolean => (globalThis as { lute?: unknown }).lute === undefined

export async function connect({ siteName, network }: ConnectorOptions): Promise<Connection> {
  const lute = new LuteConnect(siteName)
  return {
    addresses: await lute.connect(network.genesisId),
    sign: async (group) => signedBytes(await lute.signTxns(walletTransactions(group))),
  }
}
