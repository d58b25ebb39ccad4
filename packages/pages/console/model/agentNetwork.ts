/** The network of an agent's limits, and the asset that represents a dollar there. */
import { Network } from '@latchkey/algorand'
import { type Dollars, dollarOf } from '@latchkey/kmd-api/rules'
import type { NodeStatus } from '../responseTypes.js'

export type AgentNetwork = {
  /** In base64. */
  genesisHash: string
  title: string
  isMainnet: boolean
  dollarAssetId: bigint | undefined
}

/** Sources of the dollar asset of a network that is not public: the rules of an agent, and the daemon's node. */
export type DollarSource = { node: NodeStatus | undefined; dollars?: Dollars | undefined }

/** The dollar assets of networks that are not public: those of the rules first, then that of the daemon's node. */
export function dollarsOf({ node, dollars = [] }: DollarSource): Dollars {
  const [first] = node?.isReachable === true ? node.usdcAssetIds : []
  return first === undefined ? dollars : [...dollars, { network: node!.genesisHash, id: BigInt(first) }]
}

export function agentNetwork(genesisHash: string, source: DollarSource): AgentNetwork {
  const { node } = source
  const known = Network.known.find((network) => network.genesisHash === genesisHash)
  const isMainnet = genesisHash === Network.mainnet.genesisHash
  const isNode = node?.isReachable === true && node.genesisHash === genesisHash
  const other = isNode ? Network.phrase(node.network) : `the network ${genesisHash.slice(0, 8)}…`
  return {
    genesisHash,
    title: known?.displayName ?? other,
    isMainnet,
    dollarAssetId: dollarOf(genesisHash, dollarsOf(source)),
  }
}

/** The networks available for a new agent: that of the node, or the public networks if there is no node. */
export function agentNetworks(node: NodeStatus | undefined): AgentNetwork[] {
  if (node?.isReachable === true) return [agentNetwork(node.genesisHash, { node })]
  return Network.known.map(({ genesisHash }) => agentNetwork(genesisHash, { node }))
}
