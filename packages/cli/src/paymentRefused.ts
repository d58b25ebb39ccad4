/** Why nothing was paid, and which option helps, in the words of the command line. */
import type { RefusalCode, RefusalReason } from '@latchkey/x402/client'
import { CommandError } from './errors.js'

type Words = {
  /** Missing where the message says what to do, or only the seller can do something. */
  readonly hint?: string
  /** Instead of the message of the reason, where that one is for programmers. */
  readonly message?: (reason: RefusalReason) => string
}

const words: { readonly [Code in RefusalCode]: Words } = {
  unsupported_scheme: {},
  unsupported_network: {
    message: ({ network = '' }) =>
      `the price is on ${JSON.stringify(shortened(network))}, another network than --network`,
    hint: 'give that network with --network',
  },
  unsupported_payment_flow: {},
  asset_not_allowed: {
    message: ({ asset = '' }) => `the price is in asset ${shortened(asset)}, which is not the dollar of the network`,
    hint: 'give its id with --dollar if it is',
  },
  invalid_offer: {},
  offer_changed: { hint: 'run it again to see the price' },
  too_many_offers: {},
  above_payment_limit: { hint: 'raise it with --max' },
  above_total_limit: {},
  fee_too_high: { hint: 'try again when the network is less busy' },
  insufficient_asset: {},
  insufficient_algos: {},
  payer_not_opted_in: {},
  receiver_not_opted_in: {},
  asset_frozen: { hint: 'pay with another key' },
  unknown_asset: {},
  wrong_network: { hint: 'correct --network or --node' },
  node_unavailable: { hint: 'try again, or give another node with --node' },
}

const maxReasons = 10

export function paymentRefused(reasons: readonly RefusalReason[], cause?: unknown): CommandError {
  const shown = reasons.slice(0, maxReasons)
  const messages = new Set(shown.map((reason) => words[reason.code].message?.(reason) ?? reason.message))
  const hints = new Set(shown.flatMap(({ code }) => words[code].hint ?? []))
  const more = reasons.length > maxReasons ? [`and ${reasons.length - maxReasons} more reasons`] : []
  const message = reasons.length === 0 ? 'the seller offers no way to pay' : [...messages, ...more].join('; ')
  return new CommandError('payment_impossible', `not paid: ${message}`, { hint: [...hints].join(', or '), cause })
}

/** It comes from the seller. */
function shortened(text: string): string {
  return text.slice(0, 80)
}
