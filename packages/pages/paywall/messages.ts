/** Error texts for people: what happened, and what to do. */
import { LatchkeyError } from '@latchkey/algorand'

export type Message = {
  readonly title: string
  readonly text: string
  /** Whether the page offers to reload. */
  readonly canReload?: boolean
  /** Whether the person chose this, so that it is no failure. */
  readonly isChoice?: boolean
}

/** Errors that the page itself detects, before a payment is sent. `detail` completes the text. */
const messages = {
  seller_unreachable: () => ({ title: 'The seller does not respond', text: 'Check your connection, then try again.' }),
  seller_unavailable: () => ({
    title: 'The seller cannot accept payments at the moment',
    text: 'Nothing was paid. Try again in a minute.',
  }),
  fee_too_high: () => ({
    title: 'The network fee is too high',
    text: 'Nothing was signed. Try again when the network is less busy.',
  }),
  wrong_transaction_signed: () => ({
    title: 'The wallet signed a different transaction',
    text: 'It was not sent, and nothing was paid. Try another wallet.',
  }),
  declined: () => ({ title: 'You declined', text: 'Nothing was signed, and nothing was paid.', isChoice: true }),
  wrong_password: () => ({ title: 'Wrong password', text: 'Nothing was signed. Try again.' }),
  too_many_attempts: () => ({
    title: 'Too many wrong passwords',
    text: 'The key daemon blocks further attempts for a while. Try again later.',
  }),
  wallet_not_found: (name) => ({
    title: 'Wallet not found',
    text: name === '' ? 'The key daemon has no wallets yet.' : `The key daemon has no wallet named “${name}”.`,
  }),
  no_accounts: () => ({ title: 'The wallet has no accounts', text: 'Create one in the wallet, then try again.' }),
  daemon_unreachable: (url) => ({
    title: 'The key daemon does not respond',
    text: `Check that it is running at ${url} and that its allowed_origins setting contains ${location.origin}.`,
  }),
  daemon_token_rejected: () => ({
    title: 'The key daemon rejected the token',
    text: 'The seller has to configure this daemon’s token.',
  }),
  wallet_not_installed: (name) => ({
    title: `${name} is not installed`,
    text: `Install ${name} in this browser, or use another wallet.`,
  }),
  wrong_network: (name) => ({
    title: 'The wallet uses another network',
    text: `Switch it to ${name}, then try again.`,
  }),
  page_outdated: () => ({
    title: 'This page is out of date',
    text: 'The seller updated it after you opened it. Nothing was signed. Reload it, then choose your wallet again.',
    canReload: true,
  }),
  wallet_not_loaded: (name) => ({
    title: `The code for ${name} could not be loaded`,
    text: 'Nothing was signed. Check your connection, then try again.',
  }),
  price_changed: () => ({
    title: 'The price has changed',
    text: 'Nothing was signed. Reload the page to see the new price.',
    canReload: true,
  }),
  wallet_failed: (detail) => ({
    title: 'The wallet reported an error',
    text: `Nothing was paid. ${toSentence(detail)}`,
  }),
} as const satisfies { readonly [code: string]: (detail: string) => Message }

export type PaymentErrorCode = keyof typeof messages

/** An error before a payment. Nothing was sent. */
export class PaymentError extends LatchkeyError<PaymentErrorCode> {
  override name = 'PaymentError'

  constructor(code: PaymentErrorCode, detail = '') {
    super(code, detail)
  }
}

export function errorMessage(error: unknown): Message {
  if (error instanceof PaymentError) return messages[error.code](error.message)
  return messages.wallet_failed(error instanceof Error ? error.message.slice(0, 300) : '')
}

const rejections: { readonly [code: string]: (detail: string) => Message } = {
  invalid_exact_avm_payload_validity: () => ({
    title: 'The payment has expired',
    text: 'Nothing was paid. Pay again and sign sooner.',
  }),
  invalid_exact_avm_settlement_failed: (detail) => ({
    title: 'The network rejected the payment',
    text: `Nothing was paid. ${detail}`,
  }),
  invalid_exact_avm_network_mismatch: () => ({
    title: 'The wallet uses another network',
    text: 'Nothing was paid. Switch it to the network named above, then try again.',
  }),
  invalid_exact_avm_invalid_signature: () => ({
    title: 'The signature is not valid',
    text: 'Nothing was paid. If the account was rekeyed, pay from the account that signs for it.',
  }),
  invalid_exact_avm_simulation_failed: (detail) => ({
    title: simulationTitle(detail),
    text: `Nothing was paid. ${detail}`,
  }),
  'No matching payment requirements': () => ({
    title: 'The price has changed',
    text: 'Nothing was paid. Reload the page to see the new price.',
    canReload: true,
  }),
  facilitator_policy_refused: (detail) => ({ title: 'The seller’s facilitator rejected the payment', text: detail }),
}

/** The text for a payment that the seller rejected, by the seller's error code. */
export function rejectionMessage(code: string, message: string): Message {
  const detail = toSentence(message)
  const known = rejections[code]
  if (known !== undefined) return known(detail)
  const isSellerFault = /^facilitator_|^unexpected_/.test(code)
  return {
    title: isSellerFault ? 'The seller cannot accept payments at the moment' : 'The payment was rejected',
    text: `${detail} (${code})`,
  }
}

/**
 * The protocol has one code for every failed simulation, so the reason is only in the text. The text only changes the
 * title, and unrecognized text gets the general title.
 */
function simulationTitle(detail: string): string {
  if (/not opted in/.test(detail)) return 'This account has not opted in to the asset'
  if (/frozen/.test(detail)) return 'The asset is frozen in this account'
  if (/ needs |short of/.test(detail)) return 'Insufficient balance'
  return 'The network would reject the payment'
}

/** Adds a capital letter and a full stop, and limits the length. */
function toSentence(text: string): string {
  const trimmed = text.trim().slice(0, 500)
  if (trimmed === '') return ''
  return `${trimmed[0]!.toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? '' : '.'}`
}
