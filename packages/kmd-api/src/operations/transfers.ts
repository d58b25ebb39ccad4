/** Operations for preparing a transfer: parameters, assets, holdings, the node's simulation; and the faucet. */
import { define, extraPrefix, ownKeys, publicData, refused } from '../Description.js'
import { address, ascii, bytes } from '../members.js'

const text = { type: 'string' } as const

const bool = { type: 'bool' } as const

const count = { type: 'uint', format: 'int64' } as const

const maxAssetIds = 50

const maxAddresses = 100

const asset = {
  type: 'object',
  name: 'Asset',
  members: [
    { name: 'asset_id', shape: text, about: 'As decimal text' },
    { name: 'exists', shape: bool },
    { name: 'decimals', shape: count },
    { name: 'unit_name', shape: text },
    { name: 'name', shape: text, about: 'Chosen by the creator: any creator can choose any name' },
    { name: 'creator', shape: text },
    { name: 'is_frozen_by_default', shape: bool, about: 'Whether the holding of an account that opts in is frozen' },
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

/** Operations for preparing a transfer, and the faucet. */
export const transferOperations = {
  GetTransactionParameters: define({
    method: 'GET',
    path: `${extraPrefix}/transaction/parameters`,
    about: 'Returns the network parameters for a new transaction: genesis, round and fees.',
    request: [],
    response: [
      { name: 'genesis_id', shape: text, blank: true },
      { name: 'genesis_hash', shape: text, about: 'In base64' },
      { name: 'last_round', shape: count },
      { name: 'min_fee_micro_algos', shape: text, about: 'As decimal text' },
      { name: 'fee_per_byte_micro_algos', shape: text, about: 'As decimal text; 0 unless the network is congested' },
    ],
    responseName: 'GetTransactionParametersResponse',
    errors: ['no_node', 'node_failed'],
    access: { console: 'allowed', agent: publicData },
    audit: 'none',
  }),
  GetAssets: define({
    method: 'POST',
    path: `${extraPrefix}/assets`,
    about: 'Returns decimals, unit, name and creator of assets from the node.',
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
    access: { console: 'allowed', agent: publicData },
    audit: 'none',
  }),
  GetHoldings: define({
    method: 'POST',
    path: `${extraPrefix}/holdings`,
    about: 'Returns which accounts have opted in to an asset, and their balances.',
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
    access: { console: 'allowed', agent: ownKeys },
    audit: 'none',
  }),
  SimulateTransaction: define({
    method: 'POST',
    path: `${extraPrefix}/transaction/simulate`,
    about: 'Asks the node whether transactions would be accepted now. Unsigned transactions count as signed.',
    request: [
      {
        name: 'transaction',
        kind: bytes,
        about: 'The msgpack of one transaction or of a group of up to 16, one after another, signed or not',
      },
    ],
    response: [
      { name: 'is_accepted', shape: bool },
      { name: 'reason', shape: text, blank: true, about: "The node's own text; blank if they would be accepted" },
      {
        name: 'explanation',
        shape: text,
        blank: true,
        about: 'The reason in plain text; blank if they would be accepted',
      },
    ],
    responseName: 'SimulateTransactionResponse',
    errors: ['no_node', 'node_failed'],
    access: {
      console: 'allowed',
      agent: refused("it works for any account, and costs the owner's node more than a payment"),
    },
    audit: 'none',
  }),
  FundAccount: define({
    method: 'POST',
    path: `${extraPrefix}/devnet/fund`,
    once: true,
    about: 'Funds an account from the faucet of the embedded devnet. Other networks have none.',
    request: [
      address,
      { name: 'micro_algos', kind: ascii, about: 'As decimal text; 0 if absent' },
      { name: 'asset_id', kind: ascii, about: 'An asset to send as well, as decimal text; absent for none' },
      { name: 'amount', kind: ascii, about: 'In the smallest unit of the asset, as decimal text' },
    ],
    response: [
      { name: 'micro_algos', shape: text, about: 'New balance of the account, as decimal text' },
      { name: 'round', shape: count },
    ],
    responseName: 'FundAccountResponse',
    errors: ['bad_asset_id', 'bad_amount', 'no_faucet', 'faucet_refused', 'no_node', 'node_failed'],
    access: { console: 'allowed', agent: refused('an agent must not be able to raise its own funds') },
    audit: 'none',
  }),
}
