/** Operations for preparing a transfer (parameters, assets, holdings, the node's simulation), and the faucet. */
import { AlgodError, explainRejection } from '@latchkey/algod'
import { Address, Amount, Bytes, SignedTransaction, TransactionFile } from '@latchkey/algorand'
import { KmdError } from '../errors.js'
import { requireOwnAddresses } from './agentWallet.js'
import { decodeAddress } from './decodeAddress.js'
import * as Faucet from './Faucet.js'
import { extraPrefix } from './latchkeyOperations.js'
import type { NodeClient } from './NodeClient.js'
import { address as addressField, ascii, bytes, define } from './Operation.js'
import { explain, withNode } from './withNode.js'

const text = { type: 'string' } as const
const bool = { type: 'bool' } as const
const count = { type: 'uint', format: 'int64' } as const
const maxAssetIds = 50
const maxAddresses = 100
const maxUint64 = 2n ** 64n - 1n

const asset = {
  type: 'object',
  name: 'Asset',
  members: [
    { name: 'asset_id', shape: text, about: 'As decimal text' },
    { name: 'exists', shape: bool },
    { name: 'decimals', shape: count },
    { name: 'unit_name', shape: text },
    { name: 'name', shape: text, about: 'As its creator chose it: anybody can choose any name' },
    { name: 'creator', shape: text },
    { name: 'is_frozen_by_default', shape: bool, about: 'Whether an account that opts in is frozen at first' },
  ],
} as const

const holding = {
  type: 'object',
  name: 'Holding',
  members: [
    { name: 'address', shape: text },
    { name: 'is_opted_in', shape: bool },
    { name: 'amount', shape: text, about: 'In the smallest unit of the asset, as decimal text' },
    { name: 'is_frozen', shape: bool },
  ],
} as const

const assetId = { name: 'asset_id', kind: ascii, about: 'The id of an asset, as decimal text' } as const

export const transferOperations = [
  define({
    id: 'GetTransactionParameters',
    method: 'GET',
    path: `${extraPrefix}/transaction/parameters`,
    about: 'Returns what a new transaction needs from the network: genesis, round and fees.',
    request: [],
    response: [
      { name: 'genesis_id', shape: text },
      { name: 'genesis_hash', shape: text, about: 'In base64' },
      { name: 'last_round', shape: count },
      { name: 'min_fee_micro_algos', shape: text, about: 'As decimal text' },
      { name: 'fee_per_byte_micro_algos', shape: text, about: 'As decimal text; 0 unless the network is congested' },
    ],
    responseName: 'GetTransactionParametersResponse',
    errors: ['no_node', 'node_failed'],
    run: ({ node }) =>
      withNode(node, async (algod) => {
        const { genesisId, genesisHash, lastRound, minFee, feePerByte } = await algod.parameters()
        return {
          genesis_id: genesisId,
          genesis_hash: Bytes.toBase64(genesisHash),
          last_round: Number(lastRound),
          min_fee_micro_algos: String(minFee),
          fee_per_byte_micro_algos: String(feePerByte),
        }
      }),
  }),
  define({
    id: 'GetAssets',
    method: 'POST',
    path: `${extraPrefix}/assets`,
    about: 'Returns decimals, unit, name and creator of assets, as the node knows them.',
    request: [
      {
        name: 'asset_ids',
        kind: { type: 'list', of: ascii, max: maxAssetIds, tooLong: 'too_many_asset_ids' },
        about: `At most ${maxAssetIds}, as decimal text`,
      },
    ],
    response: [{ name: 'assets', shape: { type: 'list', of: asset } }],
    responseName: 'GetAssetsResponse',
    errors: ['bad_asset_id', 'too_many_asset_ids', 'no_node', 'node_failed'],
    run: ({ node }, input) => {
      const ids = input.asset_ids.map(readAssetId)
      return withNode(node, async (algod) => ({ assets: await Promise.all(ids.map((id) => describeAsset(algod, id))) }))
    },
  }),
  define({
    id: 'GetHoldings',
    method: 'POST',
    path: `${extraPrefix}/holdings`,
    about: 'Tells which accounts have opted in to an asset, and how much of it they hold.',
    request: [
      assetId,
      {
        name: 'addresses',
        kind: { type: 'list', of: ascii, max: maxAddresses, tooLong: 'too_many_addresses' },
        about: `At most ${maxAddresses}, of 58 characters each`,
      },
    ],
    response: [{ name: 'holdings', shape: { type: 'list', of: holding } }],
    responseName: 'GetHoldingsResponse',
    errors: ['bad_asset_id', 'bad_address', 'too_many_addresses', 'no_node', 'node_failed'],
    run: (context, { addresses, asset_id }, caller) => {
      const id = readAssetId(asset_id)
      for (const address of addresses) decodeAddress(address)
      requireOwnAddresses(context, caller, addresses)
      return withNode(context.node, async (algod) => ({
        holdings: await Promise.all(addresses.map((address) => describeHolding(algod, address, id))),
      }))
    },
  }),
  define({
    id: 'SimulateTransaction',
    method: 'POST',
    path: `${extraPrefix}/transaction/simulate`,
    about: 'Asks the node whether transactions would be accepted now. Those without a signature count as signed.',
    request: [
      {
        name: 'transaction',
        kind: bytes,
        about: 'The msgpack of one transaction or of a group of up to 16, one after another, signed or not',
      },
    ],
    response: [
      { name: 'is_accepted', shape: bool },
      { name: 'reason', shape: text, about: "The node's own text; blank if they would be accepted" },
      { name: 'explanation', shape: text, about: 'The reason in words; blank if they would be accepted' },
    ],
    responseName: 'SimulateTransactionResponse',
    errors: ['no_node', 'node_failed'],
    run: ({ node }, input) => {
      const members = readTransactions(input.transaction)
      return withNode(node, async (algod) => {
        const failure = await algod.simulate(await Promise.all(members.map((member) => toSimulated(algod, member))))
        if (failure === undefined) return { is_accepted: true, reason: '', explanation: '' }
        return { is_accepted: false, reason: failure.message, explanation: explainRejection(failure.message) }
      })
    },
  }),
  define({
    id: 'FundAccount',
    method: 'POST',
    path: `${extraPrefix}/devnet/fund`,
    once: true,
    about: 'Funds an account from the faucet of the embedded devnet. Any other network has none.',
    request: [
      addressField,
      { name: 'micro_algos', kind: ascii, about: 'As decimal text; absent is 0' },
      { name: 'asset_id', kind: ascii, about: 'An asset to give too, as decimal text; absent is none' },
      { name: 'amount', kind: ascii, about: 'In the smallest unit of the asset, as decimal text' },
    ],
    response: [
      { name: 'micro_algos', shape: text, about: 'What the account has now, as decimal text' },
      { name: 'round', shape: count },
    ],
    responseName: 'FundAccountResponse',
    errors: ['bad_asset_id', 'bad_amount', 'no_faucet', 'faucet_refused', 'no_node', 'node_failed'],
    run: ({ node }, input) => {
      decodeAddress(input.address)
      const microAlgos = readAmount(input.micro_algos)
      const amount = readAmount(input.amount)
      const given = input.asset_id === '' ? undefined : { assetId: readAssetId(input.asset_id), amount }
      return withNode(node, async (algod) => {
        if ((await Faucet.find(algod, await algod.parameters())) === undefined) throw new KmdError('no_faucet')
        const funded = await fund(algod, { address: input.address, microAlgos, asset: given })
        return { micro_algos: String(funded.microAlgos), round: Number(funded.round) }
      })
    },
  }),
]

