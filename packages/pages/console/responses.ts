/** The daemon's responses as typed objects. */
import * as Fields from './fields.js'

export type Wallet = { id: string; name: string }
/** An entry of the address book. */
export type Contact = { address: string; label: string }
export type Asset = { assetId: string; amount: string; decimals: number; unitName: string; isFrozen: boolean }
export type Account = {
  address: string
  microAlgos: string
  minMicroAlgos: string
  rekeyedTo: string
  assets: readonly Asset[]
}
export type MultisigAccount = { address: string; version: number; threshold: number; members: readonly string[] }
export type NodeStatus = {
  isSet: boolean
  isReachable: boolean
  genesisId: string
  genesisHash: string
  network: string
  lastRound: number
  /** Whether the node is the embedded devnet, which can fund accounts. */
  hasFaucet: boolean
  /** The assets that represent a dollar on the network. */
  usdcAssetIds: readonly string[]
  message: string
}
export type Health = {
  status: string
  version: string
  uptimeSeconds: number
  wallets: number
  openHandles: number
  lostLogLines: number
}
export type TransactionDescription = {
  transactionId: string
  type: string
  sender: string
  /** The effects of the transaction in plain language, the main effect first. */
  lines: readonly string[]
  warnings: readonly string[]
  /** The warnings about effects that cannot be undone. */
  finalWarnings: readonly string[]
  isSigned: boolean
  /** The unsigned transaction in canonical encoding. */
  transaction: Uint8Array
}
/** An entry of the daemon's signature log. */
export type SignatureEntry = {
  number: number
  atMs: number
  walletName: string
  /** Empty for a program. */
  transactionId: string
  /** The address that a program hashes to; empty for a transaction. */
  program: string
  type: string
  sender: string
  receiver: string
  amount: string
  assetId: string
  unitName: string
  decimals: number
  feeMicroAlgos: string
  isMultisig: boolean
  warnings: readonly string[]
}
export type TransactionStatus = { transactionId: string; state: 'confirmed' | 'pending' | 'unknown'; round: number }
/** The network parameters for a new transaction. */
export type TransactionParameters = {
  genesisId: string
  /** In base64. */
  genesisHash: string
  lastRound: number
  minFeeMicroAlgos: string
  feePerByteMicroAlgos: string
}
export type AssetDetails = {
  assetId: string
  exists: boolean
  decimals: number
  unitName: string
  /** The name that the creator chose. */
  name: string
  creator: string
  isFrozenByDefault: boolean
}
export type Holding = { address: string; isOptedIn: boolean; amount: string; isFrozen: boolean }
/** The response to a submission; `unknown` if the transaction may have been sent. */
export type Submitted = {
  state: 'sent' | 'confirmed' | 'refused' | 'not_sent' | 'unknown'
  round: number
  reason: string
  explanation: string
}
export type Outcome = {
  state: 'confirmed' | 'pending' | 'dropped' | 'expired' | 'unknown'
  round: number
  explanation: string
}

export function toAccount(response: Fields.JsonObject): Account {
  return {
    address: Fields.string(response, 'address'),
    microAlgos: Fields.digits(response, 'micro_algos'),
    minMicroAlgos: Fields.digits(response, 'min_micro_algos'),
    rekeyedTo: Fields.string(response, 'rekeyed_to'),
    assets: Fields.objects(response, 'assets').map((asset) => ({
      assetId: Fields.digits(asset, 'asset_id'),
      amount: Fields.digits(asset, 'amount'),
      decimals: Fields.number(asset, 'decimals'),
      unitName: Fields.string(asset, 'unit_name'),
      isFrozen: Fields.boolean(asset, 'is_frozen'),
    })),
  }
}

export function toWallet(response: Fields.JsonObject): Wallet {
  return { id: Fields.string(response, 'id'), name: Fields.string(response, 'name') }
}

export function toContact(response: Fields.JsonObject): Contact {
  return { address: Fields.string(response, 'address'), label: Fields.string(response, 'label') }
}

export function toNodeStatus(response: Fields.JsonObject): NodeStatus {
  return {
    isSet: Fields.boolean(response, 'is_set'),
    isReachable: Fields.boolean(response, 'is_reachable'),
    genesisId: Fields.string(response, 'genesis_id'),
    genesisHash: Fields.string(response, 'genesis_hash'),
    network: Fields.string(response, 'network'),
    lastRound: Fields.number(response, 'last_round'),
    hasFaucet: Fields.boolean(response, 'has_faucet'),
    usdcAssetIds: Fields.strings(response, 'usdc_asset_ids').filter((id) => /^\d{1,20}$/.test(id)),
    message: Fields.string(response, 'message'),
  }
}

