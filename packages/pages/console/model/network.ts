/** Names of networks for people, and which network a transaction is for. */
import { Bytes, Network, Transaction } from '@latchkey/algorand'
import type { NodeStatus } from '../responses.js'

/** With a capital letter: it stands alone. */
export function networkTitle(network: string): string {
  const name = Network.displayName(network)
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/** Where the daemon's network is chosen. */
export const chooseNetwork =
  'The daemon uses one network. To choose another, start it with --node URL, or set "algod" in kmd_config.json.'

/** The network of a transaction if it is not that of the daemon's node; undefined if it is, or if that is not known. */
export function foreignNetwork(transaction: Uint8Array, node: NodeStatus | undefined): string | undefined {
  if (node === undefined || !node.isReachable) return undefined
  const genesisHash = genesisHashOf(transaction)
  if (genesisHash === undefined || genesisHash === node.genesisHash) return undefined
  const known = Network.known.find((network) => network.genesisHash === genesisHash)
  return known?.displayName ?? 'another local network'
}

/**
 * The genesis hash of what is submitted: that of MainNet if any of the transactions is for it, so that real money is never
 * taken for play money. One that names none is for the network of the node.
 */
export function submittedHash(genesisHashes: readonly string[], nodeHash: string | undefined): string {
  const hashes = genesisHashes.map((hash) => hash || (nodeHash ?? ''))
  return hashes.find((hash) => hash === Network.mainnet.genesisHash) ?? hashes[0] ?? ''
}

function genesisHashOf(transaction: Uint8Array): string | undefined {
  try {
    const { gh } = Transaction.decode(transaction)
    return gh === undefined ? undefined : Bytes.toBase64(gh)
  } catch {
    return undefined
  }
}
