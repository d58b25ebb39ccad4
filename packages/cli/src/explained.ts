/**
 * Explains errors of the packages for the command line, because their own hints are for programmers. Only types are
 * imported from the packages, because loading them takes time; the name of an error identifies its class.
 */
import type { AlgodErrorCode } from '@latchkey/algod'
import { LatchkeyError } from '@latchkey/algorand/error'
import type { StateFileError } from '@latchkey/devnet'
import type { ChainError, PaymentLogError, PriceError, Signer } from '@latchkey/x402/client'
import { CommandError } from './errors.js'

type Words = {
  readonly hint?: string
  /** Replaces a message that is written for programmers. */
  readonly message?: string
}
type Table<Code extends string> = { readonly [C in Code]?: Words }

const anotherNode = 'try again, or give another node with --node'
const priceForm = "give a price like '$0.05'"

const nodeErrors: Table<AlgodErrorCode> = {
  unreachable: { hint: 'check the connection, or give another node with --node' },
  timeout: { hint: anotherNode },
  too_large: { hint: 'give another node with --node' },
  refused_token: { hint: "set ALGOD_TOKEN to the token in the node's algod.token" },
  redirected: { hint: 'if you trust the address that it redirects to, give that one with --node' },
  unexpected_status: { hint: anotherNode },
  not_found: { hint: 'give a node that keeps older blocks with --node' },
  not_a_node: { hint: 'correct --node or ALGOD_URL' },
  too_many_waiting: { hint: 'try again in a moment' },
  invalid_options: { hint: 'correct --node, or ALGOD_URL and ALGOD_TOKEN in the environment' },
}

const networkErrors: Table<ChainError['code']> = {
  unknown_network: { hint: 'give --network testnet, mainnet, betanet, local or a CAIP-2 id' },
  wrong_network: { hint: 'choose another network with --network, or another node with --node' },
  missing_node: { message: 'the network has no public node', hint: 'give a node with --node' },
  unknown_asset: { hint: 'check the id of the asset, and that it exists on this network' },
  missing_dollar_asset: { message: 'the network has no known dollar asset', hint: 'give its id with --dollar' },
  unsupported_network: { hint: 'give it with --network' },
}

const limitErrors: Table<PriceError['code']> = {
  invalid_price: { hint: 'write --max like "$0.01"' },
  price_too_precise: { message: '--max has more than 6 decimals', hint: priceForm },
  zero_price: { message: '--max is zero', hint: priceForm },
  wrong_currency: { message: '--max is not in dollars', hint: priceForm },
}

const keyErrors: Table<Signer.SignerError['code']> = {
  invalid_secret_key: { hint: 'correct AVM_PRIVATE_KEY' },
  invalid_signer_address: { message: 'the key has no valid address', hint: 'correct --key or KMD_KEY' },
  signer_key_missing: { hint: "list the wallet's keys with latchkey key list; correct --key or --wallet" },
  account_rekeyed: { hint: 'give the key that the account is rekeyed to, or another account' },
  invalid_signature: { hint: 'check that --key is the key of the account' },
}

const logErrors: Table<PaymentLogError['code']> = {
  invalid_payment_log: { hint: 'give another file with --log, or restore this one' },
  payment_log_locked: { hint: 'try again, or stop the process that uses the file' },
  payment_log_unwritable: { hint: 'free disk space, check its permissions, or give another file with --log' },
}

const stateErrors: Table<StateFileError['code']> = {
  state_file_locked: { hint: 'stop the other devnet, or give another file with --state' },
  state_file_unavailable: { hint: 'check that its directory exists and is writable' },
  state_file_unrecognized: { hint: 'give another file with --state' },
  state_file_version: {
    hint: 'open it with the version that wrote it and --dump FILE, and load that here with --load FILE; or give another file with --state',
  },
  state_file_network: {
    hint: 'give the same --accounts and genesis as before, or another file with --state; other versions may have another genesis',
  },
  state_file_damaged: { hint: 'restore a copy, or truncate the file as the message shows' },
  state_file_write_failed: {
    hint: 'free disk space or repair the disk, then restart; the file contains everything that was acknowledged',
  },
}

const tables: { readonly [name: string]: Table<string> } = {
  AlgodError: nodeErrors,
  ChainError: networkErrors,
  PriceError: limitErrors,
  SignerError: keyErrors,
  MnemonicError: { invalid_mnemonic: { hint: 'correct AVM_MNEMONIC' } },
  PaymentLogError: logErrors,
  StateFileError: stateErrors,
}

/** Returns an error as the command line explains it. An error without an explanation has only its message. */
export function explained(error: unknown): { readonly message: string; readonly hint?: string | undefined } {
  if (error instanceof CommandError) return error
  if (!(error instanceof LatchkeyError)) return { message: error instanceof Error ? error.message : String(error) }
  // Commands refer to the file of a store differently, so its own hint is used for all of them.
  if (error.name === 'StoreError') return { message: error.message, hint: clauseOf(error.hint) }
  const { message = error.message, hint } = tables[error.name]?.[error.code] ?? {}
  return { message, hint }
}

/** Converts sentences to a clause. */
function clauseOf(hint: string | undefined): string | undefined {
  if (hint === undefined) return undefined
  const text = hint.replace(/\.$/, '').replace(/\. ([A-Z])/g, (_, first: string) => `; ${first.toLowerCase()}`)
  return `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`
}
