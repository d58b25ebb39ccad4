/** Determines the network of a transaction. */
import { Bytes, Network, Transaction } from '@latchkey/algorand'
import type { NodeStatus } from '../responseTypes.js'

/**
 * Returns the network of a transaction if it differs from that of the daemon's node, and undefined if it is the same or
 * unknown.
 */
export function foreignNetwork(transaction: Uint8Array, node: NodeStatus | undefined): string | undefined {
  if (node === undefined || !node.isReachable) return undefined
  const genesisHash = genesisHashOf(transaction)
  if (genesisHash === undefined || genesisHash === node.genesisHash) return undefined
  const known = Network.known.find((network) => network.genesisHash === genesisHash)
  return known?.displayName ?? 'another local network'
}

function genesisHashOf(transaction: Uint8Array): string | undefined {
  try {
    const { gh } = Transaction.decode(transaction)
    return gh === undefined ? undefined : Bytes.toBase64(gh)
  } catch {
    return undefined
  }
}
