/** What the Algorand node knows, passed on: the page of the console talks to nobody but the daemon. */
import { Network } from '@latchkey/algorand'
import { KmdError, registry } from '../Errors.js'
import { type Account, type Asset, NodeError, type Questions } from '../node/Node.js'
import { extraPrefix } from './latchkeyOperations.js'
import { ascii, define } from './Operation.js'
import { decodeAddress } from './Services.js'

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
      { name: 'message', shape: text, about: 'Why it is not reachable, and what to do; blank if it is' },
    ],
    responseName: 'GetNodeResponse',
    run: async ({ node }) => {
      if (node === undefined) return { ...noNode, message: registry.noNode[1] }
      try {
        const { genesisId, genesisHash, lastRound } = await node.status()
        const network = Network.known.find((known) => known.genesisHash === genesisHash)?.name ?? 'local'
        const found = { genesis_id: genesisId, genesis_hash: genesisHash, network, last_round: lastRound }
        return { is_set: true, is_reachable: true, ...found, message: '' }
      } catch (error) {
        if (error instanceof NodeError) return { ...noNode, is_set: true, message: error.message }
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
      { name: 'addresses', kind: { type: 'list', of: ascii }, about: `At most ${maxAddresses}, of 58 characters each` },
    ],
    response: [{ name: 'accounts', shape: { type: 'list', of: account } }],
    responseName: 'GetAccountsResponse',
    run: ({ node }, { addresses }) => {
      if (addresses.length > maxAddresses) throw new KmdError('tooManyAddresses')
      for (const address of addresses) decodeAddress(address)
      return withNode(node, async (asked) => ({
        accounts: await Promise.all(
          addresses.map(async (address) => describeAccount(asked, address, await asked.account(address))),
        ),
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
        kind: { type: 'list', of: ascii },
        about: `At most ${maxTransactionIds}, of 52 characters each`,
      },
    ],
    response: [{ name: 'transactions', shape: { type: 'list', of: transaction } }],
    responseName: 'FindTransactionsResponse',
    run: ({ node }, input) => {
      const ids = input.transaction_ids
      if (ids.length > maxTransactionIds) throw new KmdError('tooManyTransactionIds')
      if (!ids.every((id) => /^[A-Z2-7]{52}$/.test(id))) throw new KmdError('badTransactionId')
      return withNode(node, async (asked) => ({
        transactions: await Promise.all(
          ids.map(async (id) => ({ transaction_id: id, ...(await asked.transaction(id)) })),
        ),
      }))
    },
  }),
]

const noNode = { is_set: false, is_reachable: false, genesis_id: '', genesis_hash: '', network: '', last_round: 0 }

async function withNode<T>(node: Questions | undefined, work: (node: Questions) => Promise<T>): Promise<T> {
  if (node === undefined) throw new KmdError('noNode')
  try {
    return await work(node)
  } catch (error) {
    if (error instanceof NodeError) throw new KmdError('nodeFailed', { message: error.message, cause: error })
    throw error
  }
}

/** Fails where the node does not tell of an asset: a wrong number of decimals would be a wrong amount. */
async function describeAccount(node: Questions, address: string, found: Account) {
  const assets: Asset[] = await Promise.all(found.holdings.map(({ assetId }) => node.asset(assetId)))
  return {
    address,
    micro_algos: String(found.microAlgos),
    min_micro_algos: String(found.minMicroAlgos),
    rekeyed_to: found.rekeyedTo,
    assets: found.holdings.map(({ assetId, amount, isFrozen }, index) => ({
      asset_id: String(assetId),
      amount: String(amount),
      decimals: assets[index]!.decimals,
      unit_name: assets[index]!.unitName,
      is_frozen: isFrozen,
    })),
    assets_left_out: found.holdingCount - found.holdings.length,
  }
}
