/** The error codes of this package, and the base classes of its errors. */
import { type ErrorRegistry, LatchkeyError, type LatchkeyErrorOptions } from '@latchkey/algorand/error'

/** The error codes of `@latchkey/x402-wire`, with their messages and hints. */
export const errors = {
  invalid_price: {
    message: 'The price could not be parsed.',
    hint: 'Write it like "$0.01", or as { asset, amount } in base units.',
  },
  price_too_precise: {
    message: 'The price has more decimals than the asset it is paid in.',
    hint: 'Round the price to the decimals of the asset.',
  },
  zero_price: {
    message: 'The price is zero.',
    hint: 'Leave the route free instead.',
  },
  wrong_currency: {
    message: 'The price names a different asset from the one it is paid in.',
    hint: 'Price it in dollars, or name the asset by its id.',
  },
  invalid_header: {
    message: 'A protocol header could not be parsed.',
    hint: 'Send headers as JSON in standard base64, as x402 version 2 defines them.',
  },
  unsupported_version: {
    message: 'The other side uses a different version of x402.',
    hint: 'Use version 2 of the protocol.',
  },
  invalid_payment_payload: {
    message: 'The payload has no paymentGroup and paymentIndex.',
    hint: 'Use a client that supports the scheme exact on Algorand.',
  },
  payment_group_too_large: {
    message: 'The payment has more transactions than a group can have.',
    hint: 'Send the payment and the fee transaction, nothing else.',
  },
  invalid_payment_index: {
    message: 'paymentIndex does not point to a transaction of the group.',
    hint: 'Set it to the position of the transaction that pays.',
  },
  invalid_payment_transaction: {
    message: 'A transaction of the payment could not be decoded.',
    hint: 'Encode it as msgpack, in standard base64.',
  },
  invalid_upto_payload: {
    message: 'The payload has no program, nonce and signature.',
    hint: 'Use a client that supports the scheme upto on Algorand.',
  },
  invalid_upto_program: {
    message: 'The program is not the template of the scheme upto.',
    hint: 'Sign version 1 of the template, and no other program.',
  },
  invalid_upto_lease: {
    message: 'The lease is not derived from the terms and the nonce.',
    hint: 'Derive it as the scheme upto defines.',
  },
  invalid_upto_signature: {
    message: 'The signature of the program is invalid.',
    hint: 'Sign the program with the key that authorizes the payer.',
  },
  upto_amount_exceeds_maximum: {
    message: 'The amount is above the maximum that the buyer authorized.',
    hint: 'Charge at most the maximum.',
  },
  fee_too_high: {
    message: 'The network asks for a higher fee than the buyer allows.',
    hint: 'Wait until the network is less busy, or raise `maxFeeMicroAlgos`.',
  },
} as const satisfies ErrorRegistry

/** A code of the registry {@link errors}. */
export type ErrorCode = keyof typeof errors

/** The base class of the errors of x402, here and in `@latchkey/x402`. */
export class X402Error<Code extends string = string> extends LatchkeyError<Code> {
  override name = 'X402Error'
}

/** The base class of the errors of this package. The hint defaults to the registry's. */
export class WireError<Code extends ErrorCode = ErrorCode> extends X402Error<Code> {
  constructor(code: Code, message: string, { hint = errors[code].hint, cause }: LatchkeyErrorOptions = {}) {
    super(code, message, { hint, cause })
  }
}
