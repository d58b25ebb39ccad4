/** Explains why nothing was paid, and which option helps. */
import { Network } from '@latchkey/algorand'
import type { RefusalCode, RefusalReason } from '@latchkey/x402/client'
import { CommandError } from './errors.js'

type Words = {
  /** Missing if the message already says what to do, or if only the seller can act. */
  readonly hint?: string | ((reason: RefusalReason) => string)
  /** Replaces a message that is written for programmers. */
  readonly message?: (reason: RefusalReason) => string
}

const words: { readonly [Code in RefusalCode]: Words } = {
  unsupported_scheme: {},
  unsupported_network: {
    message: ({ network = '' }) => `the price is on ${Network.describe(network)}, not on the network of --network`,
    hint: ({ network = '' }) => chooseNetwork(network),
  },
  unsupported_payment_flow: {},
  asset_not_allowed: {
    message: ({ asset = '' }) => `the price is in asset ${shortened(asset)}, which is not the network's dollar`,
    hint: 'if it is, give its id with --dollar',
  },
  invalid_offer: {},
  offer_changed: { hint: 'run the command again to see the new price' },
  too_many_offers: {},
  above_payment_limit: { hint: 'raise the limit with --max' },
  above_total_limit: {},
  fee_too_high: { hint: 'try again when the network is less busy' },
  insufficient_asset: {},
  insufficient_algos: {},
  payer_not_opted_in: {},
  receiver_not_opted_in: {},
  asset_frozen: { hint: 'pay with another key' },
  unknown_asset: {},
  wrong_network: { hint: 'choose another network with --network, or another node with --node' },
  node_unavailable: { hint: 'try again, or give another node with --node' },
  aborted_by_hook: {},
}

const maxReasons = 10

export function paymentRefused(reasons: readonly RefusalReason[], cause?: unknown): CommandError {
  const shown = reasons.slice(0, maxReasons)
  const messages = new Set(shown.map((reason) => words[reason.code].message?.(reason) ?? reason.message))
  const hints = new Set(
    shown.flatMap((reason) => {
      const { hint = [] } = words[reason.code]
      return typeof hint === 'function' ? hint(reason) : hint
    }),
  )
  const more = reasons.length > maxReasons ? [`and ${reasons.length - maxReasons} more reasons`] : []
  const message = reasons.length === 0 ? 'the seller offers no way to pay' : [...messages, ...more].join('; ')
  return new CommandError('payment_impossible', `not paid: ${message}`, { hint: [...hints].join(', or '), cause })
}

/** The options that pay on a network, or none if it is not an Algorand network. */
function chooseNetwork(network: string): string {
  const id = Network.normalize(network)
  if (id === undefined) return 'latchkey pays only on Algorand networks'
  const name = Network.parse(id).network?.name
  return name === undefined ? 'give --network local and its node with --node' : `give --network ${name}`
}

/** The text comes from the seller. */
function shortened(text: string): string {
  return text.slice(0, 80)
}
