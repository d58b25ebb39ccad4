/** The price of an offer in words. */
import { Amount, Network, Readable } from '@latchkey/algorand'
import type { PaymentRequirements } from '@latchkey/x402-wire'

/** Options of {@link describeOffer}. */
export type DescribeOfferOptions = {
  /**
   * The dollar assets of a local network. USDC of the public networks is built in.
   *
   * @default none
   */
  dollarAssetIds?: readonly bigint[] | undefined
}

/** Describes the price of an offer in words: the amount and the network, such as `$0.01 on TestNet`. */
export function describeOffer(offer: PaymentRequirements, { dollarAssetIds = [] }: DescribeOfferOptions = {}): string {
  const id = Network.normalize(offer.network)
  const isAlgorand = id !== undefined && /^[0-9]{1,20}$/.test(offer.asset)
  if (!isAlgorand) {
    return `${Amount.group(offer.amount)} base units of asset ${offer.asset} on ${offer.network}`
  }
  const known = Network.known.find(({ caip2 }) => caip2 === id)
  // On a public network only its own USDC is a dollar.
  const usdc = known?.usdcAssetId === undefined ? [] : [known.usdcAssetId]
  const assets = known === undefined ? dollarAssetIds : usdc
  const money = Readable.money(
    { assetId: BigInt(offer.asset), amount: BigInt(offer.amount) },
    { dollarAssetIds: assets },
  )
  return `${money} on ${Network.phrase(id)}`
}
