/** The reasons why an offer is not paid, for programs and for people. */
import type { ErrorRegistry } from '@latchkey/algorand'
import { PartyError } from '../../errors.js'

/** The codes of {@link RefusalReason}, with their messages and hints. */
export const refusalReasons = {
  unsupported_scheme: {
    message: 'The offer does not use the scheme exact.',
    hint: 'Pay another offer, or use a client that supports the scheme.',
  },
  unsupported_network: {
    message: 'The offer is on a network that the buyer does not pay on.',
    hint: 'Pass a chain for the network in `chains`.',
  },
  unsupported_payment_flow: {
    message: 'The offer uses an unsupported payment flow.',
    hint: 'The seller has to use authorization or upfront.',
  },
  asset_not_allowed: {
    message: 'The buyer does not pay in the asset.',
    hint: 'Add the asset to `assets`, with a limit.',
  },
  invalid_offer: {
    message: 'The offer has an invalid asset, amount, address or time limit.',
    hint: 'The seller has to correct its route.',
  },
  offer_changed: {
    message: 'The chosen offer is not one of the seller’s offers, or has changed since it was shown.',
    hint: 'Choose one of the offers that `buyer.offers(required)` returns, and pass the same `required`.',
  },
  too_many_offers: {
    message: 'The seller sent more offers than the buyer reads.',
    hint: 'The seller has to send fewer offers.',
  },
  above_payment_limit: {
    message: 'The price is above the limit for one payment.',
    hint: 'Compare `asked` with `limit`, and raise `maxPerPayment` if the price is acceptable.',
  },
  above_total_limit: {
    message: 'The price exceeds the remainder of the limit for all payments.',
    hint: 'Raise `maxTotal`, or wait until unsettled payments expire. `left` is the amount that may still be paid.',
  },
  fee_too_high: {
    message: 'The network asks for a higher fee than the buyer allows.',
    hint: 'Wait until the network is less busy, or raise `maxFeeMicroAlgos`.',
  },
  insufficient_asset: {
    message: 'The paying account has too little of the asset.',
    hint: 'Send it the difference between `asked` and `left`: run `latchkey send`, or `latchkey fund` on a devnet.',
  },
  insufficient_algos: {
    message: 'The paying account has too little ALGO above its minimum balance.',
    hint: 'Send it the difference between `asked` and `left` in ALGO: run `latchkey send`, or `latchkey fund` on a devnet.',
  },
  payer_not_opted_in: {
    message: 'The paying account is not opted in to the asset.',
    hint: 'Opt in (`latchkey opt-in`), then buy or receive some of the asset.',
  },
  receiver_not_opted_in: {
    message: 'The seller’s account is not opted in to the asset.',
    hint: 'The seller has to opt in: `latchkey opt-in`.',
  },
  asset_frozen: {
    message: 'The asset is frozen in the paying account.',
    hint: 'Pay from another account or in another asset.',
  },
  unknown_asset: {
    message: 'The asset does not exist on the network.',
    hint: 'The seller has to correct its route.',
  },
  wrong_network: {
    message: 'The node belongs to a different network from the offer.',
    hint: 'Check the node that the chain uses.',
  },
  aborted_by_hook: {
    message: 'A hook of the buyer refused the payment.',
    hint: 'The message has the reason that `onBeforePaymentCreation` returned.',
  },
  node_unavailable: {
    message: 'No node of the network responds.',
    hint: 'Retry later, or pass several nodes.',
  },
} as const satisfies ErrorRegistry

/** A code of the registry {@link refusalReasons}. */
export type RefusalCode = keyof typeof refusalReasons

/** The reason why one offer is not paid. Amounts are decimal strings, so that a reason can be serialized as JSON. */
export type RefusalReason = {
  readonly code: RefusalCode
  /** The reason in words. */
  readonly message: string
  /** The network of the offer, as the seller named it. */
  readonly network?: string
  /** The asset of the offer, as the seller named it. */
  readonly asset?: string
  /** The amount that the offer or the network asks for. */
  readonly asked?: string
  /** The limit that was exceeded. */
  readonly limit?: string
  /** The amount that may still be paid, or that the account has. */
  readonly left?: string
  /** The unit of `asked`, `limit` and `left`. */
  readonly unit?: 'micro_dollars' | 'micro_algos' | 'base_units'
}

const maxReasonsInMessage = 10

/** None of the offers may or can be paid. Nothing was signed. */
export class PaymentRefusedError extends PartyError<'payment_refused'> {
  override name = 'PaymentRefusedError'
  /** One reason for each offer that was not taken. */
  readonly reasons: readonly RefusalReason[]

  constructor(reasons: readonly RefusalReason[]) {
    const messages = reasons.slice(0, maxReasonsInMessage).map(({ message }) => message)
    const more = reasons.length - messages.length
    super('payment_refused', `not paid: ${[...messages, ...(more > 0 ? [`and ${more} more reasons`] : [])].join('; ')}`)
    this.reasons = reasons
  }
}
