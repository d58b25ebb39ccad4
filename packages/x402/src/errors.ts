/** The error codes of this package, and the base class of its errors. */
import type { ErrorRegistry, LatchkeyErrorOptions } from '@latchkey/algorand/error'
import { errors as wireErrors, X402Error } from '@latchkey/x402-wire/errors'

export { X402Error }

/** The error codes of `@latchkey/x402`, with their messages and hints. */
export const errors = {
  ...wireErrors,
  unknown_network: {
    message: 'The network is not known.',
    hint: 'Use mainnet, testnet, betanet, local or a CAIP-2 id such as algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe.',
  },
  wrong_network: {
    message: 'The node belongs to another network than the one that was named.',
    hint: 'Check the address of the node, or name the network that it belongs to.',
  },
  missing_node: {
    message: 'The network has no public node.',
    hint: 'Pass the address of a node in `nodes`.',
  },
  invalid_genesis_hash: {
    message: 'The genesis hash is not 32 bytes in base64.',
    hint: 'Copy it from /v2/transactions/params of the node.',
  },
  unknown_asset: {
    message: 'The asset does not exist on the network.',
    hint: 'Check the asset id and the network.',
  },
  missing_dollar_asset: {
    message: 'The network has no known USDC.',
    hint: 'Pass `dollarAssetId`: the asset in which prices in dollars are paid.',
  },
  unsupported_network: {
    message: 'No chain was passed for the network.',
    hint: 'Pass a chain for it in `chains`.',
  },
  invalid_address: {
    message: 'An address is not set, or is not an Algorand address.',
    hint: 'An address has 58 characters; check that it was copied whole, and that its environment variable is set.',
  },
  invalid_secret_key: {
    message: 'The secret key is not 64 bytes in base64.',
    hint: 'Pass the seed followed by the public key, in base64; or use a mnemonic.',
  },
  invalid_signer_address: {
    message: 'The signer has no valid address.',
    hint: 'Set `address`, and `sender` if the account is rekeyed, to Algorand addresses.',
  },
  invalid_signature: {
    message: 'The signer returned something else than a valid signature of the transaction.',
    hint: 'Check that the signer returns the signed transaction, unchanged, for its own address.',
  },
  signer_timeout: {
    message: 'The signer did not answer in time.',
    hint: 'Check that the key daemon runs and is not busy.',
  },
  signer_key_missing: {
    message: 'The wallet of the signer does not have its key.',
    hint: 'Name the address of a key in the wallet, or the wallet that holds the key.',
  },
  account_rekeyed: {
    message: 'Another key than that of the signer authorizes the transactions of its account.',
    hint: 'Use the key that the account is rekeyed to, and name the account as `sender`.',
  },
  payment_refused: {
    message: 'None of the offers may or can be paid. Nothing was signed.',
    hint: 'Look at `reasons`: each offer has a code, and the amounts where a limit decided.',
  },
  payment_redirected: {
    message: 'The request was redirected to another origin, which asks for a payment. Nothing was signed.',
    hint: 'Request that address directly if it is to be paid.',
  },
  body_too_large: {
    message: 'The body is too large to be kept for a second request.',
    hint: 'Send a smaller body, or raise `maxBodyBytes`.',
  },
  response_lost: {
    message: 'A payment was sent, and its response did not arrive.',
    hint: 'Call `buyer.lookUp(transactionId)`, or send the same request with the same payment header. Do not pay again.',
  },
  unknown_payment: {
    message: 'The payment is not in the payment log, or its network is not one of the buyer’s.',
    hint: 'Use the payment log and the chains that it was made with.',
  },
  invalid_payment_log: {
    message: 'The file is not a payment log.',
    hint: 'Use another path, or restore the file: limits over all payments depend on it.',
  },
  payment_log_locked: {
    message: 'Another process uses the payment log and does not release it.',
    hint: 'Retry, or end the other process. Nothing was signed.',
  },
  payment_log_unwritable: {
    message: 'The payment log cannot be read or written.',
    hint: 'Free disk space, or check the permissions of the file. Nothing is signed that is not recorded.',
  },
  invalid_route: {
    message: 'No request could match the route, or it is written in a form that the gate does not know.',
    hint: 'Write routes like "GET /weather", "/reports/:id" or "/files/*", special ones before general ones.',
  },
  invalid_gate_option: {
    message: 'An option of the gate, or of one of its routes, cannot work.',
    hint: 'Read the message: it names the route and the option.',
  },
  hook_failed: {
    message: 'A hook of the gate failed each time it was called with an event.',
    hint: 'Look at `cause`. What was paid is in the store of claims; the response was not affected.',
  },
  hook_events_dropped: {
    message: 'Events of the gate were not delivered to its hooks: there were too many, or the gate was closed.',
    hint: 'Let the hooks return sooner, or put what they get into a queue.',
  },
  sales_not_recorded: {
    message: 'Outcomes of payments could not be recorded for the page of the seller.',
    hint: 'Check the disk and the database of the claims. What was paid is on the ledger; responses were not affected.',
  },
  answer_lost: {
    message:
      'The response to a paid request was lost, and its handler must not run again. The buyer got `response_lost`.',
    hint: 'Find out by the transaction id what the handler did: deliver it, or refund the buyer.',
  },
  receiver_not_opted_in: {
    message: 'The account that is to be paid is not opted in to the asset.',
    hint: 'Opt in: `latchkey opt-in`, or send 0 of the asset from the account to itself.',
  },
  facilitator_unavailable: {
    message: 'The facilitator did not respond, or responded that it cannot serve now.',
    hint: 'Nothing is known about the payment. Retry, or pass several facilitators.',
  },
  facilitator_protocol_error: {
    message: 'The facilitator did not respond as the protocol says.',
    hint: 'Check the address of the facilitator and its version.',
  },
  missing_setting: {
    message: 'An environment variable is missing.',
    hint: 'Set AVM_ADDRESS to the address that is paid and FACILITATOR_URL to the facilitator.',
  },
  invalid_setting: {
    message: 'An environment variable has a value that cannot be used.',
    hint: 'AVM_ADDRESS is an Algorand address, FACILITATOR_URL an http or https URL.',
  },
  invalid_option: {
    message: 'An option has a value that cannot be used.',
    hint: 'Read the message: it names the option.',
  },
  store_failed: {
    message: 'The file or the database of a store cannot be read or written.',
    hint: 'Read the message: it names the file or the server, and what is wrong with it.',
  },
  store_too_new: {
    message: 'The store was written by a later version of this program.',
    hint: 'Use that version, or another file.',
  },
  store_not_migrated: {
    message: 'The database of a store has no tables of this version, and the role may not create them.',
    hint: 'Run the migrations as the owner of the schema: `latchkey facilitator migrate`, or `migratePostgres`.',
  },
} as const satisfies ErrorRegistry

/** A code of the registry {@link errors}. */
export type ErrorCode = keyof typeof errors

/** The base class of the errors of buyers, sellers, facilitators and stores. The hint defaults to the registry's. */
export class PartyError<Code extends ErrorCode = ErrorCode> extends X402Error<Code> {
  constructor(code: Code, message: string, { hint = errors[code].hint, cause }: LatchkeyErrorOptions = {}) {
    super(code, message, { hint, cause })
  }
}

/** An option that can never work. Thrown by constructors. */
export class OptionsError extends PartyError<'invalid_option'> {
  override name = 'OptionsError'

  constructor(message: string, hint?: string) {
    super('invalid_option', message, { hint })
  }
}