/** The transactions of a request, signed or unsigned. */
export function readTransactions(given: Uint8Array): TransactionFile.Member[] {
  try {
    return TransactionFile.decode(given)
  } catch (error) {
    if (error instanceof TransactionFile.DecodeError) throw new KmdError('bad_transaction', { cause: error })
    throw error
  }
}

function readAssetId(given: string): bigint {
  const id = /^[0-9]{1,20}$/.test(given) ? BigInt(given) : 0n
  if (id === 0n || id > maxUint64) throw new KmdError('bad_asset_id')
  return id
}

function readAmount(given: string): bigint {
  if (given === '') return 0n
  const amount = Amount.parse(given, 0)
  if (amount === undefined || amount > maxUint64) throw new KmdError('bad_amount')
  return amount
}

async function describeAsset(algod: NodeClient, id: bigint) {
  const info = await algod.asset(id)
  return {
    asset_id: String(id),
    exists: info !== undefined,
    decimals: info?.decimals ?? 0,
    unit_name: info?.unitName ?? '',
    name: info?.name ?? '',
    creator: info?.creator ?? '',
    is_frozen_by_default: info?.isFrozenByDefault ?? false,
  }
}

async function describeHolding(algod: NodeClient, address: string, id: bigint) {
  const found = await algod.holding(address, id)
  const [amount, isFrozen] = [String(found?.amount ?? 0n), found?.isFrozen ?? false]
  return { address, is_opted_in: found !== undefined, amount, is_frozen: isFrozen }
}

/**
 * For a rekeyed sender, an unsigned transaction names the signer. Otherwise the node takes the sender for the signer.
 */
async function toSimulated(algod: NodeClient, { transaction, signed }: TransactionFile.Member): Promise<Uint8Array> {
  if (signed !== undefined) return SignedTransaction.encode(signed)
  const { authAddress } = await algod.account(Address.encode(transaction.snd))
  const signer = authAddress === undefined ? {} : { sgnr: Address.decode(authAddress) }
  return SignedTransaction.encode({ txn: transaction, ...signer })
}

async function fund(algod: NodeClient, funding: Parameters<NodeClient['fund']>[0]) {
  try {
    return await algod.fund(funding)
  } catch (error) {
    const isRefused = error instanceof AlgodError && error.code === 'rejected'
    throw isRefused ? new KmdError('faucet_refused', { message: explain(error), cause: error }) : error
  }
}
