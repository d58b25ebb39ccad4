/** The network of an agent's limits, and the asset that represents a dollar there. */
import { Network } from '@latchkey/algorand'
import type { AgentNetworkItem } from '@latchkey/kmd-client'
import type { NodeStatus } from '../responses.js'

export type AgentNetwork = {
  /** In base64. */
  genesisHash: string
  title: string
  isMainnet: boolean
  dollarAssetId: bigint | undefined
}

/** Sources of the dollar asset of a network that is not public: the rules of an agent, and the daemon's node. */
export type DollarSource = { node: NodeStatus | undefined; dollars?: readonly AgentNetworkItem[] | undefined }

export function agentNetwork(genesisHash: string, { node, dollars = [] }: DollarSource): AgentNetwork {
  const known = Network.known.find((network) => network.genesisHash === genesisHash)
  const isMainnet = genesisHash === Network.mainnet.genesisHash
  if (known !== undefined) {
    return { genesisHash, title: known.displayName, isMainnet, dollarAssetId: known.usdcAssetId }
  }
  const isNode = node?.isReachable === true && node.genesisHash === genesisHash
  const [first] = isNode ? node.usdcAssetIds : []
  const named = dollars.find(({ network }) => network === genesisHash)?.id
  return {
    genesisHash,
    title: isNode ? Network.phrase(node.network) : `the network ${genesisHash.slice(0, 8)}…`,
    isMainnet,
    dollarAssetId: named ?? (first === undefined ? undefined : BigInt(first)),
  }
}

/** The networks available for a new agent: that of the node, or the public networks if there is no node. */
export function agentNetworks(node: NodeStatus | undefined): AgentNetwork[] {
  if (node?.isReachable === true) return [agentNetwork(node.genesisHash, { node })]
  return Network.known.map(({ genesisHash }) => agentNetwork(genesisHash, { node }))
}
