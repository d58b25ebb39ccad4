/** Queries to the Algorand node for the console, which connects only to the daemon. */
import { AlgodError, type AssetInfo } from '@latchkey/algod'
import { Bytes } from '@latchkey/algorand'
import { apiErrors, KmdError } from '../errors.js'
import { requireOwnAddresses } from './agentWallet.js'
import { decodeAddress } from './decodeAddress.js'
import * as Faucet from './Faucet.js'
import { extraPrefix } from './latchkeyOperations.js'
import type { NodeClient } from './NodeClient.js'
import { ascii, define } from './Operation.js'
import { explain, withNode } from './withNode.js'

const text = { type: 'string' } as const
const bool = { type: 'bool' } as const
const count = { type: 'uint', format: 'int64' } as const
const maxAddresses = 100
const maxTransactionIds = 50

const holding = {
  type: 'object',
  name: 'AccountAsset',
  members: [
    { name: 'asset_id', shape: text, about: 'As decimal text' },
    { name: 'amount', shape: text, about: 'In the smallest unit of the asset, as decimal text' },
    { name: 'decimals', shape: count },
    { name: 'unit_name', shape: text },
    { name: 'is_frozen', shape: bool },
  ],
} as const

const account = {
  type: 'object',
  name: 'Account',
  members: [
    { name: 'address', shape: text },
    { name: 'micro_algos', shape: text, about: 'As decimal text' },
    { name: 'min_micro_algos', shape: text, about: 'What must stay in the account, as decimal text' },
    { name: 'rekeyed_to', shape: text, about: 'Whose key signs for it; blank if its own' },
    { name: 'assets', shape: { type: 'list', of: holding } },
    { name: 'assets_left_out', shape: count, about: 'How many it holds beyond those listed' },
  ],
} as const

const transaction = {
  type: 'object',
  name: 'TransactionState',
  members: [
    { name: 'transaction_id', shape: text },
    { name: 'state', shape: text, about: 'confirmed, pending or unknown' },
    { name: 'round', shape: count, about: '0 unless it is confirmed' },
  ],
} as const

export const nodeOperations = [
  define({
    id: 'GetNode',
    method: 'GET',
    path: `${extraPrefix}/node`,
    about: 'Tells which Algorand node the daemon asks, and whether it answers.',
    request: [],
    response: [
      { name: 'is_set', shape: bool },
      { name: 'is_reachable', shape: bool },
      { name: 'genesis_id', shape: text },
      { name: 'genesis_hash', shape: text, about: 'In base64' },
      { name: 'network', shape: text, about: 'mainnet, testnet, betanet or local' },
      { name: 'last_round', shape: count },
      { name: 'has_faucet', shape: bool, about: 'Whether it is the embedded devnet, which funds accounts' },
      {
        name: 'usdc_asset_ids',
        shape: { type: 'list', of: text },
        about: 'The assets that stand for a dollar on the network, as decimal text',
      },
      { name: 'message', shape: text, about: 'Why it is not reachable, and what to do; blank if it is' },
    ],
    responseName: 'GetNodeResponse',
    run: async ({ node }) => {
      if (node === undefined) return { ...noNode, message: apiErrors.no_node.message }
      try {
        return { is_set: true, is_reachable: true, ...(await describeNode(node)), message: '' }
      } catch (error) {
        if (error instanceof AlgodError) return { ...noNode, is_set: true, message: explain(error) }
        throw error
      }
    },
  }),
  define({
    id: 'GetAccounts',
    method: 'POST',
    path: `${extraPrefix}/accounts`,
    about: 'Tells what accounts hold, as the node knows it.',
    request: [
      {
        name: 'addresses',
        kind: { type: 'list', of: ascii, max: maxAddresses, tooLong: 'too_many_addresses' },
        about: `At most ${maxAddresses}, of 58 characters each`,
      },
    ],
    response: [{ name: 'accounts', shape: { type: 'list', of: account } }],
    responseName: 'GetAccountsResponse',
    errors: ['bad_address', 'too_many_addresses', 'no_node', 'node_failed'],
    run: (context, { addresses }, caller) => {
      for (const address of addresses) decodeAddress(address)
      requireOwnAddresses(context, caller, addresses)
      return withNode(context.node, async (algod) => ({
        accounts: await Promise.all(addresses.map((address) => describeAccount(algod, address))),
      }))
    },
  }),
  define({
    id: 'FindTransactions',
    method: 'POST',
    path: `${extraPrefix}/transactions`,
    about: 'Tells whether transactions are in the ledger, as far back as the node remembers.',
    request: [
      {
        name: 'transaction_ids',
        kind: { type: 'list', of: ascii, max: maxTransactionIds, tooLong: 'too_many_transaction_ids' },
        about: `At most ${maxTransactionIds}, of 52 characters each`,
      },
    ],
    response: [{ name: 'transactions', shape: { type: 'list', of: transaction } }],
    responseName: 'FindTransactionsResponse',
    errors: ['bad_transaction_id', 'too_many_transaction_ids', 'no_node', 'node_failed'],
    run: ({ node }, input) => {
      const ids = input.transaction_ids
      if (!ids.every((id) => /^[A-Z2-7]{52}$/.test(id))) throw new KmdError('bad_transaction_id')
      return withNode(node, async (algod) => ({
        transactions: await Promise.all(ids.map((id) => describeTransaction(algod, id))),
      }))
    },
  }),
]

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

async function describeTransaction(algod: NodeClient, id: string) {
  const state = await algod.transaction(id)
  if (state.type === 'confirmed') return { transaction_id: id, state: state.type, round: Number(state.round) }
  return { transaction_id: id, state: state.type === 'pending' ? 'pending' : 'unknown', round: 0 }
}
