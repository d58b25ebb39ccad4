import type { WalletOption } from './paywallOptions.js'

/** One of the seller's offers, formatted for people. */
export type PaywallOffer = {
  /** `isReal`: the network's assets have real value. */
  readonly network: { readonly caip2: string; readonly name: string; readonly isReal: boolean }
  /** The price in dollars without the sign; undefined if the price is in another unit. */
  readonly dollars: string | undefined
  /** The amount as a decimal. */
  readonly amount: string
  /** The unit name of the asset. */
  readonly unit: string
  readonly decimals: number
  /** The id of the asset, 0 for ALGO. */
  readonly asset: string
  /** The address that receives the payment. */
  readonly payTo: string
  /** Whether the facilitator pays the network fee. */
  readonly isFeePaid: boolean
  /**
   * Whether the amount is the maximum of a price by usage. Wallets do not sign these, so that programs pay them.
   *
   * @default false
   */
  readonly isUpTo?: boolean | undefined
}

/** An offer with the wallets that can pay it. */
export type WalletOffer = PaywallOffer & { readonly wallets: readonly WalletOption[] }
