/** Detects whether the node is the embedded devnet, whose faucet funds accounts. Never queries a public network. */
import { AlgodError, type DevnetInfo, type SuggestedParameters } from '@latchkey/algod'
import { Bytes, Network } from '@latchkey/algorand'
import type { NodeClient } from './NodeClient.js'

type Found = { genesisHash: Uint8Array; devnet: DevnetInfo | undefined }

/** A node keeps its ledger, so it is asked again only if the ledger changes or if it did not respond. */
const found = new WeakMap<NodeClient, Found>()

export function networkOf({ genesisHash }: Pick<SuggestedParameters, 'genesisHash'>): Network.Network | undefined {
  const hash = Bytes.toBase64(genesisHash)
  return Network.known.find((known) => known.genesisHash === hash)
}

/** Returns the devnet's description of itself; undefined for any other node. */
export async function find(node: NodeClient, parameters: SuggestedParameters): Promise<DevnetInfo | undefined> {
  if (networkOf(parameters) !== undefined) return undefined
  const { genesisHash } = parameters
  const known = found.get(node)
  if (known !== undefined && Bytes.equal(known.genesisHash, genesisHash)) return known.devnet
  const info = await ask(node)
  if (info === 'unknown') return undefined
  const devnet = info !== undefined && Bytes.equal(info.genesisHash, genesisHash) ? info : undefined
  found.set(node, { genesisHash, devnet })
  return devnet
}

async function ask(node: NodeClient): Promise<DevnetInfo | undefined | 'unknown'> {
  try {
    return await node.devnet()
  } catch (error) {
    // For example, a devnet on another machine, whose faucet is not accessible.
    if (error instanceof AlgodError) return 'unknown'
    throw error
  }
}