export function toHealth(response: Fields.JsonObject): Health {
  return {
    status: Fields.string(response, 'status'),
    version: Fields.string(response, 'version'),
    uptimeSeconds: Fields.number(response, 'uptime_seconds'),
    wallets: Fields.number(response, 'wallets'),
    openHandles: Fields.number(response, 'open_handles'),
    lostLogLines: Fields.number(response, 'lost_log_lines'),
  }
}

export function toTransactionDescription(response: Fields.JsonObject): TransactionDescription {
  return {
    transactionId: Fields.string(response, 'transaction_id'),
    type: Fields.string(response, 'type'),
    sender: Fields.string(response, 'sender'),
    lines: Fields.strings(response, 'words'),
    warnings: Fields.strings(response, 'warnings'),
    finalWarnings: Fields.strings(response, 'final_warnings'),
    isSigned: Fields.boolean(response, 'is_signed'),
    transaction: Fields.bytes(response['transaction']),
  }
}

export function toSignatureEntry(response: Fields.JsonObject): SignatureEntry {
  return {
    number: Fields.number(response, 'number'),
    atMs: Fields.number(response, 'at_ms'),
    walletName: Fields.string(response, 'wallet_name'),
    transactionId: Fields.string(response, 'transaction_id'),
    program: Fields.string(response, 'program'),
    type: Fields.string(response, 'type'),
    sender: Fields.string(response, 'sender'),
    receiver: Fields.string(response, 'receiver'),
    amount: Fields.digits(response, 'amount'),
    assetId: Fields.digits(response, 'asset_id'),
    unitName: Fields.string(response, 'unit_name'),
    decimals: Fields.number(response, 'decimals'),
    feeMicroAlgos: Fields.digits(response, 'fee_micro_algos'),
    isMultisig: Fields.boolean(response, 'is_multisig'),
    warnings: Fields.strings(response, 'warnings'),
  }
}

export function toTransactionStatus(response: Fields.JsonObject): TransactionStatus {
  const state = Fields.string(response, 'state')
  return {
    transactionId: Fields.string(response, 'transaction_id'),
    state: state === 'confirmed' || state === 'pending' ? state : 'unknown',
    round: Fields.number(response, 'round'),
  }
}

export function toTransactionParameters(response: Fields.JsonObject): TransactionParameters {
  return {
    genesisId: Fields.string(response, 'genesis_id'),
    genesisHash: Fields.string(response, 'genesis_hash'),
    lastRound: Fields.number(response, 'last_round'),
    minFeeMicroAlgos: Fields.digits(response, 'min_fee_micro_algos'),
    feePerByteMicroAlgos: Fields.digits(response, 'fee_per_byte_micro_algos'),
  }
}

export function toAssetDetails(response: Fields.JsonObject): AssetDetails {
  return {
    assetId: Fields.digits(response, 'asset_id'),
    exists: Fields.boolean(response, 'exists'),
    decimals: Fields.number(response, 'decimals'),
    unitName: Fields.string(response, 'unit_name'),
    name: Fields.string(response, 'name'),
    creator: Fields.string(response, 'creator'),
    isFrozenByDefault: Fields.boolean(response, 'is_frozen_by_default'),
  }
}

export function toHolding(response: Fields.JsonObject): Holding {
  return {
    address: Fields.string(response, 'address'),
    isOptedIn: Fields.boolean(response, 'is_opted_in'),
    amount: Fields.digits(response, 'amount'),
    isFrozen: Fields.boolean(response, 'is_frozen'),
  }
}

const submittedStates = ['sent', 'confirmed', 'refused', 'not_sent'] as const

export function toSubmitted(response: Fields.JsonObject): Submitted {
  const state = Fields.string(response, 'state')
  return {
    state: submittedStates.find((known) => known === state) ?? 'unknown',
    round: Fields.number(response, 'round'),
    reason: Fields.string(response, 'reason'),
    explanation: Fields.string(response, 'explanation'),
  }
}

const outcomeStates = ['confirmed', 'pending', 'dropped', 'expired'] as const

export function toOutcome(response: Fields.JsonObject): Outcome {
  const state = Fields.string(response, 'state')
  return {
    state: outcomeStates.find((known) => known === state) ?? 'unknown',
    round: Fields.number(response, 'round'),
    explanation: Fields.string(response, 'explanation'),
  }
}
