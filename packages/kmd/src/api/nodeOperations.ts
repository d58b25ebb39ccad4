/** Queries to the Algorand node for the console, which connects only to the daemon. */
import { AlgodError, type AssetInfo } from '@latchkey/algod'
import { Bytes } from '@latchkey/algorand'
import { apiErrors, KmdError } from '../errors.js'
import type { NodeContext } from './Context.js'
import * as Faucet from './Faucet.js'
import type { Implementations, OutputOf } from './Implementation.js'
import { decodeAddress } from './members.js'
import { explainNodeError, type NodeClient, withNode } from './NodeClient.js'
import { requireOwnAddresses } from './ownAgent.js'

export const nodeOperations = {
  GetNode: { run: getNode, runAsAgent: getNode },
  GetAccounts: {
    run: ({ node }, { addresses }) => {
      for (const address of addresses) decodeAddress(address)
      return getAccounts(node, addresses)
    },
    runAsAgent: (context, { addresses }, caller) => {
      for (const address of addresses) decodeAddress(address)
      requireOwnAddresses(context, caller, addresses)
      return getAccounts(context.node, addresses)
    },
  },
  FindTransactions: {
    run: ({ node }, input) => {
      const ids = input.transaction_ids
      if (!ids.every((id) => /^[A-Z2-7]{52}$/.test(id))) throw new KmdError('bad_transaction_id')
      return withNode(node, async (algod) => ({
        transactions: await Promise.all(ids.map((id) => describeTransaction(algod, id))),
      }))
    },
  },
} satisfies Partial<Implementations>

type TransactionState = OutputOf<'FindTransactions'>['transactions'][number]

async function getNode({ node }: NodeContext) {
  if (node === undefined) return { ...noNode, message: apiErrors.no_node.message }
  try {
    return { is_set: true, is_reachable: true, ...(await describeNode(node)), message: '' }
  } catch (error) {
    if (error instanceof AlgodError) return { ...noNode, is_set: true, message: explainNodeError(error) }
    throw error
  }
}

function getAccounts(node: NodeClient | undefined, addresses: readonly string[]) {
  return withNode(node, async (algod) => ({
    accounts: await Promise.all(addresses.map((address) => describeAccount(algod, address))),
  }))
}

const noNode = {
  ...{ is_set: false, is_reachable: false, genesis_id: '', genesis_hash: '', network: '', last_round: 0 },
  ...{ has_faucet: false, usdc_asset_ids: [] },
}

async function describeNode(node: NodeClient) {
  const parameters = await node.parameters()
  const { genesisId, genesisHash, lastRound } = parameters
  const network = Faucet.networkOf(parameters)
  const devnet = await Faucet.find(node, parameters)
  const dollars = network?.usdcAssetId === undefined ? (devnet?.dollarAssetIds ?? []) : [network.usdcAssetId]
  return {
    genesis_id: genesisId,
    genesis_hash: Bytes.toBase64(genesisHash),
    network: network?.name ?? 'local',
    last_round: Number(lastRound),
    has_faucet: devnet !== undefined,
    usdc_asset_ids: dollars.map(String),
  }
}

/** Fails if the node fails for an asset, because a wrong number of decimals would be a wrong amount. */
async function describeAccount(algod: NodeClient, address: string) {
  const account = await algod.accountWithHoldings(address)
  const assets = await Promise.all(account.holdings.map(({ assetId }) => algod.asset(assetId)))
  return {
    address,
    micro_algos: String(account.microAlgos),
    min_micro_algos: String(account.minBalance),
    rekeyed_to: account.authAddress ?? '',
    assets: account.holdings.map(({ assetId, amount, isFrozen }, index) => {
      const { decimals, unitName = '' } = assets[index] ?? deletedAsset
      const asset = { asset_id: String(assetId), amount: String(amount), decimals, unit_name: unitName }
      return { ...asset, is_frozen: isFrozen }
    }),
    assets_left_out: account.holdingCount - account.holdings.length,
  }
}

const deletedAsset: AssetInfo = { decimals: 0, unitName: undefined }

async function describeTransaction(algod: NodeClient, id: string): Promise<TransactionState> {
  const state = await algod.transaction(id)
  if (state.type === 'confirmed') return { transaction_id: id, state: state.type, round: Number(state.round) }
  return { transaction_id: id, state: state.type === 'pending' ? 'pending' : 'unknown', round: 0 }
}
