/** Queries to the Algorand node for the console, which connects only to the daemon. */
import { define, extraPrefix, ownKeys, publicData, refused } from '../Description.js'
import { ascii } from '../members.js'

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
    { name: 'min_micro_algos', shape: text, about: 'Minimum balance of the account, as decimal text' },
    { name: 'rekeyed_to', shape: text, about: 'The account whose key signs for this one; blank if its own' },
    { name: 'assets', shape: { type: 'list', of: holding } },
    { name: 'assets_left_out', shape: count, about: 'Number of other assets held' },
  ],
} as const

const state = { type: 'string', oneOf: ['confirmed', 'pending', 'unknown'] } as const

const transaction = {
  type: 'object',
  name: 'TransactionState',
  members: [
    { name: 'transaction_id', shape: text },
    { name: 'state', shape: state, about: 'confirmed, pending or unknown' },
    { name: 'round', shape: count, about: '0 unless confirmed' },
  ],
} as const

/** Queries to the Algorand node. */
export const nodeOperations = {
  GetNode: define({
    method: 'GET',
    path: `${extraPrefix}/node`,
    about: "Returns the daemon's Algorand node, and whether it responds.",
    request: [],
    response: [
      { name: 'is_set', shape: bool },
      { name: 'is_reachable', shape: bool },
      { name: 'genesis_id', shape: text, blank: true },
      { name: 'genesis_hash', shape: text, blank: true, about: 'In base64' },
      { name: 'network', shape: text, blank: true, about: 'mainnet, testnet, betanet or local' },
      { name: 'last_round', shape: count },
      { name: 'has_faucet', shape: bool, about: 'Whether it is the embedded devnet, which funds accounts' },
      {
        name: 'usdc_asset_ids',
        shape: { type: 'list', of: text },
        about: 'The dollar assets of the network, as decimal text',
      },
      {
        name: 'message',
        shape: text,
        blank: true,
        about: 'Why the node cannot be reached, and what to do; blank if it can',
      },
    ],
    responseName: 'GetNodeResponse',
    access: { console: 'allowed', agent: publicData },
    audit: 'none',
  }),
  GetAccounts: define({
    method: 'POST',
    path: `${extraPrefix}/accounts`,
    about: 'Returns the balances of accounts from the node.',
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
    access: { console: 'allowed', agent: ownKeys },
    audit: 'none',
  }),
  FindTransactions: define({
    method: 'POST',
    path: `${extraPrefix}/transactions`,
    about: 'Returns whether transactions are in the ledger, as far back as the node keeps them.',
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
    access: { console: 'allowed', agent: refused('GetTransactionOutcome returns the outcome of a payment') },
    audit: 'none',
  }),
}
