/** Errors of the tools, written for a model: what happened, and what to do next. */

import { LatchkeyError } from '@latchkey/algorand'

/** All codes of a {@link ToolError}, with the model's next step. Codes of the daemon are passed on unchanged. */
export const toolErrors = {
  invalid_url: 'Pass an absolute URL that begins with https://, or http:// where this server allows it.',
  invalid_request: 'Correct the argument that the message names.',
  invalid_max: 'Pass max in dollars ("$0.10"), ALGO ("0.5 ALGO") or base units of an asset ("1500 asset 123").',
  destination_refused:
    'Do not try other spellings of the address. Only the person who runs this server can allow it, with --allow-host or --allow-private.',
  server_unreachable: 'Nothing was paid. Check the URL; if it is correct, try again later.',
  seller_timeout: 'Nothing was paid. Try again later.',
  redirected: 'Nothing was paid. Call price_of for the final URL, then decide again.',
  price_above_max: 'Nothing was paid. If the price is worth it, call paid_fetch again with a higher max.',
  price_changed:
    'Nothing was paid. Decide whether to pay the new price; the next paid_fetch with the same arguments accepts it.',
  other_asset: 'Nothing was paid. Call paid_fetch again with max in one of the assets that the seller accepts.',
  no_price: 'Nothing was paid. The server asks for payment in a form that this wallet does not support.',
  not_payable: 'Nothing was paid. The reasons name what is missing: funds, an allowed network, or a lower price.',
  declined: 'Nothing was paid. The user declined: do not ask again for the same payment.',
  payment_open:
    'Nothing new was paid. Wait, then call paid_fetch again with the arguments of the first call, or find_payment.',
  busy: 'Wait for the calls in progress.',
  response_lost:
    'Call paid_fetch again with the same arguments: it sends the same payment again and never makes a second one. find_payment shows its state.',
  payment_not_found: 'list_payments shows the payments that this server has made.',
  approval_denied: 'Nothing was paid. The owner denied this payment: do not ask for it again.',
  approval_expired:
    'Nothing was paid. Call paid_fetch again if it is still needed: the owner is asked about a new payment.',
  daemon_unreachable: 'Nothing was paid. The key daemon does not respond: tell the user to start it.',
  node_unavailable: 'No node of the network responds. Try again later.',
  failed: 'No payment by this call is known. Call list_payments to check.',
} as const satisfies { readonly [code: string]: string }

/** A code of {@link toolErrors}. */
export type ToolErrorCode = keyof typeof toolErrors

/** The error that a tool returns instead of a result. Its code is one of {@link toolErrors}, or one of the daemon's. */
export class ToolError extends LatchkeyError {
  override name = 'ToolError'
  /** The model's next step. */
  readonly next: string
  /** Data for programs, such as amounts and ids. Never contains text from a seller. */
  readonly details: { readonly [name: string]: unknown }
  /** Text that a seller or the ledger contributed to. Shown as untrusted. */
  readonly untrusted: string | undefined

  constructor(
    code: ToolErrorCode,
    message: string,
    { details = {}, untrusted, cause }: ToolErrorOptions = {},
    own: { code?: string; next?: string | undefined } = {},
  ) {
    super(own.code ?? code, message, { cause })
    this.next = own.next ?? toolErrors[code]
    this.details = details
    this.untrusted = untrusted
  }
}

export type ToolErrorOptions = {
  readonly details?: { readonly [name: string]: unknown } | undefined
  readonly untrusted?: string | undefined
  readonly cause?: unknown
}
