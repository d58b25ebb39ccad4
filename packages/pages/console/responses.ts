/** What the daemon's answers hold, in the console's own words. */
import * as Wire from './wire.js'

export type Wallet = { id: string; name: string }
export type Asset = { assetId: string; amount: string; decimals: number; unitName: string; isFrozen: boolean }
export type Account = {
  address: string
  microAlgos: string
  minMicroAlgos: string
  rekeyedTo: string
  assets: readonly Asset[]
}
export type Multisig = { address: string; version: number; threshold: number; members: readonly string[] }
export type Node = {
  isSet: boolean
  isReachable: boolean
  genesisId: string
  genesisHash: string
  network: string
  lastRound: number
  message: string
}
export type Health = { status: string; version: string; uptimeSeconds: number; wallets: number; openHandles: number }
export type Described = {
  transactionId: string
  type: string
  sender: string
  words: readonly string[]
  warnings: readonly string[]
  /** Those of the warnings that tell of what nobody can take back. */
  finalWarnings: readonly string[]
  isSigned: boolean
  /** Unsigned and canonical. */
  transaction: Uint8Array
}
export type Signing = {
  number: number
  atMs: number
  walletName: string
  transactionId: string
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
export type Sighting = { transactionId: string; state: 'confirmed' | 'pending' | 'unknown'; round: number }

export function toAccount(answer: Wire.Answer): Account {
  return {
    address: Wire.text(answer, 'address'),
    microAlgos: Wire.units(answer, 'micro_algos'),
    minMicroAlgos: Wire.units(answer, 'min_micro_algos'),
    rekeyedTo: Wire.text(answer, 'rekeyed_to'),
    assets: Wire.objects(answer, 'assets').map((asset) => ({
      assetId: Wire.units(asset, 'asset_id'),
      amount: Wire.units(asset, 'amount'),
      decimals: Wire.number(asset, 'decimals'),
      unitName: Wire.text(asset, 'unit_name'),
      isFrozen: Wire.flag(asset, 'is_frozen'),
    })),
  }
}

export function toWallet(answer: Wire.Answer): Wallet {
  return { id: Wire.text(answer, 'id'), name: Wire.text(answer, 'name') }
}

export function toNode(answer: Wire.Answer): Node {
  return {
    isSet: Wire.flag(answer, 'is_set'),
    isReachable: Wire.flag(answer, 'is_reachable'),
    genesisId: Wire.text(answer, 'genesis_id'),
    genesisHash: Wire.text(answer, 'genesis_hash'),
    network: Wire.text(answer, 'network'),
    lastRound: Wire.number(answer, 'last_round'),
    message: Wire.text(answer, 'message'),
  }
}

export function toHealth(answer: Wire.Answer): Health {
  return {
    status: Wire.text(answer, 'status'),
    version: Wire.text(answer, 'version'),
    uptimeSeconds: Wire.number(answer, 'uptime_seconds'),
    wallets: Wire.number(answer, 'wallets'),
    openHandles: Wire.number(answer, 'open_handles'),
  }
}

export function toDescribed(answer: Wire.Answer): Described {
  return {
    transactionId: Wire.text(answer, 'transaction_id'),
    type: Wire.text(answer, 'type'),
    sender: Wire.text(answer, 'sender'),
    words: Wire.texts(answer, 'words'),
    warnings: Wire.texts(answer, 'warnings'),
    finalWarnings: Wire.texts(answer, 'final_warnings'),
    isSigned: Wire.flag(answer, 'is_signed'),
    transaction: Wire.bytes(answer['transaction']),
  }
}

export function toSigning(answer: Wire.Answer): Signing {
  return {
    number: Wire.number(answer, 'number'),
    atMs: Wire.number(answer, 'at_ms'),
    walletName: Wire.text(answer, 'wallet_name'),
    transactionId: Wire.text(answer, 'transaction_id'),
    type: Wire.text(answer, 'type'),
    sender: Wire.text(answer, 'sender'),
    receiver: Wire.text(answer, 'receiver'),
    amount: Wire.units(answer, 'amount'),
    assetId: Wire.units(answer, 'asset_id'),
    unitName: Wire.text(answer, 'unit_name'),
    decimals: Wire.number(answer, 'decimals'),
    feeMicroAlgos: Wire.units(answer, 'fee_micro_algos'),
    isMultisig: Wire.flag(answer, 'is_multisig'),
    warnings: Wire.texts(answer, 'warnings'),
  }
}

export function toSighting(answer: Wire.Answer): Sighting {
  const state = Wire.text(answer, 'state')
  return {
    transactionId: Wire.text(answer, 'transaction_id'),
    state: state === 'confirmed' || state === 'pending' ? state : 'unknown',
    round: Wire.number(answer, 'round'),
  }
}
