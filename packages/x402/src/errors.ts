/** The error codes of this package, and the base class of its errors. */

import { VisibleText } from '@latchkey/algorand'
import type { ErrorRegistry, LatchkeyErrorOptions } from '@latchkey/algorand/error'
import { errors as wireErrors, X402Error } from '@latchkey/x402-wire/errors'

export { X402Error }

/** The error codes of `@latchkey/x402`, with their messages and hints. */
export const errors = {
  ...wireErrors,
  invalid_charge: {
    message: 'A handler charged an amount that cannot be parsed, or is above the authorized maximum.',
    hint: 'Charge dollars or base units, at most `upTo` of the route.',
  },
  unknown_network: {
    message: 'The network is unknown.',
    hint: 'Use mainnet, testnet, betanet, local or a CAIP-2 id such as algorand:SGO1GKSzyE7IEPItTxCByw9x8FmnrCDe.',
  },
  wrong_network: {
    message: 'The node belongs to a different network from the configured one.',
    hint: 'Check the node’s address, or pass the network that the node belongs to.',
  },
  missing_node: {
    message: 'The network has no public node.',
    hint: 'Pass the address of a node in `nodes`.',
  },
  invalid_genesis_hash: {
    message: 'The genesis hash is not 32 bytes in base64.',
    hint: 'Copy it from the node’s response to /v2/transactions/params.',
  },
  unknown_asset: {
    message: 'The asset does not exist on the network.',
    hint: 'Check the asset id and the network.',
  },
  missing_dollar_asset: {
    message: 'The network has no known USDC.',
    hint: 'Pass `dollarAssetId`: the asset that dollar prices are paid in.',
  },
  unsupported_network: {
    message: 'No chain was passed for the network.',
    hint: 'Pass a chain for it in `chains`.',
  },
  invalid_address: {
    message: 'An address is not set, or is not an Algorand address.',
    hint: 'Check that all 58 characters were copied, and that the environment variable is set.',
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
    message: 'The signer did not return a valid signature of the transaction.',
    hint: 'Check that the signer returns the signed transaction, unchanged, for its own address.',
  },
  signer_timeout: {
    message: 'The signer did not respond in time.',
    hint: 'Check that the key daemon is running and not overloaded.',
  },
  signer_key_missing: {
    message: 'The signer’s wallet does not hold its key.',
    hint: 'Pass the address of a key in the wallet, or the wallet that holds the key.',
  },
  account_rekeyed: {
    message: 'The account is authorized by a different key from the signer’s.',
    hint: 'Use the key that the account is rekeyed to, and pass the account as `sender`.',
  },
  payment_refused: {
    message: 'None of the offers can be paid. Nothing was signed.',
    hint: 'See `reasons`: it has a code for each offer, and the amounts where a limit applied.',
  },
  payment_redirected: {
    message: 'The request was redirected to another origin that requires payment. Nothing was signed.',
    hint: 'To pay there, request that address directly.',
  },
  body_too_large: {
    message: 'The request body is too large to be kept for a retry.',
    hint: 'Send a smaller body, or raise `maxBodyBytes`.',
  },
  response_lost: {
    message: 'A payment was sent, but the response did not arrive.',
    hint: 'Call `buyer.lookUp(transactionId)`, or send the same request with the same payment header. Do not pay again.',
  },
  unknown_payment: {
    message: 'The payment is not in the payment log, or its network is not one of the buyer’s.',
    hint: 'Use the payment log and the chains that the payment was made with.',
  },
  invalid_payment_log: {
    message: 'The file is not a payment log.',
    hint: 'Use another path, or restore the file: limits over all payments depend on it.',
  },
  payment_log_locked: {
    message: 'Another process holds the lock of the payment log.',
    hint: 'Retry, or stop the other process. Nothing was signed.',
  },
  payment_log_unwritable: {
    message: 'The payment log cannot be read or written.',
    hint: 'Free disk space, or check the permissions of the file. Payments are signed only after they are recorded.',
  },
  invalid_route: {
    message: 'No request can match the route, or its key has an unsupported form.',
    hint: 'Write routes like "GET /weather", "/reports/:id" or "/files/*", specific routes before general ones.',
  },
  invalid_gate_option: {
    message: 'An option of the gate or of one of its routes is not valid.',
    hint: 'The message names the route and the option.',
  },
  method_in_body: {
    message: 'The body of a request names another method in the member `_method`, and a service may use that method.',
    hint: 'Send the request with that method. If the service ignores `_method`, set `methodInBody: "forward"`.',
  },
  upstream_failed: {
    message: 'The service behind the gateway does not respond, or not as HTTP.',
    hint: 'Check that the upstream is running, and its address. Requests that fail are not charged.',
  },
  upstream_timeout: {
    message: 'The service behind the gateway did not respond in time.',
    hint: 'Raise the timeout of the upstream, or look for the cause there. Requests that fail are not charged.',
  },
  hook_failed: {
    message: 'A hook of the gate failed on every attempt to deliver an event.',
    hint: 'See `cause`. The payment is recorded in the claims store; the response was not affected.',
  },
  hook_decision_failed: {
    message: 'A hook that decides threw, took too long, or returned a value that is not a decision. It opened nothing.',
    hint: 'See `cause`. Return `undefined`, or one of the decisions that the hook may make, within `hookTimeoutMs`.',
  },
  hook_events_dropped: {
    message: 'Events were not delivered to the gate’s hooks: there were too many, or the gate was closed.',
    hint: 'Make the hooks return sooner, or let them queue their events.',
  },
  sales_not_recorded: {
    message: 'Payment outcomes could not be recorded for the sales page.',
    hint: 'Check the disk and the claims database. Settled payments are on the ledger; responses were not affected.',
  },
  invalid_sales_cursor: {
    message: 'A list of sales cannot be continued: the cursor is not one that the list returned.',
    hint: 'Pass `next` of the previous page unchanged, or begin with the first page.',
  },
  answer_lost: {
    message:
      'The response to a paid request was lost, and its handler must not run again. The buyer received `response_lost`.',
    hint: 'Use the transaction id to find out what the handler did; then deliver the result or refund the buyer.',
  },
  offer_not_signed: {
    message: 'An offer could not be signed. The price was sent without a signature.',
    hint: 'Check that the key daemon is running and has the key; the message gives the cause.',
  },
  receipt_not_signed: {
    message: 'The receipt of a paid response could not be signed. The response was sent without it.',
    hint: 'Check that the key daemon is running and has the key; the message gives the cause.',
  },
  receiver_not_opted_in: {
    message: 'The account to be paid is not opted in to the asset.',
    hint: 'Opt in: `latchkey opt-in`, or send 0 of the asset from the account to itself.',
  },
  facilitator_unavailable: {
    message: 'The facilitator did not respond, or reported that it is unavailable.',
    hint: 'The state of the payment is unknown. Retry, or pass several facilitators.',
  },
  facilitator_protocol_error: {
    message: 'The facilitator’s response does not follow the protocol.',
    hint: 'Check the facilitator’s address and version.',
  },
  missing_setting: {
    message: 'An environment variable is missing.',
    hint: 'Set AVM_ADDRESS to the address to be paid and FACILITATOR_URL to the URL of the facilitator.',
  },
  invalid_setting: {
    message: 'An environment variable has an invalid value.',
    hint: 'Set AVM_ADDRESS to an Algorand address and FACILITATOR_URL to an http or https URL.',
  },
  invalid_option: {
    message: 'An option has an invalid value.',
    hint: 'The message names the option.',
  },
  store_failed: {
    message: 'A store’s file or database cannot be read or written.',
    hint: 'The message names the file or the server and gives the cause.',
  },
  store_too_new: {
    message: 'The store was written by a later version of this program.',
    hint: 'Use that version, or another file.',
  },
  store_not_migrated: {
    message: 'A store’s database lacks the tables of this version, and the role may not create them.',
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

/** The default of `onError`: a process warning, or a console warning if there is no process. */
export function warn(error: unknown): void {
  const warning = printable(error instanceof Error ? error : new Error(String(error)))
  if (typeof globalThis.process?.emitWarning === 'function') globalThis.process.emitWarning(warning)
  else console.warn(warning)
}

/** Messages quote nodes and facilitators, which must not add lines to the log or control a terminal. */
function printable(error: Error): Error {
  const message = VisibleText.replaceHidden(error.message, '?')
  if (message === error.message) return error
  const shown = new Error(message)
  shown.name = error.name
  return shown
}
